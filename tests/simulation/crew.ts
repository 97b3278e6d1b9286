/** Plays seeds on all cores: threads that take a few seeds at a time until none is left. */
import { Census } from "./census.ts";
import type { Verdict } from "./evidence.ts";
import type { Order, Report, Totals } from "./player.ts";

/** Options of {@linkcode playAll}. */
export interface CrewOptions extends Order {
  readonly workers?: number;
  /** Told of every few seeds that were played. */
  readonly onProgress?: (tally: Tally) => void;
}

/** What came of all seeds that were played so far. */
export interface Tally {
  readonly played: number;
  readonly totals: Totals;
  readonly census: Census;
  /** Hashes by seed. */
  readonly hashes: ReadonlyMap<number, string>;
  /** Runs that broke a rule, by seed. */
  readonly failed: readonly Verdict[];
}

/** Few enough that no thread is left with much at the end, many enough that asking costs nothing. */
const seedsAtOnce = 10;

/** Plays all seeds from the first. The same seeds come to the same, whoever plays them. */
export async function playAll({ from, seeds, workers, onProgress }: CrewOptions): Promise<Tally> {
  const count = workers ?? navigator.hardwareConcurrency;
  const tally = new Tallying();
  let next = from;
  const order = (): Order | undefined => {
    if (next >= from + seeds) return undefined;
    const first = next;
    next += seedsAtOnce;
    return { from: first, seeds: Math.min(seedsAtOnce, from + seeds - first) };
  };
  await Promise.all(Array.from({ length: Math.min(count, Math.ceil(seeds / seedsAtOnce)) }, async () => {
    await employ(order, (done, report) => {
      tally.take(done, report);
      onProgress?.(tally);
    });
  }));
  tally.failed.sort((a, b) => a.plan.seed - b.plan.seed);
  return tally;
}

/** One thread: it is given orders until there is none, and ended. */
async function employ(
  order: () => Order | undefined,
  take: (done: Order, report: Report) => void,
): Promise<void> {
  const worker = new Worker(new URL("./player.ts", import.meta.url), { type: "module", name: "player" });
  try {
    for (let next = order(); next !== undefined; next = order()) take(next, await playedBy(worker, next));
  } finally {
    worker.terminate();
  }
}

function playedBy(worker: Worker, order: Order): Promise<Report> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<Report>) => resolve(data);
    worker.onerror = (event) => {
      event.preventDefault();
      reject(
        new Error(`Cannot play seeds ${order.from} to ${order.from + order.seeds - 1}: ${event.message}`),
      );
    };
    worker.postMessage(order);
  });
}

class Tallying implements Tally {
  played = 0;
  readonly totals: Totals = { steps: 0, lives: 0, crashes: 0, performances: 0 };
  readonly census = new Census();
  readonly hashes = new Map<number, string>();
  readonly failed: Verdict[] = [];

  take({ from }: Order, { played, totals, seen, hashes, failed }: Report): void {
    this.played += played;
    for (const name of Object.keys(totals) as (keyof Totals)[]) this.totals[name] += totals[name];
    this.census.merge(seen);
    hashes.forEach((hash, index) => this.hashes.set(from + index, hash));
    this.failed.push(...failed);
  }
}
