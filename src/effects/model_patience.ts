/** How long an answer of a model is waited for: as long as something of it comes, and not for ever. */
import { limits } from "../../schemas/limits.ts";
import type { Clock } from "../seams.ts";

/** The patience with one request. */
export class ModelPatience {
  readonly #clock: Clock;
  readonly #beganAtMs: number;
  #quietMs: number;
  #untilMs: number;

  /** `deadlineAtMs`: when it ends if nothing comes, as long as nobody knows who answers. Milliseconds since the epoch. */
  constructor(clock: Clock, deadlineAtMs: number) {
    this.#clock = clock;
    this.#beganAtMs = clock.now();
    this.#untilMs = deadlineAtMs;
    // Who is given less is given less at each place.
    this.#quietMs = Math.min(limits.modelCallDurationMs, Math.max(0, deadlineAtMs - this.#beganAtMs));
  }

  /** When it ends, as far as is known by now. Milliseconds since the epoch. */
  get untilMs(): number {
    return this.#untilMs;
  }

  /** Who answers is known, and how long that may say nothing; a shorter time than usual its own connection keeps. */
  known({ timeoutMs }: { readonly timeoutMs?: number }): void {
    if (timeoutMs === undefined) return;
    this.#quietMs = timeoutMs;
    this.#untilMs = Math.max(this.#untilMs, this.#beganAtMs + timeoutMs);
  }

  /** Something came: an answer that goes on is alive. */
  heard(): void {
    const most = this.#beganAtMs + limits.modelAnswerDurationMsMax;
    this.#untilMs = Math.max(this.#untilMs, Math.min(most, this.#clock.now() + this.#quietMs));
  }
}
