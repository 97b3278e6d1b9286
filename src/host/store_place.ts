/** Where what belongs beside a store is kept on this machine: beside its file, or in a place of this process's own. */
import { isAddress } from "../journal/remote_address.ts";
import { StoreError } from "../journal/store.ts";
import { lockStore, type StoreLock } from "../journal/store_lock.ts";
import { ProcessRegistry } from "../processes/registry.ts";
import type { Seams } from "../seams.ts";
import { dataFolder, type Env } from "./home.ts";

/** Runtimes of one machine that share a remote store. */
const placesMax = 64;
/** Hexadecimal digits of the address's hash that name the folder of its places. */
const nameCharacters = 16;

/** A store that this process may open, and where its companions are. */
export interface StorePlace {
  readonly lock: StoreLock;
  /** Path by which homes, artifacts, the children and the key are named. */
  readonly beside: string;
  /** True if other processes write the same store. */
  readonly isShared: boolean;
}

/** What is needed to take a place. */
export interface PlaceNeeds {
  readonly env: Env;
  readonly seams: Seams;
}

/**
 * Takes the place of a store. A file is locked for this process alone, or refused with `store_in_use`. A remote store has
 * numbered places in the user's data folder, each with its own lock: the first free one is taken, and what processes
 * that died left in the others is ended.
 */
export async function takePlace(location: string, needs: PlaceNeeds): Promise<StorePlace> {
  const { seams, env } = needs;
  if (!isAddress(location)) {
    return { lock: await lockStore(location, seams.clock), beside: location, isShared: false };
  }
  const folder = await placesFolder(location, seams, env);
  for (let number = 1; number <= placesMax; number++) {
    const beside = `${folder}/${number}`;
    const lock = await lockIfFree(beside, seams);
    if (lock === undefined) continue;
    await sweepOthers(folder, number, seams).catch(async (error) => {
      await lock.release();
      throw error;
    });
    return { lock, beside, isShared: true };
  }
  throw new StoreError(
    "store_in_use",
    `Cannot open store: ${placesMax} processes of this machine share it already; stop one of them`,
  );
}

async function placesFolder(location: string, { digest }: Seams, env: Env): Promise<string> {
  const base = dataFolder(env);
  if (base === undefined) {
    throw new StoreError(
      "store_unusable",
      "Cannot open store: no home folder is known in which to keep what stays on this machine; set HOME",
    );
  }
  const hash = await digest(new TextEncoder().encode(location.replace(/\/$/, "")));
  const folder = `${base}/remote/${hash.slice("sha256:".length).slice(0, nameCharacters)}`;
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

async function lockIfFree(beside: string, { clock }: Seams): Promise<StoreLock | undefined> {
  try {
    return await lockStore(beside, clock);
  } catch (error) {
    if (error instanceof StoreError && error.code === "store_in_use") return undefined;
    throw error;
  }
}

/** Ends what processes left behind whose places nobody holds now; the place taken is swept by its own runtime. */
async function sweepOthers(folder: string, own: number, seams: Seams): Promise<void> {
  const { clock, digest, log } = seams;
  for await (const { name } of Deno.readDir(folder)) {
    const number = Number(/^(\d+)\.children$/.exec(name)?.[1] ?? 0);
    if (number === 0 || number === own) continue;
    const beside = `${folder}/${number}`;
    const lock = await lockIfFree(beside, seams);
    if (lock === undefined) continue;
    const registry = new ProcessRegistry({ store: beside, runId: seams.nextId("run"), clock, digest, log });
    await registry.sweep();
    await registry.closeAll();
    await lock.release();
  }
}
