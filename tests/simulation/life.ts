/** One life of the runtime: its own clock, seams and way to the disk, moved by a driver alone; may end at any moment. */
import process from "node:process";
import type { LogEvent, Seams } from "../../src/seams.ts";
import type { Store } from "../../src/journal/store.ts";
import type { Runtime } from "../../src/runtime.ts";
import type { Fault, MemoryDisk, MemoryStore, PendingCall } from "../support/memory_store.ts";
import { digestNow } from "../support/world.ts";

/** What outlives every life: the wall clock, minted ids, chance. */
export interface Nature {
  nowMs: number;
  ids: number;
  readonly random: () => number;
}

/** Somebody who waits for a time. */
export interface Sleeper {
  readonly dueAtMs: number;
  readonly order: number;
  readonly wake: () => void;
}

/** A call of the store on its way, and whether it took hold while its caller does not know yet. */
export interface StoreCall extends PendingCall {
  hasTakenHold: boolean;
}

/** Options of {@linkcode Life}. */
export interface LifeOptions {
  readonly number: number;
  readonly nature: Nature;
  readonly disk: MemoryDisk;
  /** What goes wrong with the n-th commit of this life, if anything. */
  readonly faults?: ((n: number) => Fault | undefined) | undefined;
  readonly readFaults?: (() => boolean) | undefined;
  readonly log: (life: Life, event: LogEvent) => void;
  /** Puts a planted bug between runtime and disk. */
  readonly wrapStore?: ((store: MemoryStore) => Store) | undefined;
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

function mint(prefix: string, count: number): string {
  let digits = "";
  for (let rest = count; digits.length < 26; rest = Math.floor(rest / 32)) {
    digits = crockford[rest % 32] + digits;
  }
  return `${prefix}_${digits}`;
}

/** A process that runs the runtime. Nothing in it goes on unless the driver takes one of its waiting steps. */
export class Life {
  readonly number: number;
  readonly handle: MemoryStore;
  readonly store: Store;
  readonly seams: Seams;
  /** True until the process is killed. */
  isAlive = true;
  /** True while it stops in good order, and after. */
  isStopping = false;
  isStopped = false;
  /** Commits, applications outside and driver's steps of this life so far: crash plans count them. */
  commits = 0;
  applied = 0;
  steps = 0;
  runtime: Runtime | undefined;
  /** Why the start failed. */
  failure: unknown;
  readonly deferred: (() => void)[] = [];
  readonly calls: StoreCall[] = [];
  sleepers: Sleeper[] = [];
  #order = 0;

  constructor(options: LifeOptions) {
    const { nature, disk, faults, readFaults, wrapStore } = options;
    this.number = options.number;
    this.handle = disk.open({ faults, readFaults, gate: (call) => this.#take(call) });
    this.store = wrapStore === undefined ? this.handle : wrapStore(this.handle);
    this.seams = {
      clock: {
        now: () => nature.nowMs,
        sleepUntil: (atMs, signal) => this.#sleep(atMs, signal, nature),
        defer: (task) => void (this.isAlive && this.deferred.push(task)),
      },
      nextId: (prefix) => mint(prefix, ++nature.ids),
      random: nature.random,
      digest: (bytes) => Promise.resolve(digestNow(bytes)),
      log: (event) => options.log(this, event),
    };
  }

  /** The sleeper that wakes first. */
  get firstSleeper(): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of this.sleepers) {
      if (first === undefined || sleeper.dueAtMs < first.dueAtMs) first = sleeper;
    }
    return first;
  }

  wake(sleeper: Sleeper): void {
    this.sleepers = this.sleepers.filter((other) => other !== sleeper);
    sleeper.wake();
  }

  /** Stops the runtime in good order; nobody gives it anything to do any more. */
  stop(runtime: Runtime): void {
    this.isStopping = true;
    runtime.stop().then(() => this.isStopped = true, (error) => this.failure = error);
  }

  /** Ends the process: what it waits for never comes, and nobody hears of it again. */
  kill(): void {
    this.isAlive = false;
    this.handle.die();
    this.deferred.length = 0;
    this.calls.length = 0;
    this.sleepers = [];
  }

  #take(call: PendingCall): void {
    if (call.kind === "commit") this.commits += 1;
    this.calls.push({ ...call, hasTakenHold: false });
  }

  #sleep(dueAtMs: number, signal: AbortSignal | undefined, nature: Nature): Promise<void> {
    if (!this.isAlive) return new Promise(() => {});
    if (dueAtMs <= nature.nowMs || signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const sleeper = { dueAtMs, order: ++this.#order, wake: resolve };
      this.sleepers.push(sleeper);
      signal?.addEventListener("abort", () => {
        this.sleepers = this.sleepers.filter((other) => other !== sleeper);
        resolve();
      }, { once: true });
    });
  }
}

/** Lets every microtask run, and those that they start: nothing more can happen before the driver's next step. */
export function drain(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
