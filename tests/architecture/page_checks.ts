/** Whether ARCHITECTURE.md still tells the truth, and whether rules are cited where they are kept and proved. */
import { type Findings, lineAt, pathsIn, type Tree } from "./tree.ts";

const page = "ARCHITECTURE.md";
const pageLinesMax = 200;

/** K1 to K25 without those for several runtimes (K17) and for forks (K24), which come with their features. */
const kernelRules = Array.from({ length: 25 }, (_, index) => `K${index + 1}`)
  .filter((rule) => rule !== "K17" && rule !== "K24");

const projectPath =
  /^(?:(?:actors|schemas|src|tests|\.ci|\.house)(?:\/[\w.*-]+)*\/?|[\w.-]+\.(?:ts|json|lock|md))$/;

/** The page is there and short enough to be read. */
export function checkPageSize(tree: Tree): Findings {
  const text = tree.get(page);
  if (text === undefined) return [`${page}: is missing; write it`];
  const lines = text.replace(/\n$/, "").split("\n").length;
  return lines > pageLinesMax ? [`${page}: ${lines} lines, at most ${pageLinesMax} are allowed`] : [];
}

/** Every path that the page names in backticks exists. A `*` stands for any part of a name. */
export function checkPagePaths(tree: Tree): Findings {
  const text = tree.get(page) ?? "";
  return [...text.matchAll(/`([^`\n]+)`/g)].flatMap((match) => {
    const path = (match[1] ?? "").trim();
    // A lone file name is a path only at the top; elsewhere it may be any file that is spoken of.
    const isPath = projectPath.test(path) && (path.includes("/") || isAtTop(path));
    if (!isPath || exists(tree, path)) return [];
    return [`${page}:${lineAt(text, match.index)}: names ${path}, which does not exist`];
  });
}

function isAtTop(path: string): boolean {
  return /^(?:main\.ts|deno\.json|deno\.lock|README\.md|actors|schemas|src|tests|\.ci|\.house)$/.test(path);
}

function exists(tree: Tree, path: string): boolean {
  const source = path.replace(/\/$/, "").replaceAll(/[.+?^$()|[\]\\{}]/g, "\\$&").replaceAll("*", "[^/]*");
  const pattern = new RegExp(`^${source}(?:/|$)`);
  const isFolder = path.endsWith("/");
  return [...tree.keys()].some((it) =>
    pattern.test(it) && (!isFolder || !new RegExp(`^${source}$`).test(it))
  );
}

/** The numbers of the invariants that the page lists, as items of a list or rows of a table. */
export function invariantsOf(tree: Tree): readonly string[] {
  const lines = (tree.get(page) ?? "").matchAll(/^\s*(?:[-*|]|\d+\.)\s*\**`?(I\d+)\b/gm);
  return [...new Set([...lines].map((match) => match[1] ?? ""))];
}

/** Every invariant of the page is carried by a test. */
export function checkInvariants(tree: Tree): Findings {
  const invariants = invariantsOf(tree);
  if (tree.has(page) && invariants.length === 0) {
    return [`${page}: lists no invariant (a line such as "- I1: …")`];
  }
  const proofs = textOf(tree, proofPaths(tree));
  return invariants
    .filter((invariant) => !hasWord(proofs, invariant))
    .map((invariant) => `${page}: ${invariant} is in no test; name it in the test that proves it`);
}

/** Every kernel rule is cited by the code that keeps it and by a test that proves it. */
export function checkKernelRules(tree: Tree): Findings {
  const code = textOf(tree, pathsIn(tree, ["schemas/", "actors/", "src/"]));
  const proofs = textOf(tree, proofPaths(tree));
  return kernelRules.flatMap((rule) => [
    ...(hasWord(code, rule) ? [] : [`${rule}: cited nowhere in schemas/, actors/ or src/`]),
    ...(hasWord(proofs, rule) ? [] : [`${rule}: cited in no test`]),
  ]);
}

/** Tests, without this one: it plants numbers to see whether they are looked for. */
function proofPaths(tree: Tree): readonly string[] {
  return pathsIn(tree, ["tests/"]).filter((path) =>
    path.endsWith(".ts") && !path.startsWith("tests/architecture")
  );
}

function textOf(tree: Tree, paths: readonly string[]): string {
  return paths.map((path) => tree.get(path) ?? "").join("\n");
}

function hasWord(text: string, word: string): boolean {
  return new RegExp(`\\b${word}\\b`).test(text);
}
