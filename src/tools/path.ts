/** Paths as text: what may be looked up at all, before the file system is asked (B54, B57). */
import { type Failure, failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { head, visible } from "./visible.ts";

/** A value, or why there is none. */
export type Checked<T> = { readonly ok: true; readonly value: T } | {
  readonly ok: false;
  readonly failure: Failure;
};

const isWindows = Deno.build.os === "windows";
const separator = isWindows ? "\\" : "/";

/** Longest name of one file or folder, in bytes: what every file system in use here takes. */
const componentBytesMax = 255;

/** Wraps a value. */
export function accept<T>(value: T): Checked<T> {
  return { ok: true, value };
}

/** Wraps a refusal. */
export function refuse(problem: Failure): { readonly ok: false; readonly failure: Failure } {
  return { ok: false, failure: problem };
}

/**
 * The names that lead from the root to `path`; none for the root itself. `..` is taken back by name, so what it means
 * never depends on a link. A percent sign, a trailing dot and a case are what they are. An absolute path is accepted
 * if it leads to the root by one of `roots`, its names.
 */
export function splitPath(path: string, roots: readonly string[]): Checked<readonly string[]> {
  const problem = problemOf(path);
  if (problem !== undefined) {
    return refuse(failure("path_invalid", `Cannot use the path ${shown(path)}: ${problem}`));
  }
  const relative = isAbsolute(path) ? relativeOf(path, roots) : path;
  if (relative === undefined) return refuse(outside(path));
  const names: string[] = [];
  for (const name of relative.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (names.pop() === undefined) return refuse(outside(path));
  }
  return accept(names);
}

function problemOf(path: string): string | undefined {
  if (path.length > limits.pathCharactersMax) {
    return `it is longer than ${limits.pathCharactersMax} characters`;
  }
  if (path.includes("\0")) return "it contains a NUL character";
  if (/\p{Cs}/u.test(path)) return "it contains half of a character";
  const names = path.split("/");
  if (names.length > limits.pathComponentsMax) return `it has more than ${limits.pathComponentsMax} parts`;
  const encoder = new TextEncoder();
  if (names.some((name) => encoder.encode(name).length > componentBytesMax)) {
    return `one of its parts is longer than ${componentBytesMax} bytes`;
  }
  if (!isWindows) return undefined;
  // Windows reads these as another separator, a drive or a stream, and drops the dots and spaces at an end.
  if (/[\\:]/.test(path)) return "it contains a backslash or a colon; use / between parts";
  return names.some((name) => /[^.][. ]$/.test(name))
    ? "one of its parts ends in a dot or a space"
    : undefined;
}

function isAbsolute(path: string): boolean {
  return path.startsWith("/");
}

function relativeOf(path: string, roots: readonly string[]): string | undefined {
  const root = roots.find((one) => isInside(one, path));
  return root === undefined ? undefined : componentsOf(path).slice(componentsOf(root).length).join("/");
}

function componentsOf(path: string): readonly string[] {
  return path.split(separator).filter((name) => name !== "");
}

/** True if `path` is `root` or below it. Compared part by part: `/ws-evil` is not inside `/ws` (B54). */
export function isInside(root: string, path: string): boolean {
  const names = componentsOf(path);
  return componentsOf(root).every((name, index) => names[index] === name);
}

/** The path of `names` below `root`. */
export function join(root: string, names: readonly string[]): string {
  const base = root.endsWith(separator) ? root.slice(0, -1) : root;
  return names.length === 0 ? root : base + separator + names.join(separator);
}

/** The refusal of a path that leads outside. */
export function outside(path: string): Failure {
  return failure(
    "path_outside_root",
    `Cannot open ${shown(path)}: it is outside the workspace; use a path inside it, relative to its root`,
  );
}

/** A path for messages: visible, short, and never absolute. */
export function shown(path: string): string {
  const short = isAbsolute(path) ? `…/${path.split("/").findLast((name) => name !== "") ?? ""}` : path;
  return `"${head(visible(short), 200)}"`;
}
