/** What a server that is a process finds in its environment: what every program needs, and what its manifest gives. */
import type { ReadVariable } from "./variables.ts";

/** Variables of ours that every server gets, if they are set: nothing else is inherited. */
const inherited = [
  "PATH",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TERM",
  "COLORTERM",
  "TMPDIR",
  "TMP",
  "TEMP",
  "TZ",
];
/** Windows programs do not start without these. */
const inheritedOnWindows = ["SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT"];
/** Where programs look for what belongs to their user: each server has a folder of its own. */
const ofHome = Deno.build.os === "windows" ? ["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"] : ["HOME"];

/** The environment of a server before its manifest's variables are put in. */
export function baseEnvironment(read: ReadVariable, home: string): { readonly [name: string]: string } {
  const names = Deno.build.os === "windows" ? [...inherited, ...inheritedOnWindows] : inherited;
  const found = names.map((name) => [name, read(name)] as const)
    .filter((pair): pair is readonly [string, string] => pair[1] !== undefined);
  return Object.fromEntries([...found, ...ofHome.map((name) => [name, home] as const)]);
}
