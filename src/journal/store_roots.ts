/** Which roots a store knows, by whatever is left of them. */
import type { Finding } from "./finding.ts";
import { prefixes } from "./keys.ts";
import { readableRows, unreadable } from "./readable_rows.ts";
import type { Store } from "./store.ts";

/** Every root that has a record, a head, a snapshot or a packed value, in order. */
export async function rootsOf(store: Store, findings: Finding[]): Promise<string[]> {
  const roots = new Set<string>();
  for (const prefix of [prefixes.roots, prefixes.heads, prefixes.snapshots]) {
    for await (const { key } of readableRows(store, prefix, findings)) roots.add(String(key[1]));
  }
  try {
    // From root to root, without reading the values between.
    for (
      let root = await rootFrom(store, "");
      root !== undefined;
      root = await rootFrom(store, `${root}\0`)
    ) {
      roots.add(root);
    }
  } catch (error) {
    findings.push(unreadable(prefixes.logs, error));
  }
  return [...roots].sort();
}

async function rootFrom(store: Store, name: string): Promise<string | undefined> {
  for await (const { key } of store.list({ prefix: prefixes.logs, start: ["log", name], limit: 1 })) {
    return String(key[1]);
  }
  return undefined;
}
