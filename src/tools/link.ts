/** Links that lead nowhere: where they would lead. */
import { isInside, join } from "./path.ts";

/** Links followed by hand before we give up; more than any file system follows itself. */
const hopsMax = 64;

/** True if the path of `names` below `root` leads outside by links, whether or not anything is there (B55). */
export async function leadsOutside(root: string, names: readonly string[]): Promise<boolean> {
  let at = root;
  const waiting = [...names];
  for (let hops = 0; hops < hopsMax;) {
    const name = waiting.shift();
    if (name === undefined) break;
    if (name === "" || name === ".") continue;
    if (name === "..") {
      at = at.slice(0, at.lastIndexOf("/")) || "/";
      continue;
    }
    const next = join(at, [name]);
    const target = await targetOf(next);
    if (target === undefined) {
      at = next;
      continue;
    }
    hops++;
    if (target.startsWith("/")) at = "/";
    waiting.unshift(...target.split("/"));
  }
  return !isInside(root, at);
}

/** Where the link at `path` points; undefined if there is no link. */
async function targetOf(path: string): Promise<string | undefined> {
  try {
    return (await Deno.lstat(path)).isSymlink ? await Deno.readLink(path) : undefined;
  } catch {
    return undefined;
  }
}
