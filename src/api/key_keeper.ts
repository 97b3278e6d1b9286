/** Keeps the keys of commands for a day, and forgets them then: at quiet moments, a few at a time. */
import { apiLimits } from "../../schemas/api_limits.ts";
import { forgetCommands, type Forgotten } from "../kernel/forget_commands.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Runtime } from "../runtime.ts";
import type { Seams } from "../seams.ts";

/** What keys are kept with. */
export interface KeyKeeperParts {
  readonly runtime: Pick<Runtime, "kernel">;
  readonly seams: Pick<Seams, "clock" | "log">;
}

/** Looks after the keys of one store. */
export class KeyKeeper {
  readonly #kernel: Kernel;
  readonly #seams: KeyKeeperParts["seams"];
  readonly #enough = new AbortController();

  constructor({ runtime, seams }: KeyKeeperParts) {
    this.#kernel = runtime.kernel;
    this.#seams = seams;
  }

  /** Begins to forget; the first time after a quiet minute, so that no start has to wait for it. */
  begin(): void {
    void this.#keep().catch((error) =>
      this.#seams.log({ level: "warning", event: "keys.unforgotten", detail: { error: String(error) } })
    );
  }

  /** Forgets nothing any more. */
  stop(): void {
    this.#enough.abort();
  }

  get #isOver(): boolean {
    return this.#enough.signal.aborted || this.#kernel.stopped !== undefined;
  }

  async #keep(): Promise<void> {
    await this.#sleep(apiLimits.keyQuietMsMax);
    while (!this.#isOver) {
      await this.#round();
      await this.#sleep(apiLimits.keyRoundMs);
    }
  }

  /** Goes through all keys once. */
  async #round(): Promise<void> {
    let count = 0;
    for (let start: Forgotten["next"], isFirst = true; isFirst || start !== undefined; isFirst = false) {
      await this.#quiet();
      if (this.#isOver) return;
      const untilMs = this.#seams.clock.now() - apiLimits.keyKeptMs;
      const done = await forgetCommands(this.#kernel, { start, rowsMax: apiLimits.keyPassRowsMax, untilMs });
      count += done.count;
      start = done.next;
      if (start !== undefined) await this.#sleep(apiLimits.keyPassPauseMs);
    }
    if (count > 0) this.#seams.log({ level: "debug", event: "keys.forgotten", detail: { count } });
  }

  /** Waits until nothing is under way; who is never at rest is not waited for any longer than that. */
  async #quiet(): Promise<void> {
    const { ready, pendingCommands, journal: { writer } } = this.#kernel;
    const untilMs = this.#seams.clock.now() + apiLimits.keyQuietMsMax;
    const isQuiet = () => ready.length === 0 && pendingCommands.size === 0 && writer.unwritten === 0;
    while (!isQuiet() && !this.#isOver && this.#seams.clock.now() < untilMs) {
      await this.#sleep(apiLimits.keyPassPauseMs);
    }
  }

  #sleep(ms: number): Promise<void> {
    const { clock } = this.#seams;
    return clock.sleepUntil(clock.now() + ms, this.#enough.signal);
  }
}
