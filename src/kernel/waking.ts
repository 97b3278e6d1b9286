/** Roots that are being brought up: a bounded number at once, in the order in which they were wanted. */
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";

/** The roots of one runtime that are on their way from the store, or wait for their turn. */
export class Waking {
  readonly #roots = new Set<RootAddress>();
  readonly #waiting: (() => Promise<void>)[] = [];
  #active = 0;
  #waiters: { readonly isMeant: (root: RootAddress) => boolean; readonly resolve: () => void }[] = [];

  get size(): number {
    return this.#roots.size;
  }

  has(address: RootAddress): boolean {
    return this.#roots.has(address);
  }

  /** Notes a root that is brought up outside the line, as one is that was awake a moment ago. */
  add(address: RootAddress): void {
    this.#roots.add(address);
  }

  /** The root is up, or will not come up. */
  delete(address: RootAddress): void {
    this.#roots.delete(address);
    if (this.#waiters.length === 0) return;
    const waiters = this.#waiters.splice(0);
    this.#waiters = waiters.filter(({ isMeant }) => this.#isAny(isMeant));
    for (const waiter of waiters) if (!this.#waiters.includes(waiter)) waiter.resolve();
  }

  /** Notes a root and brings it up when its turn comes. `work` must not reject, and ends by {@linkcode delete}. */
  line(address: RootAddress, work: () => Promise<void>): void {
    this.#roots.add(address);
    this.#waiting.push(work);
    this.#next();
  }

  /** Resolves once no such root is on its way, or nobody works on any more. */
  untilNone(isMeant: (root: RootAddress) => boolean): Promise<void> {
    if (!this.#isAny(isMeant)) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ isMeant, resolve }));
  }

  /** The runtime has stopped: whoever waits goes on. */
  giveUp(): void {
    this.#waiting.length = 0;
    for (const { resolve } of this.#waiters.splice(0)) resolve();
  }

  #next(): void {
    if (this.#active >= limits.wakesAtOnceMax) return;
    const work = this.#waiting.shift();
    if (work === undefined) return;
    this.#active += 1;
    work().then(() => {
      this.#active -= 1;
      this.#next();
    });
  }

  #isAny(isMeant: (root: RootAddress) => boolean): boolean {
    for (const root of this.#roots) if (isMeant(root)) return true;
    return false;
  }
}
