import assert from "node:assert/strict";
import deno from "../../deno.json" with { type: "json" };
import { commands } from "../../src/cli/command.ts";
import { firstDifference } from "../../src/cli/difference.ts";
import { helpOf, helpOfAll } from "../../src/cli/help.ts";
import { createStyle } from "../../src/cli/style.ts";
import { version } from "../../src/cli/version.ts";

Deno.test("command help has a usage, options and examples for every command", async () => {
  const style = createStyle(false);
  const all = helpOfAll(commands, style);
  for (const [name, row] of Object.entries(commands)) {
    assert.match(all, new RegExp(`^  ${name} +${row.summary}$`, "m"));
    const { command } = await row.load();
    const help = helpOf(name, row, command, style);
    assert.ok(command.examples.length > 0, name);
    for (const example of command.examples) {
      assert.match(example, new RegExp(`^troupe (--version|${name}\\b)`), name);
    }
    for (const option of Object.keys(command.options)) {
      assert.ok(help.includes(`--${option}`), `${name} ${option}`);
    }
    for (const line of help.split("\n")) assert.ok(line.length <= 125, `${name}: ${line}`);
  }
});

Deno.test("command version is that of deno.json", () => {
  assert.equal(version, deno.version);
});

Deno.test("difference of two values is named by the first path where they differ", () => {
  assert.equal(firstDifference({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }), undefined);
  assert.deepEqual(firstDifference({ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }), {
    path: "a.1.b",
    expected: 2,
    got: 3,
  });
  assert.deepEqual(firstDifference({ a: 1 }, { a: 1, c: null }), {
    path: "c",
    expected: undefined,
    got: null,
  });
  assert.deepEqual(firstDifference({ a: [1] }, { a: { 0: 1 } }), { path: "a", expected: [1], got: { 0: 1 } });
  assert.deepEqual(firstDifference(null, "x"), { path: "", expected: null, got: "x" });
});
