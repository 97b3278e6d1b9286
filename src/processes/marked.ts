/** Looks for processes that a store's runtimes started: nothing is ended by it. */
import type { Seams } from "../seams.ts";
import { createMark, isMarked } from "./owner_mark.ts";
import { openProcessTable } from "./process_table.ts";

/** Processes of this machine that carry the mark of the store at `path`; undefined where no system tells. */
export async function findMarked(
  path: string,
  digest: Seams["digest"],
): Promise<readonly number[] | undefined> {
  // Nobody's run: every run of the store is another one.
  const mark = await createMark(path, "", digest);
  const table = await openProcessTable((entries) => isMarked(entries, mark, "other runs"));
  return await table?.find();
}
