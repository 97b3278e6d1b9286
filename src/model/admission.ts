/**
 * Who may ask a provider now (CM-117): so many requests at once, the others in the order in which they came; and nobody
 * for a while after it said that there were too many. Waiting here is no attempt: it counts against no retry.
 */
import { limits } from "../../schemas/limits.ts";
import type { Clock } from "../seams.ts";
import { ModelError } from "./provider.ts";

/** A place among the requests of a provider. */
export interface Lease {
  /** How long it was waited for. Milliseconds. */
  readonly waitedMs: number;
  /** Gives it back; a second time does nothing. */
  release(): void;
}

/** Why a request waits. */
export interface Queued {
  /** Requests that are before it. */
  readonly ahead: number;
  /** Until when the provider is left alone, in milliseconds since the epoch; null if it is not. */
  readonly coolsUntilMs: number | null;
}

/** A request that wants to be let in. */
export interface Entering {
  readonly provider: string;
  /** Requests that the provider takes at once. */
  readonly atOnce: number;
  /** Aborts when nobody wants it any more. */
  readonly signal: AbortSignal;
  /** Told once if it has to wait; `now` says how it stands whenever it is asked. */
  readonly onWait: (queued: Queued, now: () => Queued) => void;
}

interface Waiting {
  readonly atOnce: number;
  readonly admit: () => void;
}

/** How a wait ends. */
interface Leaving {
  readonly signal: AbortSignal;
  readonly over: PromiseWithResolvers<boolean | "late">;
}

interface Gate {
  running: number;
  readonly queue: Waiting[];
  coolsUntilMs: number;
  /** Ends the wait for the end of the cool-down. */
  alarm: AbortController | undefined;
}

/** The gates of all providers of one runtime. */
export class Admission {
  readonly #clock: Clock;
  readonly #gates = new Map<string, Gate>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits for a place. Throws `ModelError` as `model_rate_limited` if that would take too long: then the turn waits, in
   * the journal. Undefined if nobody wants it any more.
   */
  async enter({ provider, atOnce, signal, onWait }: Entering): Promise<Lease | undefined> {
    const gate = this.#gate(provider);
    const since = this.#clock.now();
    const coolsMs = gate.coolsUntilMs - since;
    if (coolsMs > limits.admissionCoolDownMsMax) throw tooLong(provider, coolsMs);
    if (gate.queue.length === 0 && coolsMs <= 0 && gate.running < atOnce) return this.#lease(gate, since);
    if (gate.queue.length >= limits.admissionQueueMax) throw tooLong(provider, limits.modelCoolDownMs);
    const over = Promise.withResolvers<boolean | "late">();
    const waiting: Waiting = { atOnce, admit: () => over.resolve(true) };
    const now = () => this.#standing(gate, waiting);
    onWait(now(), now);
    const isAdmitted = await this.#wait(gate, waiting, { signal, over });
    if (isAdmitted === "late") throw tooLong(provider, limits.modelCoolDownMs);
    return isAdmitted ? this.#lease(gate, since, true) : undefined;
  }

  /** The provider said that there were too many requests: it is left alone, at least for as long as it asks. */
  coolDown(provider: string, askedMs: number | undefined): void {
    const gate = this.#gate(provider);
    const forMs = Math.max(askedMs ?? limits.modelCoolDownMs, limits.rateLimitMsMin);
    gate.coolsUntilMs = Math.max(gate.coolsUntilMs, this.#clock.now() + forMs);
    this.#open(gate);
  }

  #gate(provider: string): Gate {
    const known = this.#gates.get(provider) ??
      { running: 0, queue: [], coolsUntilMs: 0, alarm: undefined };
    this.#gates.set(provider, known);
    return known;
  }

  #lease(gate: Gate, sinceMs: number, isCounted = false): Lease {
    if (!isCounted) gate.running += 1;
    let isHeld = true;
    return {
      waitedMs: this.#clock.now() - sinceMs,
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        gate.running -= 1;
        this.#open(gate);
      },
    };
  }

  /** Those before a request that waits, or is about to. */
  #standing({ queue, coolsUntilMs }: Gate, waiting: Waiting): Queued {
    const at = queue.indexOf(waiting);
    const isCooling = coolsUntilMs > this.#clock.now();
    return { ahead: at < 0 ? queue.length : at, coolsUntilMs: isCooling ? coolsUntilMs : null };
  }

  async #wait(gate: Gate, waiting: Waiting, { signal, over }: Leaving): Promise<boolean | "late"> {
    // Out of the queue at once: nobody is let in who has left.
    const leave = (how: false | "late") => {
      const at = gate.queue.indexOf(waiting);
      if (at < 0) return;
      gate.queue.splice(at, 1);
      over.resolve(how);
      this.#open(gate);
    };
    const giveUp = () => leave(false);
    const enough = new AbortController();
    gate.queue.push(waiting);
    signal.addEventListener("abort", giveUp, { once: true });
    this.#clock.sleepUntil(this.#clock.now() + limits.admissionWaitMsMax, enough.signal)
      .then(() => leave("late"));
    this.#open(gate);
    if (signal.aborted) giveUp();
    const ended = await over.promise;
    enough.abort();
    signal.removeEventListener("abort", giveUp);
    return ended;
  }

  /** Lets in who may enter now; the first of the others waits for a place, or for the end of the cool-down. */
  #open(gate: Gate): void {
    for (;;) {
      const [first] = gate.queue;
      if (first === undefined || gate.running >= first.atOnce) break;
      if (this.#clock.now() < gate.coolsUntilMs) return this.#openLater(gate);
      gate.queue.shift();
      gate.running += 1;
      first.admit();
    }
    if (gate.queue.length > 0) return;
    gate.alarm?.abort();
    gate.alarm = undefined;
  }

  #openLater(gate: Gate): void {
    if (gate.alarm !== undefined) return;
    const alarm = new AbortController();
    gate.alarm = alarm;
    this.#clock.sleepUntil(gate.coolsUntilMs, alarm.signal).then(() => {
      if (gate.alarm !== alarm) return;
      gate.alarm = undefined;
      this.#open(gate);
    });
  }
}

function tooLong(provider: string, retryAfterMs: number): ModelError {
  const seconds = Math.ceil(retryAfterMs / 1_000);
  return new ModelError(
    "model_rate_limited",
    `The provider "${provider}" is asked by too many at once, or wants to be left alone for ${seconds} s`,
    { retryAfterMs },
  );
}
