/** How often may be asked: a bucket for each key, that fills by itself (GA-51). */
import { apiLimits } from "../../../schemas/api_limits.ts";
import type { Clock } from "../../seams.ts";

/** How fast a bucket fills, and how much it holds. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

interface Bucket {
  left: number;
  atMs: number;
}

/** Buckets of one rate. At most `apiLimits.ratesMax` keys are kept: the one that was asked for longest ago goes first. */
export class RateLimit {
  readonly #rate: Rate;
  readonly #clock: Pick<Clock, "now">;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate, clock: Pick<Clock, "now">) {
    this.#rate = rate;
    this.#clock = clock;
  }

  /** Takes one. Gives 0, or how many milliseconds to wait if there is none. */
  take(key: string): number {
    const { perSecond, burst } = this.#rate;
    const now = this.#clock.now();
    const { left, atMs } = this.#buckets.get(key) ?? { left: burst, atMs: now };
    const filled = Math.min(burst, left + Math.max(now - atMs, 0) / 1_000 * perSecond);
    this.#buckets.delete(key);
    this.#buckets.set(key, { left: filled < 1 ? filled : filled - 1, atMs: now });
    const [oldest] = this.#buckets.size > apiLimits.ratesMax ? this.#buckets.keys() : [];
    if (oldest !== undefined) this.#buckets.delete(oldest);
    return filled < 1 ? Math.ceil((1 - filled) / perSecond * 1_000) : 0;
  }
}
