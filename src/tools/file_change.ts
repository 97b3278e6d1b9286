/**
 * Changes one file of a folder, as a whole or not at all. Nothing outside the root is made or changed, whatever links
 * and races there are (B55, B56, B59): the new content is written beside the file and takes its name, through the open
 * folder where the system lets us.
 */
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { isSameFile } from "./descriptor.ts";
import { leadsOutside } from "./link.ts";
import { OpenFolder } from "./open_folder.ts";
import { accept, type Checked, isInside, join, outside, refuse, shown } from "./path.ts";
import { protectionOf } from "./protected_path.ts";

/** What a change did. */
export interface FileChange {
  /** True if there was no such file before. */
  readonly isNew: boolean;
  /** Size of the file now, in bytes. */
  readonly bytes: number;
}

/** A file that is to be changed. */
export interface FileOrder {
  readonly root: string;
  /** The names that lead to it from the root. */
  readonly names: readonly string[];
  /** The path as it was given, for messages. */
  readonly path: string;
  /** The new content, from what is there; undefined if nothing is. */
  readonly change: (before: Uint8Array | undefined) => Checked<Uint8Array>;
}

/** Times that a file which was changed under our hands is looked at again. */
const triesMax = 3;
const temporaryPrefix = ".troupe-write-";
const newFileMode = 0o644;

type Attempt = Checked<FileChange> | { readonly ok: "replaced" };
const replaced = { ok: "replaced" } as const;

/** Changes a file, or makes it; folders on the way to it are made too. */
export async function changeFile(order: FileOrder): Promise<Checked<FileChange>> {
  const { names, path } = order;
  if (names.length === 0) {
    return refuse(failure("path_not_file", `Cannot write ${shown(path)}: it is the workspace itself`));
  }
  const protection = protectionOf(names, path);
  if (protection !== undefined) return refuse(protection);
  for (let attempt = 0; attempt < triesMax; attempt++) {
    try {
      const result = await attemptChange(order);
      if (result.ok !== "replaced") return result;
    } catch (error) {
      if (await leadsOutside(order.root, names)) return refuse(outside(path));
      return refuse(explain(error, path));
    }
  }
  return refuse(
    failure(
      "file_not_written",
      `Cannot write ${shown(path)}: it is being changed by somebody else; read it again`,
    ),
  );
}

async function attemptChange(order: FileOrder): Promise<Attempt> {
  const place = await placeOf(order);
  if (!("folder" in place)) return place;
  const protection = protectionOf([
    ...place.folder.slice(order.root.length).split("/"),
    ...place.missing,
    place.name,
  ], order.path);
  if (protection !== undefined) return refuse(protection);
  let folder = await OpenFolder.open(place.folder);
  if (folder === undefined) return replaced;
  try {
    for (const name of place.missing) {
      const inner: OpenFolder | undefined = await folder.make(name);
      folder.close();
      if (inner === undefined) return replaced;
      folder = inner;
    }
    return await changeIn(folder, place.name, order);
  } finally {
    folder.close();
  }
}

interface Place {
  /** The folder that exists, as it really is. */
  readonly folder: string;
  /** Folders below it that do not exist yet. */
  readonly missing: readonly string[];
  readonly name: string;
}

/** Where a file really is, or would be. */
async function placeOf({ root, names, path }: FileOrder): Promise<Place | Checked<never>> {
  for (let known = names.length; known >= 0; known--) {
    const at = join(root, names.slice(0, known));
    const real = await realPathOf(at);
    if (real === undefined) {
      // A link that leads nowhere is no place to write through (B55).
      if (await isThere(at)) {
        return refuse(
          await leadsOutside(root, names) ? outside(path) : failure(
            "path_not_found",
            `Cannot write ${shown(path)}: a link on the way leads nowhere`,
          ),
        );
      }
      continue;
    }
    if (!isInside(root, real)) return refuse(outside(path));
    const cut = known === names.length ? real.lastIndexOf("/") : real.length;
    const rest = known === names.length ? [real.slice(cut + 1)] : names.slice(known);
    return { folder: real.slice(0, cut) || "/", missing: rest.slice(0, -1), name: rest.at(-1) ?? "" };
  }
  return refuse(failure("path_not_found", `Cannot write ${shown(path)}: the workspace is gone`));
}

async function realPathOf(path: string): Promise<string | undefined> {
  try {
    return await Deno.realPath(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch {
    return false;
  }
}

async function changeIn(folder: OpenFolder, name: string, order: FileOrder): Promise<Attempt> {
  const { path, change } = order;
  const before = await readBefore(folder, name, path);
  if (before === "replaced") return replaced;
  if ("ok" in before) return before;
  const changed = change(before.bytes);
  if (!changed.ok) return changed;
  if (changed.value.length > limits.fileBytesMax) {
    const message = `Cannot write ${shown(path)}: it would have more than ${limits.fileBytesMax} bytes`;
    return refuse(failure("file_too_large", message));
  }
  const temporary = await Deno.makeTempFile({ dir: folder.at("."), prefix: temporaryPrefix });
  const own = folder.at(temporary.slice(temporary.lastIndexOf("/") + 1));
  try {
    await writeWhole(own, changed.value, before.info);
    if (!folder.isInPlace() || !await isAsBefore(folder.at(name), before.info)) return replaced;
    if (before.info === undefined) await Deno.link(own, folder.at(name));
    else await Deno.rename(own, folder.at(name));
    await folder.sync();
    return accept({ isNew: before.info === undefined, bytes: changed.value.length });
  } catch (error) {
    if (before.info === undefined && error instanceof Deno.errors.AlreadyExists) return replaced;
    throw error;
  } finally {
    await Deno.remove(own).catch(() => {});
  }
}

type Before = { readonly bytes: Uint8Array | undefined; readonly info: Deno.FileInfo | undefined };

async function readBefore(
  folder: OpenFolder,
  name: string,
  path: string,
): Promise<Before | "replaced" | { readonly ok: false; readonly failure: ReturnType<typeof failure> }> {
  const at = folder.at(name);
  let info: Deno.FileInfo;
  try {
    info = await Deno.lstat(at);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { bytes: undefined, info: undefined };
    throw error;
  }
  if (info.isSymlink) return "replaced";
  if (!info.isFile) {
    const what = info.isDirectory ? "it is a folder" : "it is a device, a pipe or a socket";
    return refuse(failure("path_not_file", `Cannot write ${shown(path)}: ${what}`));
  }
  if (info.size > limits.fileBytesMax) {
    const message = `Cannot write ${
      shown(path)
    }: it has ${info.size} bytes, at most ${limits.fileBytesMax} are changed`;
    return refuse(failure("file_too_large", message));
  }
  using file = await Deno.open(at, { read: true });
  if (!isSameFile(info, await file.stat())) return "replaced";
  return { bytes: new Uint8Array(await new Response(file.readable).arrayBuffer()), info };
}

async function writeWhole(path: string, bytes: Uint8Array, before: Deno.FileInfo | undefined): Promise<void> {
  const file = await Deno.open(path, { write: true });
  try {
    for (let written = 0; written < bytes.length;) written += await file.write(bytes.subarray(written));
    await file.sync();
  } finally {
    file.close();
  }
  if (Deno.build.os === "windows") return;
  await Deno.chmod(
    path,
    before?.mode === undefined || before.mode === null ? newFileMode : before.mode & 0o7777,
  );
  if (before === undefined || before.uid === null || before.gid === null) return;
  // Only who may give files away can keep their owner; for all others it is their own.
  await Deno.chown(path, before.uid, before.gid).catch(() => {});
}

/** True if a file is still the one that was read, or still missing. */
async function isAsBefore(path: string, before: Deno.FileInfo | undefined): Promise<boolean> {
  try {
    const now = await Deno.lstat(path);
    return before !== undefined && isSameFile(now, before) && now.size === before.size &&
      now.mtime?.getTime() === before.mtime?.getTime();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return before === undefined;
    throw error;
  }
}

/** A file system's refusal as a failure. Its own text is not used: it shows absolute paths. */
function explain(error: unknown, path: string) {
  if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
    return failure("path_not_found", `Cannot write ${shown(path)}: a part of its path is no folder`);
  }
  if (error instanceof Deno.errors.FilesystemLoop) {
    return failure("path_invalid", `Cannot write ${shown(path)}: its links lead in a circle`);
  }
  const why = error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotCapable
    ? "it may not be written here"
    : "the file system refused; look whether the disk is full";
  return failure("file_not_written", `Cannot write ${shown(path)}: ${why}`);
}
