/** Plays seeds in a thread of its own, one after another: bounds and catalogs belong to a whole thread. */
/// <reference lib="webworker" />
import { Census } from "./census.ts";
import type { Verdict } from "./evidence.ts";
import { simulate } from "./simulation.ts";

/** Seeds to be played, from the first, one after another. */
export interface Order {
  readonly from: number;
  readonly seeds: number;
}

/** What came of an order. */
export interface Report {
  readonly played: number;
  readonly totals: Totals;
  readonly seen: readonly (readonly [string, number])[];
  /** Hash of each run, in the order of the seeds. */
  readonly hashes: readonly string[];
  readonly failed: readonly Verdict[];
}

/** Sums over runs. */
export interface Totals {
  steps: number;
  lives: number;
  crashes: number;
  performances: number;
}

/** Plays an order in this thread. */
export async function play({ from, seeds }: Order): Promise<Report> {
  const totals: Totals = { steps: 0, lives: 0, crashes: 0, performances: 0 };
  const census = new Census();
  const hashes: string[] = [];
  const failed: Verdict[] = [];
  for (let seed = from; seed < from + seeds; seed++) {
    const verdict = await simulate(seed);
    census.add(verdict.seen);
    hashes.push(verdict.hash);
    for (const name of Object.keys(totals) as (keyof Totals)[]) totals[name] += verdict.counts[name];
    if (verdict.violations.length > 0) failed.push(verdict);
  }
  return { played: seeds, totals, seen: [...census.counts], hashes, failed };
}

const thread = globalThis as unknown as DedicatedWorkerGlobalScope;
if (typeof DedicatedWorkerGlobalScope === "function" && thread instanceof DedicatedWorkerGlobalScope) {
  thread.onmessage = async ({ data }: MessageEvent<Order>) => thread.postMessage(await play(data));
}
