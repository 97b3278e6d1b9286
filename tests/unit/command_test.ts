import assert from "node:assert/strict";
import deno from "../../deno.json" with { type: "json" };
import { commands, runCli } from "../../src/cli/command.ts";
import type { CommandRow } from "../../src/cli/cli.ts";
import { firstDifference } from "../../src/cli/difference.ts";
import { helpOf, helpOfAll } from "../../src/cli/help.ts";
import { createStyle } from "../../src/cli/style.ts";
import { createTerminal } from "../../src/cli/terminal.ts";
import { version } from "../../src/version.ts";
import { createWorld } from "../support/world.ts";

Deno.test("command help has a usage, options and examples for every command", async () => {
  const style = createStyle(false);
  const rows: (readonly [name: string, row: CommandRow, all: string])[] = Object.entries(commands)
    .map(([name, row]) => [name, row, helpOfAll(commands, style)]);
  for (const [name, row, all] of rows) {
    assert.match(all, new RegExp(`^  ${name.split(" ").at(-1)} +${row.summary}$`, "m"));
    const { command } = await row.load();
    const shown = helpOf(name, row, command, style);
    for (const [below, one] of Object.entries(command.commands ?? {})) {
      rows.push([`${name} ${below}`, one, shown]);
    }
    const help = helpOf(name, row, command, style);
    assert.ok(command.examples.length > 0, name);
    for (const example of command.examples) {
      assert.match(example, new RegExp(`^troupe (--version|${name}\\b)`), name);
    }
    for (const [option, { isHidden = false }] of Object.entries(command.options)) {
      assert.equal(help.includes(`--${option}`), !isHidden, `${name} ${option}`);
    }
    for (const line of help.split("\n")) assert.ok(line.length <= 125, `${name}: ${line}`);
  }
});

Deno.test("command schema prints a JSON Schema for every name that it lists", async () => {
  async function print(...argv: readonly string[]): Promise<string> {
    let shown = "";
    const take = (bytes: Uint8Array) => {
      shown += new TextDecoder().decode(bytes);
      return bytes.length;
    };
    const terminal = createTerminal({
      stdout: { isTerminal: () => false, writeSync: take },
      stderr: { isTerminal: () => false, writeSync: take },
      stdin: { isTerminal: () => false, read: () => Promise.resolve(null) },
      colours: false,
      columns: () => undefined,
    });
    const cli = {
      terminal,
      seams: createWorld().seams,
      env: () => undefined,
      cwd: "/",
      self: { command: "troupe", args: [], env: {} },
      onInterrupt: () => () => {},
    };
    assert.equal(await runCli(argv, cli), 0, shown);
    return shown;
  }
  const names = (await print("schema")).trimEnd().split("\n").map((line) => line.split(" ")[0] ?? "");
  assert.ok(names.length >= 18);
  for (const name of names) {
    const schema = JSON.parse(await print("schema", name));
    assert.match(schema["$schema"], /2020-12/, name);
    assert.ok(schema.type === "object" || schema.oneOf?.length >= 1, name);
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
