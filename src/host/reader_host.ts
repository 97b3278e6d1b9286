/** A store that this process only reads: nothing is written to it, not even an epoch. */
import type { RootRecord } from "../../schemas/entry.ts";
import { readTokens } from "../api/access/token_fold.ts";
import { openJournalReader } from "../journal/journal.ts";
import { openKvStore } from "../journal/kv_store.ts";
import { isAddress } from "../journal/remote_address.ts";
import { type Store, StoreError } from "../journal/store.ts";
import { realStorePath } from "../journal/store_file.ts";
import { lockStore } from "../journal/store_lock.ts";
import type { Seams } from "../seams.ts";
import { readTasks } from "../tasks/task_rows.ts";
import type { Host } from "./host.ts";

/** Opens a store for reading, under its lock. Refuses a store that is not there, and makes nothing. */
export async function openReaderHost(location: string, seams: Seams): Promise<Host> {
  // Looked at first: taking the lock would leave a lock file beside nothing.
  await refuseMissing(location);
  // What others write into a shared store meanwhile is not seen, or seen whole.
  const lock = isAddress(location) ? undefined : await lockStore(location, seams.clock);
  try {
    const store = await openForReading(location, seams);
    try {
      const journal = await openJournalReader({ store, seams });
      return {
        owner: undefined,
        listRoots: async () => {
          const roots: RootRecord[] = [];
          for await (const root of journal.listRoots()) roots.push(root);
          return roots.sort((left, right) => left.createdAt - right.createdAt);
        },
        readHead: (root) => journal.readHead(root),
        readPages: (root, fromSeq) => journal.readPages(root, fromSeq),
        listTasks: (session) => readTasks(journal, session),
        listTokens: async () => await readTokens(journal, await Array.fromAsync(journal.listRoots())),
        readBlob: (digest) => journal.readBlob(digest),
        readActors: () => Promise.resolve(undefined),
        // What is there is all: nobody writes while we hold the lock, and nobody tells us of a shared store.
        follow: (root, fromSeq) => journal.readPages(root, fromSeq),
        close: async () => {
          store.close();
          await lock?.release();
        },
      };
    } catch (error) {
      store.close();
      throw error;
    }
  } catch (error) {
    await lock?.release();
    throw error;
  }
}

/** On a full disk a store cannot be opened, and its file can still be read. */
async function openForReading(location: string, seams: Seams): Promise<Store> {
  try {
    return await openKvStore(location, { mustExist: true, log: seams.log });
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "store_full") throw error;
    const { openSqliteFile } = await import("../journal/sqlite_file.ts");
    return await openSqliteFile(await realStorePath(location), { isOurs: true });
  }
}

/** Refuses a store that does not exist. */
export async function refuseMissing(location: string): Promise<void> {
  if (isAddress(location)) return; // Opening it says what is wrong.
  try {
    await Deno.stat(location);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) return; // Opening it says what is wrong.
    throw new StoreError("store_not_found", `Cannot find store "${location}": there is no such file`);
  }
}
