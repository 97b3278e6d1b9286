/** Rows that belong to no crank, written as a unit of the runtime's own. */
import type { StoreKey } from "../journal/store.ts";
import { type Kernel, KernelError } from "./kernel.ts";

/** Rows to set and to delete in one commit. */
export interface RowChanges {
  readonly sets: readonly { readonly key: StoreKey; readonly value: unknown }[];
  readonly deletes: readonly StoreKey[];
}

/**
 * Writes rows; resolves once they are durable, and rejects if they never will be. They go with the runtime's own
 * supervisor: in a shared store no other root is sure to be ours (K17).
 */
export async function setRows({ journal, supervisor }: Kernel, changes: RowChanges): Promise<void> {
  if (supervisor === undefined) throw new KernelError("runtime_stopped", "The runtime is not up: try again");
  const { promise, resolve } = Promise.withResolvers<void>();
  journal.writer.push({ root: supervisor, entries: [], ...changes }, resolve);
  journal.writer.urge();
  await Promise.race([promise, journal.writer.idle()]);
}
