/** The count of requirements is itself checked: what counts as named, what does not, and what is a typo. */
import assert from "node:assert/strict";
import {
  asRanges,
  coverageOf,
  idsIn,
  type Mention,
  mentionsOf,
  readIds,
  report,
} from "../../.house/requirement_coverage.ts";

const root = new URL("../../", import.meta.url);

function idsOf(text: string): readonly string[] {
  return idsIn(text).map((it) => it.id);
}

// The families of these texts are made up, so that this file names nothing that it does not prove.
Deno.test("requirement coverage writes out ranges and lists", () => {
  const cases: readonly (readonly [text: string, ids: readonly string[]])[] = [
    ["XY-7", ["XY-7"]],
    ["(XY-7, XZ-8)", ["XY-7", "XZ-8"]],
    ["XY-109..111", ["XY-109", "XY-110", "XY-111"]],
    ["XY-9..XY-11:", ["XY-9", "XY-10", "XY-11"]],
    ["XY-4 to XY-6 and XZ-1", ["XY-4", "XY-5", "XY-6", "XZ-1"]],
    ["XY-12, 13", ["XY-12", "XY-13"]],
    ["(XY-12, 13)", ["XY-12", "XY-13"]],
    ["XY-1, 2 and 5, XZ-1, 8..10, 12: all", [
      ...["XY-1", "XY-2", "XY-5"],
      ...["XZ-1", "XZ-8", "XZ-9", "XZ-10", "XZ-12"],
    ]],
    ["XY-88..90, 92.", ["XY-88", "XY-89", "XY-90", "XY-92"]],
  ];
  for (const [text, ids] of cases) assert.deepEqual(idsOf(text), ids, text);
});

Deno.test("requirement coverage takes no other number for an id", () => {
  const cases: readonly (readonly [text: string, ids: readonly string[]])[] = [
    ["XY-17: 20,000 characters", ["XY-17"]],
    ["XY-17, 20,000 characters", ["XY-17"]],
    ["XY-17, 50 results", ["XY-17"]],
    ["XY-17, 2.5", ["XY-17"]],
    ["XY-17, 4", ["XY-17"]],
    ["XY-17 to 20", ["XY-17"]],
    ["XY-4 to XZ-6", ["XY-4", "XZ-6"]],
    ["UTF-8, SHA-256, B82, K1 to K25, xy-1, AXY-1, XY-1st", []],
  ];
  for (const [text, ids] of cases) assert.deepEqual(idsOf(text), ids, text);
});

Deno.test("requirement coverage leaves a range that makes no sense as it is, so that it is found", () => {
  assert.deepEqual(idsOf("XY-12..9"), ["XY-12..9"]);
  assert.deepEqual(idsOf("XY-1..99999"), ["XY-1..99999"]);
});

function placesOf(path: string, lines: readonly string[]): readonly string[] {
  return mentionsOf(path, lines.join("\n")).map(({ id, place }: Mention) => `${id} ${place}`);
}

Deno.test("requirement coverage counts names of tests, comments directly above, and the head of a test file", () => {
  const lines = [
    "/**",
    " * What holds (XY-1,",
    " * 2).",
    " */",
    'import a from "a";',
    "",
    "// Proves XY-3",
    "// and XY-4.",
    'Deno.test("a claim (XY-5)", () => {});',
    "/* XY-6 */",
    "Deno.test(",
    '  "another (XY-7)",',
    "  () => {},",
    ");",
    'Deno.test({ ignore: false, name: "a third (XY-8)", fn() {} });',
    "for (const it of all) {",
    "  // XY-9",
    "  Deno.test(`${it} holds (XY-10)`, () => {});",
    "}",
    "// XY-11",
    'holds("for every store (XY-12)", () => {});',
    'Deno.test.ignore("not run (XY-13)", () => {});',
  ];
  const found = placesOf("tests/a_test.ts", lines);
  assert.deepEqual(
    [...found].sort(),
    [
      ...["XY-1 tests/a_test.ts:2", "XY-10 tests/a_test.ts:18", "XY-11 tests/a_test.ts:20"],
      ...["XY-12 tests/a_test.ts:21", "XY-2 tests/a_test.ts:2", "XY-3 tests/a_test.ts:7"],
      ...["XY-4 tests/a_test.ts:8", "XY-5 tests/a_test.ts:9", "XY-6 tests/a_test.ts:10"],
      ...["XY-7 tests/a_test.ts:12", "XY-8 tests/a_test.ts:15", "XY-9 tests/a_test.ts:17"],
    ],
  );
});

Deno.test("requirement coverage counts no id that stands elsewhere", () => {
  const lines = [
    'import a from "a";',
    "// XY-1: above a function, not a test.",
    "function play() {}",
    "",
    "// XY-2: a line is free below.",
    "",
    'Deno.test("a claim", () => {',
    "  // XY-3",
    '  call("XY-4");',
    "  const text = `",
    "// XY-5",
    'Deno.test("planted (XY-6)", () => {});',
    "`;",
    '  // Deno.test("XY-7")',
    "}); // XY-8",
    "Deno.test(claim, () => {});",
    'plan.Deno.test("XY-9");',
  ];
  assert.deepEqual(placesOf("tests/a_test.ts", lines), []);
  const helper = ["// XY-1", 'play("XY-2");', "// XY-3", 'Deno.test("made here (XY-4)", play);'];
  assert.deepEqual([...placesOf("tests/support/stage.ts", helper)].sort(), [
    "XY-3 tests/support/stage.ts:3",
    "XY-4 tests/support/stage.ts:4",
  ]);
});

Deno.test("requirement coverage compares with the list, and finds ids that are not on it", () => {
  const tests = new Map([
    ["unit/b_test.ts", 'Deno.test("b (XY-1, XZ-3)", run);\n// XY-1, YX-2\nDeno.test("c", run);'],
    ["a_test.ts", "// Proves XY-1..3.\n"],
    ["notes.md", '// XY-4\nDeno.test("XY-4")'],
  ]);
  const coverage = coverageOf(["XY-1", "XY-2", "XY-4", "XZ-3", "XZ-4", "XZ-5"], tests);
  assert.deepEqual([...coverage.named], [
    ["XY-1", ["tests/a_test.ts:1", "tests/unit/b_test.ts:2", "tests/unit/b_test.ts:1"]],
    ["XY-2", ["tests/a_test.ts:1"]],
    ["XZ-3", ["tests/unit/b_test.ts:1"]],
  ]);
  assert.deepEqual(report(coverage), {
    lines: ["Named by no test:", "  XY 4", "  XZ 4..5", "3 of 6 requirements are named by a test"],
    errors: [
      "tests/a_test.ts:1: names XY-3, which does not exist",
      "tests/unit/b_test.ts:2: names YX-2, which does not exist",
    ],
  });
  assert.deepEqual(report(coverageOf(["XY-1"], new Map([["a_test.ts", "// XY-1"]]))), {
    lines: ["1 of 1 requirements are named by a test"],
    errors: [],
  });
});

Deno.test("requirement list is sorted by family and number, without gaps, and holds nothing else", async () => {
  const ids = readIds(await Deno.readTextFile(new URL(".house/requirement_ids.txt", root)));
  assert.deepEqual(asRanges(ids), ["AR 1..48", "CM 1..135", "DM 1..140", "GA 1..60", "LC 1..33"]);
  for (const id of ids) assert.match(id, /^[A-Z]{2}-[1-9]\d*$/);
});

/** Runs the real script and list over a project that has one test of this name. */
async function runOver(name: string, ...args: string[]) {
  const project = await Deno.makeTempDir({ prefix: "troupe-" });
  try {
    for (const folder of [".house", "tests", "tests/architecture"]) await Deno.mkdir(`${project}/${folder}`);
    const own = [".house/requirement_coverage.ts", ".house/requirement_ids.txt"];
    for (const path of [...own, "tests/architecture/source.ts", "tests/architecture/tree.ts"]) {
      await Deno.copyFile(new URL(path, root), `${project}/${path}`);
    }
    await Deno.writeTextFile(`${project}/tests/a_test.ts`, `\nDeno.test("${name}", () => {});\n`);
    const command = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-config", "--allow-read=.", own[0] ?? "", ...args],
      cwd: project,
      env: { NO_COLOR: "1" },
      stdin: "null",
    });
    const { code, stdout, stderr } = await command.output();
    return { code, out: new TextDecoder().decode(stdout), err: new TextDecoder().decode(stderr) };
  } finally {
    await Deno.remove(project, { recursive: true });
  }
}

Deno.test("requirement coverage informs with exit code 0, and fails for an id that does not exist", async () => {
  const fine = await runOver("a claim (AR-2..48)");
  assert.equal(fine.code, 0, fine.err);
  assert.match(
    fine.out,
    /^Named by no test:\n {2}AR 1\n {2}CM 1\.\.135\n[^]*\n47 of 416 requirements are named/,
  );
  const wrong = await runOver("a claim (AR-1, AR-49)");
  assert.equal(wrong.code, 1);
  assert.match(wrong.err, /^tests\/a_test\.ts:2: names AR-49, which does not exist$/m);
  assert.match(wrong.out, /\n1 of 416 requirements are named by a test\n$/);
});

Deno.test("requirement coverage tells programs the places and what is missing", async () => {
  const { code, out } = await runOver("a claim (AR-1, AR-49)", "--json");
  assert.equal(code, 1);
  const { total, named, unnamed, unknown } = JSON.parse(out);
  assert.deepEqual([total, unnamed.length, unnamed[0]], [416, 415, "AR-2"]);
  assert.deepEqual(named, { "AR-1": ["tests/a_test.ts:2"] });
  assert.deepEqual(unknown, [{ id: "AR-49", place: "tests/a_test.ts:2" }]);
});
