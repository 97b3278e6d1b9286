// Proves DM-16 and DM-17 for search_files: 50 results, bounded time, only text of the workspace.
import assert from "node:assert/strict";
import { createMatcher } from "../../src/tools/matcher.ts";
import { searchFiles } from "../../src/tools/search_files.ts";
import { textIn, useIn, withFolder, workspaceAt } from "../support/tools.ts";
import type { Clock } from "../../src/seams.ts";
import { createRandom } from "../support/world.ts";

type Input = { readonly pattern: string; readonly [key: string]: unknown };

async function search(folder: string, input: Input): Promise<string> {
  return textIn(await searchFiles.handler(input, useIn(await workspaceAt(folder))));
}

const project = {
  "README.md": "nothing here\n",
  "src/b.ts": "const needle = 1;\nother\nneedle again\r\n",
  "src/a.ts": "no\nneedle first\n",
  "src/a.js": "needle in js\n",
  "src/deep/c.ts": "a.needle()\n",
  ".git/config": "needle\n",
  "node_modules/m/index.ts": "needle\n",
  "image.png": new Uint8Array([0x6e, 0x65, 0x65, 0x64, 0x6c, 0x65, 0]),
};

Deno.test("search_files gives path, line and text in a fixed order, and skips what nobody wrote by hand", async () => {
  await withFolder(project, async (folder) => {
    assert.equal(
      await search(folder, { pattern: "needle" }),
      [
        "src/a.js:1: needle in js",
        "src/a.ts:2: needle first",
        "src/b.ts:1: const needle = 1;",
        "src/b.ts:3: needle again",
        "src/deep/c.ts:1: a.needle()",
        "[files skipped: 1 not text]",
      ].join("\n"),
    );
    assert.equal(await search(folder, { pattern: "haystack", glob: "*.ts" }), "[nothing found]");
  });
});

Deno.test("search_files narrows by folder, file and glob", async () => {
  await withFolder(project, async (folder) => {
    const paths = async (input: Omit<Input, "pattern">) =>
      (await search(folder, { pattern: "needle", ...input })).split("\n").map((line) => line.split(":")[0]);
    assert.deepEqual(await paths({ glob: "*.js" }), ["src/a.js"]);
    assert.deepEqual(await paths({ path: "src/deep" }), ["src/deep/c.ts"]);
    assert.deepEqual(await paths({ path: "./src/a.ts" }), ["src/a.ts"]);
    assert.deepEqual(await paths({ glob: "src/*.ts" }), ["src/a.ts", "src/b.ts", "src/b.ts"]);
    assert.deepEqual(await paths({ glob: "**/{c,a}.?s" }), ["src/a.js", "src/a.ts", "src/deep/c.ts"]);
    assert.equal(await search(folder, { pattern: "needle", path: "../x" }), "path_outside_root");
    assert.equal(await search(folder, { pattern: "needle", path: "none" }), "path_not_found");
  });
});

Deno.test("search_files takes a pattern as plain text unless it is told otherwise", async () => {
  await withFolder({ "f": "a.b\naxb\n" }, async (folder) => {
    assert.equal(await search(folder, { pattern: "a.b" }), "f:1: a.b");
    assert.equal(await search(folder, { pattern: "a.b", regex: true }), "f:1: a.b\nf:2: axb");
    assert.equal(await search(folder, { pattern: "^a.b$", regex: true }), "f:1: a.b\nf:2: axb");
    assert.equal(await search(folder, { pattern: "" }), "arguments_invalid");
  });
});

Deno.test("search_files stops at 50 lines and says so (DM-17)", async () => {
  await withFolder({ "a": "x\n".repeat(30), "b": "x\n".repeat(20) }, async (folder) => {
    assert.equal((await search(folder, { pattern: "x" })).split("\n").length, 50);
    await Deno.writeTextFile(`${folder}/b`, "x\n".repeat(21));
    const lines = (await search(folder, { pattern: "x" })).split("\n");
    assert.equal(lines.length, 51);
    assert.match(lines[50] ?? "", /^\[50 lines shown, there are more/);
  });
});

Deno.test("search_files shows the part of a long line around the match, and searches no line without end", async () => {
  const long = `${"-".repeat(5_000)}needle${"-".repeat(5_000)}${"+".repeat(5_000)}far`;
  await withFolder({ "f": long, "huge": "" }, async (folder) => {
    await Deno.truncate(`${folder}/huge`, 3 * 1_048_576);
    const text = await search(folder, { pattern: "needle" });
    assert.match(text, /^f:1: …-{70,90}needle-{70,90}…\n/);
    assert.match(
      text,
      /\n\[files skipped: 1 too large\]\n\[1 lines searched in their first 10000 characters only\]$/,
    );
    assert.match(await search(folder, { pattern: "far" }), /^\[nothing found\]/);
  });
});

Deno.test("search_files does not follow links out of the workspace", async () => {
  await withFolder({ "ws/a": "x", "out/s": "needle" }, async (folder) => {
    await Deno.symlink("../out", `${folder}/ws/out`);
    await Deno.symlink("../out/s", `${folder}/ws/s`);
    assert.equal(await search(`${folder}/ws`, { pattern: "needle" }), "[nothing found]");
    assert.equal(await search(`${folder}/ws`, { pattern: "needle", path: "out" }), "path_outside_root");
    assert.equal(await search(`${folder}/ws`, { pattern: "needle", path: "s" }), "path_outside_root");
  });
});

Deno.test("search_files ends when its time is up, when it is canceled, and says that it saw not all", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [`f${index}`, "x\n".repeat(200)]),
  );
  await withFolder(files, async (folder) => {
    let nowMs = 0;
    const clock: Clock = {
      now: () => (nowMs += 90),
      sleepUntil: () => Promise.resolve(),
      defer: (task) => task(),
    };
    const cwd = await workspaceAt(folder);
    const slow = textIn(await searchFiles.handler({ pattern: "needle" }, useIn(cwd, { clock })));
    assert.match(slow, /^\[nothing found\]\n\[stopped before the end.*\]\n\[files skipped: \d+ in part/);
    const signal = AbortSignal.abort();
    const canceled = textIn(await searchFiles.handler({ pattern: "x" }, useIn(cwd, { signal })));
    assert.match(canceled, /only the first|stopped before the end/);
  });
});

Deno.test("search_files lets go of the event loop while it works, so that a cancel is heard", async () => {
  const files = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`f${index}`, "x\n"]));
  await withFolder(files, async (folder) => {
    let nowMs = 0;
    const stop = new AbortController();
    let letGo = 0;
    const clock: Clock = {
      now: () => (nowMs += 5),
      sleepUntil: () => Promise.resolve(),
      defer: (task) => {
        if (++letGo === 3) stop.abort();
        task();
      },
    };
    const use = useIn(await workspaceAt(folder), { clock, signal: stop.signal });
    const found = textIn(await searchFiles.handler({ pattern: "x" }, use));
    // One more file at most: it is looked at before the abort is seen.
    assert.ok(letGo === 3 || letGo === 4, String(letGo));
    assert.match(found, /^f\d+:1: x\n[^]*\[stopped before the end/);
  });
});

Deno.test("search_files refuses patterns that need backtracking, and says why (B110)", async () => {
  await withFolder({ "f": "x" }, async (folder) => {
    const refused = [
      "(a+)+$",
      "(a*)*",
      "(\\d{2,}){3}",
      "(a)\\1",
      "(?=a)b",
      "(?<!a)b",
      "a{5000}",
      "(a",
      "a)",
      "[a",
      "*a",
      "a**",
    ];
    for (const pattern of refused) {
      assert.equal(await search(folder, { pattern, regex: true }), "pattern_invalid", pattern);
    }
    assert.equal(await search(folder, { pattern: "a".repeat(513), regex: true }), "arguments_invalid");
  });
});

/** Patterns that hang a backtracking engine, with a line that makes them. */
const hanging = [
  "(a|a)*b",
  "a*a*a*a*a*a*a*b",
  "(.*,)(.*,)(.*,)(.*,)(.*,)(.*,)x",
  "(a|aa){1,100}b",
  "(x|a)*(a|y)*(a|z)*b",
];

Deno.test("search_files matches in time linear in the line, whatever the pattern (B110)", () => {
  for (const pattern of hanging) {
    const matcher = createMatcher(pattern);
    assert(matcher.ok, pattern);
    let asked = 0;
    // Counted, not timed: the matcher asks once for every 256 characters and goes back over none.
    assert.equal(matcher.value.find("a".repeat(65_536), () => ++asked > 1_000), -1);
    assert.equal(asked, 256, pattern);
  }
});

Deno.test("search_files gives up in the middle of a line when its time is up", () => {
  const matcher = createMatcher("b");
  assert(matcher.ok);
  let asked = 0;
  assert.equal(matcher.value.find(`${"a".repeat(10_000)}b`, () => ++asked === 3), -1);
  assert.equal(asked, 3);
});

/** Random patterns from pieces that both engines know. */
function randomPattern(random: () => number, depth: number): string {
  const pick = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)] as T;
  const atoms = [
    "a",
    "b",
    "1",
    ".",
    "\\d",
    "\\w",
    "[ab]",
    "[^a]",
    "\\s",
    "\u00e9",
    "[a-c1]",
    "\\.",
    "\\x61",
    "-",
  ];
  const count = 1 + Math.floor(random() * 4);
  let pattern = "";
  for (let index = 0; index < count; index++) {
    const roll = random();
    if (roll < 0.12) pattern += pick(["^", "$", "\\b", "\\B"]);
    else if (roll < 0.3 && depth > 0) pattern += `(${randomPattern(random, depth - 1)})`;
    else pattern += pick(atoms) + pick(["", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,}", "*?"]);
  }
  return random() < 0.25 ? `${pattern}|${pick(atoms)}` : pattern;
}

Deno.test("search_files finds what JavaScript's own engine finds, in 4,000 random cases", () => {
  const random = createRandom(11);
  for (let index = 0; index < 1_000; index++) {
    const pattern = randomPattern(random, 2);
    const matcher = createMatcher(pattern);
    assert(matcher.ok, pattern);
    for (let line = 0; line < 4; line++) {
      let text = "";
      while (random() < 0.85) text += "ab1. -_\u00e9\u{1f600}".at(Math.floor(random() * 7)) ?? "";
      const expected = new RegExp(pattern, "u").test(text);
      assert.equal(
        matcher.value.find(text, () => false) >= 0,
        expected,
        `${pattern} in ${JSON.stringify(text)}`,
      );
    }
  }
});
