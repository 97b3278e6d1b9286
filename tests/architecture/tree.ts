/** The files of the project as text. The checks read them and never import them. */

/** Paths below the project, with `/`, and their texts. */
export type Tree = ReadonlyMap<string, string>;

/** What a check found wrong; empty if all is well. */
export type Findings = readonly string[];

/** `.git` is a file in a working copy beside another one. */
const skipped = new Set([".git", ".troupe", ".coverage", "coverage", "dist", "node_modules"]);

/** Reads every text file below a folder; what is made and not written is left out. */
export async function readTree(root: URL, below = ""): Promise<Tree> {
  const tree = new Map<string, string>();
  for await (const { name, isDirectory, isFile } of Deno.readDir(new URL(below, root))) {
    if (isDirectory && !skipped.has(name)) {
      const inner = await readTree(root, `${below}${encodeURIComponent(name)}/`);
      for (const [path, text] of inner) tree.set(`${name}/${path}`, text);
    }
    if (!isFile || skipped.has(name)) continue;
    const text = await Deno.readTextFile(new URL(below + encodeURIComponent(name), root));
    if (!text.includes("\0")) tree.set(name, text);
  }
  return tree;
}

/** The paths that lie in one of some folders (which end in `/`) or are one of some files. */
export function pathsIn(tree: Tree, places: readonly string[]): readonly string[] {
  return [...tree.keys()].filter((path) => liesIn(path, places)).sort();
}

/** Whether a path lies in one of some folders (which end in `/`) or is one of some files. */
export function liesIn(path: string, places: readonly string[]): boolean {
  return places.some((place) => place.endsWith("/") ? path.startsWith(place) : path === place);
}

/** Everything that runs in production. */
export const runtimePlaces = ["schemas/", "actors/", "src/", "main.ts"];

/** Line of an offset, counted from 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
