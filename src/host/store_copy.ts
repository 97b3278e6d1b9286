/** Copies of a store: a backup beside a living owner, and the new file of a salvage. Neither overwrites anything. */
import { vacuumInto } from "../journal/sqlite_file.ts";
import { StoreError } from "../journal/store.ts";
import { realStorePath } from "../journal/store_file.ts";

/** Refuses a name that is taken, by a file or by what belongs to a store of that name. */
export async function refuseTaken(file: string, verb: string): Promise<void> {
  const path = await realStorePath(file);
  for (const taken of [path, `${path}-wal`, `${path}-shm`]) {
    if (await Deno.lstat(taken).catch(() => undefined) === undefined) continue;
    throw new StoreError(
      "store_unusable",
      `Cannot ${verb} "${file}": "${taken}" exists, and nothing is overwritten; name a new file`,
    );
  }
}

/** Writes a whole copy of the store at `location` to a new file, with mode 0600, and flushes it. Returns its size. */
export async function backUp(
  location: string,
  file: string,
  { isOurs }: { readonly isOurs: boolean },
): Promise<number> {
  await refuseTaken(file, "back up into");
  const target = await realStorePath(file);
  try {
    // Made here, so that it never has a wider mode; SQLite takes an empty file for a new one.
    (await Deno.open(target, { write: true, createNew: true, mode: 0o600 })).close();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError("store_unusable", `Cannot back up into "${file}": ${reason}`, { cause: error });
  }
  try {
    await vacuumInto(await realStorePath(location), target, { isOurs });
    using copy = await Deno.open(target, { read: true, write: true });
    await copy.sync();
    return (await copy.stat()).size;
  } catch (error) {
    await Deno.remove(target).catch(() => {}); // A part of a copy is none.
    throw error;
  }
}
