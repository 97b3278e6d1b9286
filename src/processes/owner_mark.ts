/** The mark in the environment by which the processes of a store are known, also after their runtime died. */
import type { Seams } from "../seams.ts";

/** Name of the variable that every child carries, and everything that a child starts. */
export const ownerVariable = "TROUPE_OWNER";

/** Name of the variable that tells the children of one run apart, each with everything that it starts. */
export const spawnVariable = "TROUPE_SPAWN";

/** Whose a process is: which store started it, and which run of a runtime. */
export interface OwnerMark {
  /** 16 hexadecimal digits of the hash of the store's path. */
  readonly store: string;
  readonly runId: string;
}

/** The mark of a run. `path`: the real path of its store. */
export async function createMark(path: string, runId: string, digest: Seams["digest"]): Promise<OwnerMark> {
  const hash = await digest(new TextEncoder().encode(path));
  return { store: hash.replace(/^sha256:/, "").slice(0, 16), runId };
}

/** The mark as the variable's value. */
export function markText({ store, runId }: OwnerMark): string {
  return `${store}.${runId}`;
}

/** Which processes of a store are meant: those of its other runs, or those of this one. */
export type RunChoice = "other runs" | "this run";

/** True if the environment `entries` name a process of the same store, and of a run that is meant. */
export function isMarked(entries: readonly string[], mark: OwnerMark, which: RunChoice): boolean {
  const start = `${ownerVariable}=${mark.store}.`;
  const entry = entries.find((one) => one.startsWith(start));
  if (entry === undefined) return false;
  return (entry.slice(start.length) === mark.runId) === (which === "this run");
}

/** True if the environment `entries` name a child, or something that it started. */
export function isOfSpawn(entries: readonly string[], spawnId: string): boolean {
  return entries.includes(`${spawnVariable}=${spawnId}`);
}
