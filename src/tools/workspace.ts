/**
 * The path guard: the only way in which tools reach files. Keeps three promises: nothing outside the root is read,
 * whatever links and races there are (B54..B57); nothing but files and folders is opened; no read is without a bound.
 */
import { type Failure, failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { descriptorOf, hasDescriptors, isSameFile } from "./descriptor.ts";
import { changeFile, type FileChange } from "./file_change.ts";
import { leadsOutside } from "./link.ts";
import { accept, type Checked, isInside, join, outside, refuse, shown, splitPath } from "./path.ts";

/** What is found in a folder. `other` is a device, a pipe or a socket. */
export type FolderEntryKind = "file" | "folder" | "link" | "other";

/** One name in a folder. */
export interface FolderEntry {
  readonly name: string;
  readonly kind: FolderEntryKind;
}

/** A file that was read as a whole, up to the size that it had when it was opened. */
export interface FileRead {
  readonly bytes: Uint8Array;
  /** True if the file was longer at the end of the read than at its beginning; the rest was not read. */
  readonly grew: boolean;
}

/** A text that was read as a whole. */
export interface TextRead {
  readonly text: string;
  readonly grew: boolean;
}

/** A folder behind its guard. Paths are relative to its root, with `/` between the parts. */
export interface Workspace {
  /** The plain form of `path`: relative to the root, without `.` and `..`; "" for the root. Touches no file. */
  relative(path: string): Checked<string>;
  /** Reads a file. Refuses what is outside, no plain file, or larger than `bytesMax`. */
  readFile(path: string, bytesMax?: number): Promise<Checked<FileRead>>;
  /** Reads a file that must be UTF-8 text. */
  readText(path: string, bytesMax?: number): Promise<Checked<TextRead>>;
  /**
   * Changes a text file as a whole, or makes it, with the folders on the way. `change` is given what is there, undefined
   * if nothing is, and says what is to be there; it may be asked again if the file was changed meanwhile.
   */
  changeText(
    path: string,
    change: (before: string | undefined) => Checked<string>,
  ): Promise<Checked<FileChange>>;
  /** Lists a folder, sorted by name. Does not follow links in it. */
  listFolder(path: string): Promise<Checked<readonly FolderEntry[]>>;
  /** Where a folder really is: an absolute path without links, for programs that work in it. */
  realFolder(path: string): Promise<Checked<string>>;
}

/** Times that a file which was replaced under our hands is looked up again. */
const triesMax = 3;

type Attempt<T> = Checked<T> | { readonly ok: "replaced" };

const replaced = { ok: "replaced" } as const;

/** Opens a workspace. Its root may be a link; it is resolved once, here. Refuses what is no folder. */
export async function openWorkspace(root: string): Promise<Checked<Workspace>> {
  try {
    const real = await Deno.realPath(root);
    if (!(await Deno.stat(real)).isDirectory) {
      return refuse(failure("path_not_folder", "Cannot open the workspace: it is not a folder"));
    }
    return accept(guard(real, root.startsWith("/") ? [real, root] : [real]));
  } catch (error) {
    return refuse(explain(error, "workspace"));
  }
}

function guard(root: string, roots: readonly string[]): Workspace {
  async function readFile(path: string, bytesMax: number = limits.fileBytesMax): Promise<Checked<FileRead>> {
    const max = Math.min(bytesMax, limits.fileBytesMax);
    return await lookUp(
      path,
      (real) => openFile(real, path, (file, size) => readBytes(file, size, { path, max })),
    );
  }
  async function readText(path: string, bytesMax?: number): Promise<Checked<TextRead>> {
    const read = await readFile(path, bytesMax);
    if (!read.ok) return read;
    const text = textOf(read.value.bytes);
    if (text !== undefined) return accept({ text, grew: read.value.grew });
    return refuse(notText(path));
  }
  async function changeText(
    path: string,
    change: (before: string | undefined) => Checked<string>,
  ): Promise<Checked<FileChange>> {
    const names = splitPath(path, roots);
    if (!names.ok) return names;
    return await changeFile({
      root,
      names: names.value,
      path,
      change: (bytes) => {
        const before = bytes === undefined ? undefined : textOf(bytes);
        if (bytes !== undefined && before === undefined) return refuse(notText(path));
        const changed = change(before);
        return changed.ok ? accept(new TextEncoder().encode(changed.value)) : changed;
      },
    });
  }
  /** Resolves `path`, hands its real place to `open`, and starts anew if the file was replaced meanwhile. */
  async function lookUp<T>(path: string, open: (real: string) => Promise<Attempt<T>>): Promise<Checked<T>> {
    const names = splitPath(path, roots);
    if (!names.ok) return names;
    for (let attempt = 0; attempt < triesMax; attempt++) {
      try {
        const real = await Deno.realPath(join(root, names.value));
        if (!isInside(root, real)) return refuse(outside(path));
        const result = await open(real);
        if (result.ok !== "replaced") return result;
      } catch (error) {
        // A link that leads nowhere outside is refused like one that leads somewhere: nobody learns what exists there.
        if (await leadsOutside(root, names.value)) return refuse(outside(path));
        return refuse(explain(error, path));
      }
    }
    const message = `Cannot open ${shown(path)}: it is being replaced all the time; try again later`;
    return refuse(failure("path_invalid", message));
  }
  return {
    relative: (path) => {
      const names = splitPath(path, roots);
      return names.ok ? accept(names.value.join("/")) : names;
    },
    readFile,
    readText,
    changeText,
    listFolder: (path) => lookUp(path, (real) => openFolder(real, path)),
    realFolder: (path) => lookUp(path, (real) => checkFolder(real, path)),
  };
}

/**
 * Opens the file at a checked place and reads it, if what was opened is what was checked. A pipe in its place would
 * block the open, so the kind is looked at before as well.
 */
async function openFile<T>(
  real: string,
  path: string,
  read: (file: Deno.FsFile, size: number) => Promise<Checked<T>>,
): Promise<Attempt<T>> {
  const checked = await Deno.lstat(real);
  if (checked.isSymlink) return replaced;
  if (!checked.isFile) return refuse(notFile(path, checked.isDirectory));
  using file = await Deno.open(real, { read: true });
  const opened = await file.stat();
  if (!opened.isFile || !isSameFile(checked, opened) || !(await isAt(real, opened))) return replaced;
  return await read(file, opened.size);
}

/**
 * Lists the folder at a checked place. On Linux the names are read through the open descriptor, in the same breath as
 * its place is checked; elsewhere the place is checked before and after.
 */
async function openFolder(real: string, path: string): Promise<Attempt<readonly FolderEntry[]>> {
  const checked = await Deno.lstat(real);
  if (checked.isSymlink) return replaced;
  if (!checked.isDirectory) {
    return refuse(
      failure("path_not_folder", `Cannot list ${shown(path)}: it is not a folder; read it instead`),
    );
  }
  if (!hasDescriptors()) {
    const entries = [...Deno.readDirSync(real)];
    return await isAt(real, checked) ? accept(sorted(entries)) : replaced;
  }
  using folder = await Deno.open(real, { read: true });
  const opened = await folder.stat();
  const descriptor = isSameFile(checked, opened) ? descriptorOf(real, opened) : undefined;
  return descriptor === undefined ? replaced : accept(sorted([...Deno.readDirSync(descriptor)]));
}

async function checkFolder(real: string, path: string): Promise<Attempt<string>> {
  const { isDirectory, isSymlink } = await Deno.lstat(real);
  if (isSymlink) return replaced;
  return isDirectory
    ? accept(real)
    : refuse(failure("path_not_folder", `Cannot work in ${shown(path)}: it is not a folder`));
}

/** True if the open file is the one at `real`, a place inside the root. */
async function isAt(real: string, opened: Deno.FileInfo): Promise<boolean> {
  if (hasDescriptors()) return descriptorOf(real, opened) !== undefined;
  // Without descriptors to look at, a swap could fall between any two looks: so we look more than once.
  for (let look = 0; look < triesMax; look++) {
    if (await Deno.realPath(real) !== real || !isSameFile(await Deno.lstat(real), opened)) return false;
  }
  return true;
}

/** Reads what the file held when it was opened, so that a file that grows ends (B63). */
async function readBytes(
  file: Deno.FsFile,
  size: number,
  { path, max }: { readonly path: string; readonly max: number },
): Promise<Checked<FileRead>> {
  if (size > max) {
    const message = `Cannot read ${shown(path)}: it has ${size} bytes, at most ${max} are read`;
    return refuse(failure("file_too_large", message));
  }
  const bytes = new Uint8Array(size);
  let filled = 0;
  while (filled < size) {
    const count = await file.read(bytes.subarray(filled));
    if (count === null) break;
    filled += count;
  }
  const grew = (await file.stat()).size > size;
  return accept({ bytes: bytes.subarray(0, filled), grew });
}

function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** By code units: the same order on every machine. */
function sorted(entries: readonly Deno.DirEntry[]): readonly FolderEntry[] {
  return entries
    .map((entry) => ({ name: entry.name, kind: kindOf(entry) }))
    .sort((left, right) => left.name < right.name ? -1 : left.name > right.name ? 1 : 0);
}

function kindOf(entry: Deno.DirEntry): FolderEntryKind {
  if (entry.isSymlink) return "link";
  if (entry.isDirectory) return "folder";
  return entry.isFile ? "file" : "other";
}

function notText(path: string): Failure {
  return failure("file_not_text", `Cannot read ${shown(path)}: it is not UTF-8 text`);
}

function notFile(path: string, isFolder: boolean): Failure {
  const what = isFolder ? "it is a folder; list it instead" : "it is a device, a pipe or a socket";
  return failure("path_not_file", `Cannot read ${shown(path)}: ${what}`);
}

/** A file system's refusal as a failure. Its own text is not used: it shows absolute paths. */
function explain(error: unknown, path: string): Failure {
  if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
    return failure("path_not_found", `Cannot open ${shown(path)}: there is no such file or folder`);
  }
  if (error instanceof Deno.errors.FilesystemLoop) {
    return failure("path_invalid", `Cannot open ${shown(path)}: its links lead in a circle`);
  }
  if (error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotCapable) {
    return failure("path_unreadable", `Cannot open ${shown(path)}: it may not be read`);
  }
  return failure("path_unreadable", `Cannot open ${shown(path)}: the file system refused`);
}
