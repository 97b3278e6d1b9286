/** A world of its own for a test: virtual time, counted ids, seeded chance, a log in an array. Nothing is left to luck. */
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers";
import type { LogEvent, Seams } from "../../src/seams.ts";

/** The seams of a test, and the handles that move them. */
export interface World {
  readonly seams: Seams;
  /** Everything that was logged. */
  readonly logs: readonly LogEvent[];
  now(): number;
  /** Lets everything run that can run without time passing: microtasks, and deferred tasks in their order. */
  settle(): Promise<void>;
  /** Moves time forward, waking each sleeper at its due time, settling in between. */
  advance(ms: number): Promise<void>;
  /** Moves time to the next sleeper, wakes it alone and settles. False if nobody sleeps. */
  step(): Promise<boolean>;
  /** Runs the oldest deferred task alone, without settling. False if there is none. */
  runDeferred(): boolean;
  /** Tasks that were deferred and did not run. */
  readonly deferred: number;
  readonly sleepers: number;
  /** Sets the wall clock back or forward, waking nobody (F13). */
  setClock(ms: number): void;
  /** A crash: whatever was deferred or sleeps is forgotten and never wakes. */
  crash(): void;
}

interface Sleeper {
  readonly dueAtMs: number;
  readonly order: number;
  readonly wake: () => void;
}

/** A random number generator in [0, 1) that gives the same numbers for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** SHA-256 without leaving the turn, so that a simulation is the same every time. */
export function digestNow(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

function countedId(prefix: string, count: number): string {
  let digits = "";
  for (let rest = count; digits.length < 26; rest = Math.floor(rest / 32)) {
    digits = crockford[rest % 32] + digits;
  }
  return `${prefix}_${digits}`;
}

/**
 * Waits until every microtask has run: an immediate comes after them all. A message of a `MessageChannel` does not, once
 * a CommonJS package such as XState is loaded: it then comes after three.
 */
function drainMicrotasks(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

class TestWorld implements World {
  readonly logs: LogEvent[] = [];
  readonly seams: Seams;
  #nowMs = 1_800_000_000_000;
  #order = 0;
  #ids = 0;
  #sleepers: Sleeper[] = [];
  #deferred: (() => void)[] = [];

  constructor(seed: number) {
    this.seams = {
      clock: {
        now: () => this.#nowMs,
        sleepUntil: (atMs, signal) => this.#sleep(atMs, signal),
        defer: (task) => void this.#deferred.push(task),
      },
      nextId: (prefix) => countedId(prefix, ++this.#ids),
      random: createRandom(seed),
      digest: (bytes) => Promise.resolve(digestNow(bytes)),
      log: (event) => void this.logs.push(event),
    };
  }

  get deferred(): number {
    return this.#deferred.length;
  }

  get sleepers(): number {
    return this.#sleepers.length;
  }

  now(): number {
    return this.#nowMs;
  }

  async settle(): Promise<void> {
    do await drainMicrotasks(); while (this.runDeferred());
  }

  async advance(ms: number): Promise<void> {
    const end = this.#nowMs + ms;
    await this.settle();
    for (let next = this.#next(); next !== undefined && next.dueAtMs <= end; next = this.#next()) {
      await this.#wake(next);
    }
    this.#nowMs = Math.max(this.#nowMs, end);
    await this.settle();
  }

  async step(): Promise<boolean> {
    await this.settle();
    const next = this.#next();
    if (next === undefined) return false;
    await this.#wake(next);
    return true;
  }

  runDeferred(): boolean {
    const task = this.#deferred.shift();
    task?.();
    return task !== undefined;
  }

  setClock(ms: number): void {
    this.#nowMs = ms;
  }

  crash(): void {
    this.#sleepers = [];
    this.#deferred = [];
  }

  #sleep(dueAtMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (dueAtMs <= this.#nowMs || signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const sleeper = { dueAtMs, order: ++this.#order, wake: resolve };
      this.#sleepers.push(sleeper);
      signal?.addEventListener("abort", () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        resolve();
      }, { once: true });
    });
  }

  #next(): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers) {
      if (first === undefined || sleeper.dueAtMs < first.dueAtMs) first = sleeper;
    }
    return first;
  }

  async #wake(sleeper: Sleeper): Promise<void> {
    this.#nowMs = Math.max(this.#nowMs, sleeper.dueAtMs);
    this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
    sleeper.wake();
    await this.settle();
  }
}

/** Makes a world. The same seed and the same calls give the same run. */
export function createWorld(seed = 1): World {
  return new TestWorld(seed);
}
