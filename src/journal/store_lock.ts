/** One owner a store: an exclusive file lock held for life, and beside it a note about who holds it. */
import type { Clock } from "../seams.ts";
import { StoreError } from "./store.ts";
import { realStorePath } from "./store_file.ts";

/** Where the owner of a store can be reached: a port on loopback, and the token that opens it. */
export interface StoreDoor {
  readonly port: number;
  readonly token: string;
}

/** Who holds a store. */
export interface StoreOwner {
  readonly pid: number;
  /** In milliseconds since the epoch. */
  readonly startedAt: number;
  readonly door?: StoreDoor | undefined;
}

/** A store that is ours until `release`, or until this process ends in whatever way. */
export interface StoreLock {
  readonly owner: StoreOwner;
  /** Tells other processes where to knock. */
  setDoor(door: StoreDoor): Promise<void>;
  /** Takes the note away and frees the lock. */
  release(): Promise<void>;
}

/** A probing reader holds the lock for an instant; so a refused start tries again before it believes it. */
const tries = { count: 3, pauseMs: 20 } as const;

/** The lock file is never deleted: a second owner could then lock another file of the same name. */
function lockPath(path: string): string {
  return `${path}.lock`;
}

function ownerPath(path: string): string {
  return `${path}.owner`;
}

async function openLockFile(path: string): Promise<Deno.FsFile> {
  const cut = path.lastIndexOf("/");
  try {
    if (cut > 0) await Deno.mkdir(path.slice(0, cut), { recursive: true, mode: 0o700 });
    return await Deno.open(lockPath(path), { read: true, write: true, create: true, mode: 0o600 });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError("store_unusable", `Cannot lock store "${path}": ${reason}`, { cause: error });
  }
}

/** What the file beside a store says of its owner, who may have died; undefined if nothing can be read there. */
export async function readOwnerNote(path: string): Promise<StoreOwner | undefined> {
  return await readOwnerFile(path);
}

async function readOwnerFile(path: string): Promise<StoreOwner | undefined> {
  try {
    const { pid, startedAt, door } = JSON.parse(await Deno.readTextFile(ownerPath(path)));
    if (!Number.isSafeInteger(pid) || !Number.isFinite(startedAt)) return undefined;
    const reachable = Number.isSafeInteger(door?.port) && typeof door?.token === "string";
    return { pid, startedAt, ...(reachable ? { door: { port: door.port, token: door.token } } : {}) };
  } catch {
    // Absent, or just being written: either way nobody can be named.
    return undefined;
  }
}

async function writeOwnerFile(path: string, owner: StoreOwner): Promise<void> {
  // It holds a token: never readable by others, never half written.
  const draft = `${ownerPath(path)}.${owner.pid}`;
  try {
    await Deno.writeTextFile(draft, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
    await Deno.rename(draft, ownerPath(path));
  } catch (error) {
    await Deno.remove(draft).catch(() => {});
    throw error;
  }
}

/** A full disk keeps nobody from reading: then there is no note, and none of an owner before us. */
async function noteOwner(path: string, owner: StoreOwner): Promise<void> {
  try {
    await writeOwnerFile(path, owner);
  } catch (error) {
    if (!isFull(error)) throw error;
    await Deno.remove(ownerPath(path)).catch(() => {});
  }
}

/** True if there is no room on the disk, or in its quota. Deno has neither class nor code for it. */
function isFull(error: unknown): boolean {
  return error instanceof Error && /\(os error (28|122)\)/.test(error.message);
}

function inUse(path: string, owner: StoreOwner | undefined): StoreError {
  const who = owner === undefined
    ? "another process"
    : `process ${owner.pid}, since ${new Date(owner.startedAt).toISOString()}`;
  return new StoreError(
    "store_in_use",
    `Cannot open store "${path}": it is in use by ${who}; stop that process, or name another store`,
  );
}

/**
 * Takes the store at `location` for this process. Refuses with `store_in_use`, naming the owner. A lock file left by
 * a process that died does not count: the system has freed its lock.
 */
export async function lockStore(location: string, clock: Clock): Promise<StoreLock> {
  const path = await realStorePath(location);
  const file = await openLockFile(path);
  try {
    for (let tried = 1; !await file.tryLock(true); tried++) {
      if (tried === tries.count) throw inUse(path, await readOwnerFile(path));
      await clock.sleepUntil(clock.now() + tries.pauseMs);
    }
    const owner: StoreOwner = { pid: Deno.pid, startedAt: clock.now() };
    await noteOwner(path, owner);
    return new HeldLock(path, file, owner);
  } catch (error) {
    file.close();
    throw error;
  }
}

class HeldLock implements StoreLock {
  owner: StoreOwner;
  readonly #path: string;
  readonly #file: Deno.FsFile;
  #released = false;

  constructor(path: string, file: Deno.FsFile, owner: StoreOwner) {
    this.#path = path;
    this.#file = file;
    this.owner = owner;
  }

  async setDoor(door: StoreDoor): Promise<void> {
    if (this.#released) return;
    this.owner = { ...this.owner, door };
    await writeOwnerFile(this.#path, this.owner);
  }

  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    try {
      await Deno.remove(ownerPath(this.#path));
    } catch {
      // Taken away by somebody else; the lock is what counts.
    }
    this.#file.close();
  }
}

/**
 * The living owner of a store, or undefined if nobody holds it: the note of an owner that died is ignored. Takes
 * nothing, changes nothing.
 */
export async function readStoreOwner(location: string): Promise<StoreOwner | undefined> {
  const path = await realStorePath(location);
  const owner = await readOwnerFile(path);
  if (owner === undefined) return undefined;
  let file: Deno.FsFile;
  try {
    file = await Deno.open(lockPath(path), { read: true });
  } catch {
    return undefined;
  }
  using probe = file;
  return await probe.tryLock(false) ? undefined : owner;
}
