/** What the folders are called, and words that must not be left in any file. */
import { type Findings, lineAt, type Tree } from "./tree.ts";

const topLevel = new Set([
  ...["actors", "schemas", "src", "tests"],
  ...["ARCHITECTURE.md", "LICENSE", "README.md", "deno.json", "deno.lock", "main.ts"],
]);

const emptyNames = /^(?:utils?|helpers?|common|core|types?)$/;

// Joined here, so that this file does not hold what it looks for.
const bannedWords: readonly RegExp[] = [
  new RegExp(`\\b(?:${["TO" + "DO", "FIX" + "ME"].join("|")})\\b`, "g"),
  new RegExp(
    ["registry" + "\\.npmjs", "registry" + "\\.yarnpkg", "jsr" + "\\.io", "deb" + "\\.debian"].join("|"),
    "g",
  ),
  new RegExp(
    ["/wo" + "rk/", "/fa" + "rm/", "/ro" + "ot/"].map((path) => `(?<![\\w.])${path}`).join("|"),
    "g",
  ),
];

/** Things at the top that do not belong there; names that begin with a dot are free. */
export function checkTopLevel(tree: Tree): Findings {
  const names = new Set([...tree.keys()].map((path) => path.split("/")[0] ?? ""));
  return [...names]
    .filter((name) => !name.startsWith(".") && !topLevel.has(name))
    .map((name) => `${name}: does not belong at the top; put it into the folder whose verb it is`);
}

/** Folders whose name says nothing. */
export function checkFolderNames(tree: Tree): Findings {
  const folders = new Set(
    [...tree.keys()].flatMap((path) => {
      const steps = path.split("/").slice(0, -1);
      return steps.map((_, index) => steps.slice(0, index + 1).join("/"));
    }),
  );
  return [...folders]
    .filter((folder) => emptyNames.test(folder.split("/").at(-1) ?? ""))
    .map((folder) => `${folder}: the name says nothing; name the folder after its noun or verb`);
}

/** Notes to oneself, package registries' hosts, and paths of one machine. */
export function checkBannedWords(tree: Tree): Findings {
  return [...tree].flatMap(([path, text]) =>
    bannedWords.flatMap((word) =>
      [...text.matchAll(word)].map((match) =>
        `${path}:${lineAt(text, match.index)}: ${match[0]} must not stay here`
      )
    )
  );
}
