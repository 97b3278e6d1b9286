// Proves DM-16 and DM-17 for read_file: 20,000 characters, and how to go on.
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { readFile } from "../../src/tools/read_file.ts";
import { textIn, useIn, withFolder, workspaceAt } from "../support/tools.ts";

async function read(content: string, input: { readonly [key: string]: unknown } = {}): Promise<string> {
  let text = "";
  await withFolder({ "f.txt": content }, async (folder) => {
    text = textIn(await readFile.handler({ path: "f.txt", ...input }, useIn(await workspaceAt(folder))));
  });
  return text;
}

const tenLines = Array.from({ length: 10 }, (_, index) => `line ${index + 1}\n`).join("");

Deno.test("read_file gives a small file as it stands", async () => {
  assert.equal(await read(tenLines), tenLines);
  assert.equal(await read(""), "");
  assert.equal(await read("one\r\ntwo"), "one\r\ntwo");
});

Deno.test("read_file gives the lines that are asked for, and says how to go on", async () => {
  assert.equal(
    await read(tenLines, { offset: 3, limit: 2 }),
    "line 3\nline 4\n[cut: lines 3 to 4 of 10 shown; go on with offset 5]",
  );
  assert.equal(await read(tenLines, { offset: 9 }), "line 9\nline 10\n");
  assert.equal(await read(tenLines, { offset: 10, limit: 5 }), "line 10\n");
  assert.equal(await read(tenLines, { offset: 11 }), "arguments_invalid");
});

Deno.test("read_file never gives more than 20,000 characters, and its pieces add up to the file (DM-17)", async () => {
  const content = Array.from({ length: 3_000 }, (_, index) => `${index + 1} ${"x".repeat(index % 40)}\n`)
    .join("");
  let joined = "";
  let pieces = 0;
  for (let offset = 1; offset !== 0; pieces++) {
    const piece = await read(content, { offset });
    assert(piece.length <= 20_000, `${piece.length} characters`);
    const next = /\n\[cut: lines \d+ to \d+ of 3000 shown; go on with offset (\d+)\]$/.exec(piece);
    joined += next === null ? piece : `${piece.slice(0, next.index)}\n`;
    offset = next === null ? 0 : Number(next[1]);
  }
  assert.equal(joined, content);
  assert.equal(pieces, Math.ceil(content.length / 19_600));
});

Deno.test("read_file cuts a line that is too long, says how long it is, and goes on behind it", async () => {
  const text = await read(`${"y".repeat(60_000)}\nafter\n`);
  assert(text.length <= limits.readFileCharactersDefault);
  assert.match(text, /\[cut: line 1 has 60001 characters, shown are 19700; go on with offset 2\]$/);
  const emoji = await read("\u{1f600}".repeat(30_000));
  assert(!/\p{Cs}/u.test(emoji), "half of a character was shown");
});

Deno.test("read_file refuses what its guard and its schema refuse", async () => {
  await withFolder({ "f.txt": "x", "sub/": "" }, async (folder) => {
    const use = useIn(await workspaceAt(folder));
    const codes = [];
    const inputs = [{ path: "../x" }, { path: "sub" }, { path: "none" }, {}, { path: "f.txt", offset: 0 }, {
      path: "f.txt",
      more: 1,
    }];
    for (const input of inputs) codes.push(textIn(await readFile.handler(input, use)));
    assert.deepEqual(codes, [
      "path_outside_root",
      "path_not_file",
      "path_not_found",
      "arguments_invalid",
      "arguments_invalid",
      "arguments_invalid",
    ]);
  });
});
