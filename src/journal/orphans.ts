/** Blobs that nothing names: what a crash left between a large result and the entry that would have named it (R12). */
import { type Finding, findingAt } from "./finding.ts";
import { prefixes } from "./keys.ts";
import { readableRows } from "./readable_rows.ts";
import { valueBytes } from "./row_size.ts";
import type { Store } from "./store.ts";

/** What is known of the blobs that have a name. */
export interface OrphanSearch {
  readonly store: Store;
  readonly named: ReadonlySet<string>;
  /** Versionstamp up to which everything was written a day ago or earlier; empty if nothing is known of time. */
  readonly oldUntil: string;
}

/** Counts the blobs that nothing names, and their bytes. Those of the last day may still get their entry. */
export async function findOrphans({ store, named, oldUntil }: OrphanSearch): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const orphans = new Set<string>();
  const old = new Set<string>();
  let bytes = 0;
  for (const prefix of [prefixes.blobs, prefixes.blobChunks]) {
    for await (const { key, value, versionstamp } of readableRows(store, prefix, findings)) {
      const digest = String(key[1]);
      if (named.has(digest)) continue;
      orphans.add(digest);
      if (versionstamp <= oldUntil) old.add(digest);
      bytes += valueBytes(value);
    }
  }
  if (orphans.size === 0) return findings;
  const age = `${old.size} of them older than 24 h`;
  const message = `${orphans.size} blobs of ${bytes} bytes are named by no entry, ${age}`;
  return [...findings, findingAt("blobs", "blobs_orphaned", message)];
}
