/** The time that one exchange may take: in all, and for what it waits for right now. */
import { givenUp } from "../effects/deadline.ts";
import type { Clock } from "../seams.ts";
import { HttpError } from "./http_error.ts";

/** What a request waits for. */
export type Phase = "connect" | "send" | "head" | "body";

const phaseWords: { readonly [K in Phase]: string } = {
  connect: "no connection came about",
  send: "the request was not taken",
  head: "no answer came",
  body: "the answer stood still",
};

/** Options of {@linkcode Patience}. */
export interface PatienceOptions {
  readonly clock: Clock;
  /** In all, until the body was read. Milliseconds. */
  readonly totalMs: number;
  /** No phase is shorter than this. Milliseconds. */
  readonly phaseMsMin: number;
  /** The caller's. Its reason becomes ours. */
  readonly signal?: AbortSignal | undefined;
}

/** One deadline for a whole exchange and one for its present phase. Aborts `signal` when either is over. */
export class Patience {
  readonly #clock: Clock;
  readonly #totalAtMs: number;
  readonly #totalMs: number;
  readonly #phaseMsMin: number;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  #phase: { readonly name: Phase; readonly ms: number; readonly atMs: number } | undefined;
  readonly #over = new AbortController();
  #isOver = false;

  constructor({ clock, totalMs, phaseMsMin, signal }: PatienceOptions) {
    this.#clock = clock;
    this.#totalMs = totalMs;
    this.#phaseMsMin = phaseMsMin;
    this.#totalAtMs = clock.now() + totalMs;
    this.#outer = signal;
    if (signal?.aborted) this.giveUp(signal.reason);
    else {
      signal?.addEventListener("abort", this.#onOuter);
      void this.#watch();
    }
  }

  /** Aborts with the caller's reason, or with an {@linkcode HttpError} that says what took too long. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on, `ms` for this phase. */
  enter(name: Phase, ms: number): void {
    this.#phase = { name, ms, atMs: this.#clock.now() + ms };
  }

  /** Nothing is waited for; only the time in all counts. */
  rest(): void {
    this.#phase = undefined;
  }

  /** The exchange is over: nothing aborts any more. */
  end(): void {
    this.#isOver = true;
    this.#outer?.removeEventListener("abort", this.#onOuter);
    this.#over.abort(givenUp);
  }

  readonly #onOuter = (): void => this.giveUp(this.#outer?.reason);

  /** Wakes at least as often as the shortest phase lasts, so that no phase has to wake it: they begin by the dozen. */
  async #watch(): Promise<void> {
    while (!this.#isOver) {
      const looksAtMs = this.#clock.now() + this.#phaseMsMin;
      const dueAtMs = Math.min(this.#totalAtMs, this.#phase?.atMs ?? Infinity, looksAtMs);
      await this.#clock.sleepUntil(dueAtMs, this.#over.signal);
      if (this.#isOver) return;
      const nowMs = this.#clock.now();
      if (nowMs >= this.#totalAtMs) return this.giveUp(timedOut("it was not over", this.#totalMs));
      const phase = this.#phase;
      if (phase && nowMs >= phase.atMs) {
        return this.giveUp(timedOut(phaseWords[phase.name], phase.ms, phase.name));
      }
    }
  }

  /** Ends it now, with this reason. */
  giveUp(reason: unknown): void {
    if (this.#isOver) return;
    this.end();
    this.#controller.abort(reason);
  }
}

function timedOut(what: string, ms: number, phase?: Phase): HttpError {
  const wasSent = phase !== "connect";
  return new HttpError("http_timed_out", `Gave up a request: ${what} within ${ms} ms`, {
    wasSent,
  });
}
