/** What is checked about a store's file before it is opened: B132 and B133. */
import type { KvStoreOptions } from "./kv_store.ts";
import { StoreError } from "./store.ts";

/** A store's file that may be opened. */
export interface PreparedStoreFile {
  /** The real path, so that two names of one file meet in one lock. */
  readonly path: string;
  /** Closes the file and its companions to other users. */
  protect(): Promise<void>;
  /** Takes back a file that was made here and never used. */
  discard(): Promise<void>;
}

const fileMode = 0o600;
const sqliteMagic = "SQLite format 3\0";
/** Name of a table that every Deno KV file has: tells our file from another program's database. */
const kvTable = "migration_state";
const networkFileSystems =
  /^(nfs\d?|cifs|smb\d?|smbfs|ncpfs|afs|ceph|lustre|gpfs|glusterfs|davfs|fuse\.(sshfs|glusterfs|s3fs|rclone|davfs2|ceph))$/;

function unusable(path: string, state: string): StoreError {
  return new StoreError("store_unusable", `Cannot use "${path}" as store: ${state}`);
}

async function statOf(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw unusable(path, error instanceof Error ? error.message : String(error));
  }
}

/** The real path of a store that may not exist yet. */
export async function realStorePath(path: string): Promise<string> {
  try {
    return await Deno.realPath(path);
  } catch {
    const cut = path.lastIndexOf("/");
    const folder = cut < 0 ? "." : path.slice(0, cut) || "/";
    try {
      return `${(await Deno.realPath(folder)).replace(/\/$/, "")}/${path.slice(cut + 1)}`;
    } catch {
      return path;
    }
  }
}

async function readStart(path: string, bytesMax: number): Promise<Uint8Array> {
  using file = await Deno.open(path, { read: true });
  const bytes = new Uint8Array(bytesMax);
  let filled = 0;
  while (filled < bytesMax) {
    const read = await file.read(bytes.subarray(filled));
    if (read === null) break;
    filled += read;
  }
  return bytes.subarray(0, filled);
}

function latin1(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}

function isText(bytes: Uint8Array): boolean {
  return !bytes.subarray(0, 1_024).some((byte) => byte < 9 || (byte > 13 && byte < 32));
}

/** Refuses a file that is not a store of ours; nothing is written to it (B133). */
export async function checkStoreContent(path: string, size: number): Promise<void> {
  if (size === 0) {
    throw unusable(
      path,
      "the file is empty; delete it if it was left by an interrupted start, or name another",
    );
  }
  const start = await readStart(path, 8_192);
  if (!latin1(start).startsWith(sqliteMagic)) {
    if (isText(start)) throw unusable(path, "it is a text file; name another file");
    throw new StoreError(
      "store_corrupt",
      `Cannot read store "${path}": the file is damaged, or is no database`,
    );
  }
  // The tables of a new store may still be in the write-ahead log only.
  const log = await statOf(`${path}-wal`);
  const tables = latin1(start) + (log === undefined ? "" : latin1(await readStart(`${path}-wal`, 262_144)));
  if (!tables.includes(kvTable)) {
    throw unusable(path, "it is a database of another program; name another file");
  }
}

/** Refuses a file of another user; closes one that others can read (B132). */
async function checkOwner(path: string, info: Deno.FileInfo, options: KvStoreOptions): Promise<void> {
  const user = Deno.build.os === "windows" ? null : Deno.uid();
  if (user === null) return;
  if (info.uid !== null && info.uid !== user) {
    throw unusable(path, `it belongs to another user (uid ${info.uid}, ours is ${user})`);
  }
  if (info.mode === null || (info.mode & 0o077) === 0) return;
  await Deno.chmod(path, fileMode);
  options.log?.({
    level: "warning",
    event: "store.closed_to_others",
    detail: { mode: (info.mode & 0o777).toString(8), now: fileMode.toString(8) },
  });
}

/** Type of the file system that holds `path`, if Linux tells. Elsewhere unknown: locks are then trusted. */
function fileSystemOf(path: string, mounts: string): string | undefined {
  let best = "";
  let type: string | undefined;
  for (const line of mounts.split("\n")) {
    const [before = "", after = ""] = line.split(" - ");
    const point = (before.split(" ")[4] ?? "").replaceAll("\\040", " ");
    const inside = point === "/" || path === point || path.startsWith(`${point}/`);
    // Later mounts cover earlier ones of the same place.
    if (point !== "" && inside && point.length >= best.length) {
      best = point;
      type = after.split(" ")[0];
    }
  }
  return type;
}

/** Refuses a network file system, where locks do not work, unless forced (B132). Best effort. */
export function checkFileSystem(path: string, mounts: string, force: boolean): void {
  const type = fileSystemOf(path, mounts);
  if (force || type === undefined || !networkFileSystems.test(type)) return;
  throw unusable(
    path,
    `it is on a network file system (${type}), where locks do not hold; use a local disk or force`,
  );
}

/** Refuses a folder, by its real path, on a network file system. */
export async function refuseNetworkFolder(path: string): Promise<void> {
  checkFileSystem(path, await readMounts(), false);
}

async function readMounts(): Promise<string> {
  try {
    return Deno.build.os === "linux" ? await Deno.readTextFile("/proc/self/mountinfo") : "";
  } catch {
    return "";
  }
}

/** Stands beside a store that is being made: an empty file with it was left by a start that was killed. */
function birthMark(path: string): string {
  return `${path}-birth`;
}

async function createFile(path: string): Promise<void> {
  try {
    // One that is there was left by a start that was killed even before.
    (await Deno.open(birthMark(path), { write: true, create: true, mode: fileMode })).close();
    // Made here so that it never exists with a wider mode; SQLite gives its companions the mode of the file.
    (await Deno.open(path, { write: true, createNew: true, mode: fileMode })).close();
  } catch (error) {
    throw unusable(path, error instanceof Error ? error.message : String(error));
  }
}

async function createFolder(path: string): Promise<void> {
  const cut = path.lastIndexOf("/");
  if (cut <= 0) return;
  try {
    await Deno.mkdir(path.slice(0, cut), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw unusable(path, error instanceof Error ? error.message : String(error));
  }
}

/** Checks the file of a store, or makes it. Refuses what could not be used safely; never changes another's file. */
export async function prepareStoreFile(
  location: string,
  options: KvStoreOptions,
): Promise<PreparedStoreFile> {
  if (location === "" || location.includes("\0")) throw unusable(location, "it is not the name of a file");
  if (!options.mustExist) await createFolder(location);
  const path = await realStorePath(location);
  checkFileSystem(path, await readMounts(), options.force ?? false);
  const info = await statOf(path);
  const isBirth = info === undefined || (await statOf(birthMark(path)))?.size === 0;
  if (info === undefined) {
    if (options.mustExist) {
      throw new StoreError("store_not_found", `Cannot find store "${location}": no such file`);
    }
    await createFile(path);
  } else if (!info.isFile) {
    throw unusable(path, info.isDirectory ? "it is a folder; name a file" : "it is not an ordinary file");
  } else {
    await checkOwner(path, info, options);
    if (info.size > 0 || !isBirth) await checkStoreContent(path, info.size);
  }
  const forget = async () => {
    if (isBirth) await Deno.remove(birthMark(path)).catch(() => {});
  };
  return {
    path,
    protect: async () => {
      await protectCompanions(path);
      await forget();
    },
    discard: async () => {
      if (isBirth && (await statOf(path))?.size === 0) await Deno.remove(path);
      await forget();
    },
  };
}

async function protectCompanions(path: string): Promise<void> {
  if (Deno.build.os === "windows") return;
  for (const companion of [`${path}-wal`, `${path}-shm`]) {
    const info = await statOf(companion);
    if (info?.mode && (info.mode & 0o077) !== 0) await Deno.chmod(companion, fileMode);
  }
}
