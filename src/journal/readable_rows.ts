/** Rows of a file that may be damaged: as many as can be read, and one finding for the rest. */
import { type Finding, findingAt } from "./finding.ts";
import { type Row, type Store, StoreError, type StoreKey } from "./store.ts";

/** Says that rows under a prefix cannot be read. Throws what means something else than a damaged file. */
export function unreadable(prefix: StoreKey, error: unknown): Finding {
  if (!(error instanceof StoreError) || error.code !== "store_corrupt") throw error;
  const kind = prefix.length === 0 ? "the store" : `rows ${prefix.join("/")}`;
  return findingAt(kind, "rows_unreadable", `Some rows cannot be read (${error.message})`);
}

/** The rows under a prefix, up to the first that cannot be read. */
export async function* readableRows(store: Store, prefix: StoreKey, findings: Finding[]): AsyncIterable<Row> {
  try {
    yield* store.list({ prefix });
  } catch (error) {
    findings.push(unreadable(prefix, error));
  }
}
