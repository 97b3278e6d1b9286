/** Whether the code is still built as we say: the real tree first, then each violation planted and found. */
import assert from "node:assert/strict";
import { checkArrows, checkReserved, checkSizes } from "./architecture/code_checks.ts";
import {
  checkInvariants,
  checkKernelRules,
  checkPagePaths,
  checkPageSize,
  invariantsOf,
} from "./architecture/page_checks.ts";
import { blankNonCode, functionsOf, importsOf } from "./architecture/source.ts";
import { type Findings, readTree, type Tree } from "./architecture/tree.ts";
import { checkBannedWords, checkFolderNames, checkTopLevel } from "./architecture/tree_checks.ts";

const project = await readTree(new URL("../", import.meta.url));

const claims: readonly (readonly [claim: string, check: (tree: Tree) => Findings])[] = [
  ["architecture keeps its arrows", checkArrows],
  ["architecture lets time, chance and the outside in through few files", checkReserved],
  ["architecture keeps files and functions short", checkSizes],
  ["architecture has nothing at the top that does not belong there", checkTopLevel],
  ["architecture has no folder whose name says nothing", checkFolderNames],
  ["architecture leaves no banned word behind", checkBannedWords],
  ["architecture page can be read in one go", checkPageSize],
  ["architecture page names only paths that exist", checkPagePaths],
  ["architecture page lists only invariants that a test carries", checkInvariants],
  ["architecture cites every kernel rule in code and in a test", checkKernelRules],
];

for (const [claim, check] of claims) {
  Deno.test(claim, () => assert.deepEqual(check(project), []));
}

Deno.test("architecture test reads the whole tree", () => {
  for (const path of ["deno.json", ".house/lint_plugin.ts", "src/yaml.ts", "tests/architecture_test.ts"]) {
    assert.ok(project.has(path), path);
  }
});

/** How many findings a check has for one planted file, or several. */
function count(check: (tree: Tree) => Findings, ...files: readonly (readonly [string, string])[]): number {
  return check(new Map(files)).length;
}

Deno.test("architecture test finds imports against the arrows", () => {
  const bad: readonly (readonly [string, string])[] = [
    ["actors/turn.ts", 'import { openStore } from "../src/journal/store.ts";'],
    ["actors/turn.ts", 'import type { Store } from "../src/journal/store.ts";'],
    ["actors/turn.ts", 'import { z } from "zod";'],
    ["actors/policy/risk.ts", 'export * from "../../tests/support/world.ts";'],
    ["schemas/ids.ts", 'import { port } from "../actors/port.ts";'],
    ["schemas/ids.ts", 'import assert from "node:assert/strict";'],
    ["src/runtime.ts", 'import { world } from "../tests/support/world.ts";'],
    ["src/cli/run.ts", 'import "../../main.ts";'],
    ["src/cli/run.ts", 'const main = await import("../../main.ts");'],
    ["src/config.ts", 'import { parse } from "@std/yaml";'],
    ["src/config.ts", "import { load } from 'js-yaml';"],
    ["src/config.ts", 'import fc from "fast-check";'],
    ["src/config.ts", 'import { z } from "npm:zod";'],
  ];
  for (const file of bad) assert.equal(count(checkArrows, file), 1, file.join(": "));
  const good: readonly (readonly [string, string])[] = [
    [
      "actors/turn.ts",
      'import { setup } from "xstate";\nimport type { A } from "../schemas/a.ts";\nimport "./b.ts";',
    ],
    ["schemas/ids.ts", 'import { z } from "zod";\nimport { limits } from "./limits.ts";'],
    ["src/yaml.ts", 'import { parse } from "@std/yaml";'],
    ["tests/e2e/cli_test.ts", 'import { main } from "../../main.ts";'],
    ["actors/turn.ts", '// import x from "../src/a.ts";\nexport const text = `import x from "../src/a.ts"`;'],
    ["src/templates/agent.ts", 'export const text = `import x from "../../main.ts";\\n`;'],
  ];
  for (const file of good) assert.equal(count(checkArrows, file), 0, file.join(": "));
});

Deno.test("architecture test finds ambient use outside the seams", () => {
  const bad = [
    "const at = Date.now();",
    "const now = globalThis.Date.now;",
    "const at = new Date();",
    "const at = performance.now();",
    "const chance = Math.random();",
    "const id = crypto.randomUUID();",
    "setTimeout(run, 1);",
    "setInterval (run, 1);",
    'console.log("x");',
    "const signal = AbortSignal.timeout(1);",
    "const text = `at ${Date.now()}`;",
    'await fetch("x");',
    "new WebSocket(url);",
    "await Deno.connect({ port });",
    "Deno.serve(answer);",
    "new Deno.Command(file);",
  ];
  for (const source of bad) assert.equal(count(checkReserved, ["src/kernel/crank.ts", source]), 1, source);
  const good = [
    "const at = clock.now();",
    "const at = new Date(ms);",
    "client.fetch(url);",
    "// Date.now()",
    'const text = "Date.now()" + \'fetch("x")\' + `console.log(1) ${"Math.random"}`;',
    "const pattern = /Date.now()[/]/;",
    "const half = size / 2 / Number(1);",
  ];
  for (const source of good) assert.equal(count(checkReserved, ["src/kernel/crank.ts", source]), 0, source);
  assert.equal(count(checkReserved, ["src/seams.ts", "Date.now();"], ["src/mcp/http.ts", 'fetch("x");']), 0);
  assert.equal(count(checkReserved, ["src/seams.ts", 'fetch("x");'], ["src/mcp/http.ts", "Date.now();"]), 2);
  assert.equal(count(checkReserved, ["tests/tour_test.ts", "Date.now();"], ["main.ts", "Date.now();"]), 1);
});

function lines(amount: number, line: string): string {
  return Array.from({ length: amount }, () => line).join("\n");
}

Deno.test("architecture test finds files and functions that are too long", () => {
  const heads = [
    "export function run(a: number): void {",
    "async function run({ a, b }: { a: number; b: string }): Promise<{ c: number }> {",
    "const run = () => {",
    "list.forEach((it) => {",
    "class A {\n  run(a: number): void {",
    "export const table = {\n  run() {",
    "export const table = {\n  go() {\n    if (a) b();\n  },\n  run(a: number) {",
    "function run<A, B>(\n  a: A,\n): B {",
    "if (a) { b(); } else { c(); }\nfunction run() {",
  ];
  for (const head of heads) {
    const tail = head.startsWith("class") || head.includes("table")
      ? "}\n}"
      : head.startsWith("list")
      ? "});"
      : "}";
    assert.equal(count(checkSizes, ["src/a.ts", `${head}\n${lines(70, "  go();")}\n${tail}`]), 1, head);
    assert.equal(count(checkSizes, ["src/a.ts", `${head}\n${lines(60, "  go();")}\n${tail}`]), 0, head);
    assert.equal(count(checkSizes, ["tests/a.ts", `${head}\n${lines(70, "  go();")}\n${tail}`]), 0, head);
  }
  for (
    const head of ["export const machine = setup({ a }).createMachine({", "export interface A {", "if (a) {"]
  ) {
    const tail = head.endsWith("({") ? "});" : "}";
    assert.equal(count(checkSizes, ["src/a.ts", `${head}\n${lines(80, "  // Long.")}\n${tail}`]), 0, head);
  }
  assert.equal(count(checkSizes, ["schemas/a.ts", lines(301, "// Long.")]), 1);
  assert.equal(count(checkSizes, ["schemas/a.ts", `${lines(300, "// Long.")}\n`]), 0);
});

Deno.test("architecture test finds names that do not belong", () => {
  assert.equal(
    count(checkTopLevel, ["notes.md", ""], ["lib/a.ts", ""], [".ci/run", ""], ["src/a.ts", ""]),
    2,
  );
  for (const name of ["utils", "util", "helpers", "common", "core", "types"]) {
    assert.equal(count(checkFolderNames, [`src/${name}/a.ts`, ""], [`${name}/b/c.ts`, ""]), 2, name);
  }
  assert.equal(count(checkFolderNames, ["src/types.ts", ""], ["src/kernel/core_dump.ts", ""]), 0);
});

Deno.test("architecture test finds banned words", () => {
  const words = ["TO" + "DO", "FIX" + "ME", "registry" + ".npmjs.org", "deb" + ".debian.org"];
  const paths = ["/wo" + "rk/main", "/fa" + "rm/x", "/ro" + "ot/.cache"];
  for (const word of [...words, ...paths]) {
    assert.equal(count(checkBannedWords, ["README.md", `a "${word}" b`]), 1, word);
  }
  const good = ["a todo list", "src/net" + "wo" + "rk/a.ts", "registry of servers"];
  for (const text of good) assert.equal(count(checkBannedWords, ["README.md", text]), 0, text);
});

Deno.test("architecture test finds what the page says and is not so", () => {
  const files: readonly (readonly [string, string])[] = [
    ["main.ts", ""],
    ["src/kernel/crank.ts", ""],
    ["tests/unit/turn_test.ts", "// I1: written before acted on"],
  ];
  function page(text: string, check: (tree: Tree) => Findings): number {
    return count(check, ...files, ["ARCHITECTURE.md", text]);
  }
  assert.equal(count(checkPageSize, ...files), 1);
  assert.equal(page(lines(201, "x"), checkPageSize), 1);
  assert.equal(page(`${lines(200, "x")}\n`, checkPageSize), 0);
  const good =
    "`main.ts` `src/kernel/` `src/kernel` `src/*/crank.ts` `tests/unit/*_test.ts` `a/b` `npm test` `x.ts`";
  assert.equal(page(good, checkPagePaths), 0);
  for (
    const path of ["src/kernel/gone.ts", "src/gone/", "src/main.ts/", "deno.json", "src/kernel/crank.ts/"]
  ) {
    assert.equal(page(`\`${path}\``, checkPagePaths), 1, path);
  }
  assert.deepEqual(
    invariantsOf(new Map([["ARCHITECTURE.md", "- **I1** a\n| I2 | b |\n* I3: c\nsee I4\n"]])),
    [
      "I1",
      "I2",
      "I3",
    ],
  );
  assert.equal(page("- I1: first\n| I2 | second |\n", checkInvariants), 1);
  assert.equal(page("No list.", checkInvariants), 1);
  assert.equal(page("- I1: first", checkInvariants), 0);
});

Deno.test("architecture test finds kernel rules that code or tests do not cite", () => {
  const rules = Array.from({ length: 25 }, (_, index) => `K${index + 1}`).filter((it) =>
    it !== "K17" && it !== "K24"
  );
  const cited = `// ${rules.join(", ")}`;
  const code: readonly [string, string] = ["src/kernel/crank.ts", cited];
  const proof: readonly [string, string] = ["tests/unit/crank_test.ts", cited];
  assert.equal(count(checkKernelRules, code, proof), 0);
  assert.equal(count(checkKernelRules, code, ["tests/architecture_test.ts", cited]), rules.length);
  assert.equal(count(checkKernelRules, ["actors/port.ts", cited.replace("K2,", "K20,")], proof), 1);
});

Deno.test("architecture test tells code from what only looks like it", () => {
  const source = 'a("x // y"); // z\nb(`t ${c({ d: "e" })} f`); /* g\nh */ i(/[/"]j/.test(k));';
  const code = blankNonCode(source);
  assert.equal(code.length, source.length);
  assert.equal(code.replaceAll(/ +/g, " "), 'a(" "); \nb(` ${c({ d: " " })} `); \n i(/ /.test(k));');
  assert.deepEqual(
    importsOf('import a, { b } from "./c.ts";\nexport * from "d";').map((it) => it.specifier),
    [
      "./c.ts",
      "d",
    ],
  );
  assert.deepEqual(functionsOf("\nfunction a() {\n  b();\n}\n"), [{ firstLine: 2, lines: 3 }]);
});
