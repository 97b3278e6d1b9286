/** Refusals on their way to the journal: counted, so that whoever tries tokens fills no disk. */
import type { RefusalCount } from "../../../schemas/access.ts";
import { accessLimits } from "../../../schemas/access_limits.ts";
import type { Clock } from "../../seams.ts";
import type { Refused } from "../authenticator.ts";

/** What was refused in some time. */
export interface RefusalsTold {
  readonly fromMs: number;
  readonly toMs: number;
  readonly refusals: RefusalCount[];
  readonly more: number;
}

/** Counts refusals, and tells of them a minute after the first one: one entry a minute at most. */
export class Refusals {
  readonly #clock: Clock;
  readonly #tell: (told: RefusalsTold) => void;
  readonly #counts = new Map<string, RefusalCount>();
  readonly #closed = new AbortController();
  #more = 0;
  #fromMs: number | undefined;

  constructor(clock: Clock, tell: (told: RefusalsTold) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  note({ code, peer, principal, method }: Refused): void {
    if (this.#closed.signal.aborted) return;
    if (this.#fromMs === undefined) this.#begin();
    const key = JSON.stringify([code, peer, principal, method]);
    const known = this.#counts.get(key);
    if (known === undefined && this.#counts.size >= accessLimits.refusalsNamedMax) {
      this.#more += 1;
      return;
    }
    const named = {
      ...(principal === undefined ? {} : { principal }),
      ...(method === undefined ? {} : { method }),
    };
    this.#counts.set(key, { code, peer, ...named, count: (known?.count ?? 0) + 1 });
  }

  /** Tells of what was counted until now, and of nothing after that. */
  close(): void {
    this.#closed.abort();
    this.#flush();
  }

  #begin(): void {
    const now = this.#clock.now();
    this.#fromMs = now;
    this.#clock.sleepUntil(now + accessLimits.refusalsEveryMs, this.#closed.signal).then(() =>
      this.#closed.signal.aborted || this.#flush()
    );
  }

  #flush(): void {
    if (this.#fromMs === undefined) return;
    const told = {
      fromMs: this.#fromMs,
      toMs: this.#clock.now(),
      refusals: [...this.#counts.values()],
      more: this.#more,
    };
    this.#fromMs = undefined;
    this.#counts.clear();
    this.#more = 0;
    this.#tell(told);
  }
}
