/** What a child finds in its environment before anything is added: what every program needs, and nothing of ours (DM-83). */
import type { ReadVariable } from "./variables.ts";

/** Variables of ours that every child gets, if they are set: nothing else is inherited. */
const inherited = "PATH LANG LC_ALL LC_CTYPE TERM COLORTERM TMPDIR TMP TEMP TZ".split(" ");
/** Windows programs do not start without these. */
const inheritedOnWindows = ["SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT"];
/** Where programs look for what belongs to their user: a folder of their own. */
const ofHome = Deno.build.os === "windows" ? ["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"] : ["HOME"];

/** The environment of a child before variables are put in: those of a server's manifest, or of a command. */
export function baseEnvironment(read: ReadVariable, home: string): { readonly [name: string]: string } {
  const names = Deno.build.os === "windows" ? [...inherited, ...inheritedOnWindows] : inherited;
  const found = names.map((name) => [name, read(name)] as const)
    .filter((pair): pair is readonly [string, string] => pair[1] !== undefined);
  return Object.fromEntries([...found, ...ofHome.map((name) => [name, home] as const)]);
}
