/** Wrong use of the command line and broken files: one line, a code, the place, and exit code 2. */
import assert from "node:assert/strict";
import { commands } from "../../src/cli/command.ts";
import { version } from "../../src/version.ts";
import { assertRefused, onStage, readScript, writeAgent } from "./troupe.ts";

Deno.test("help tells of every command, and of each command with examples", async () => {
  await onStage(async (stage) => {
    const all = await stage.output("--help");
    const names = Object.keys(commands);
    const texts: string[] = [];
    // A few at a time: each is a process.
    for (let at = 0; at < names.length; at += 4) {
      const some = names.slice(at, at + 4);
      texts.push(...await Promise.all(some.map((name) => stage.output(name, "--help"))));
    }
    for (const [index, name] of names.entries()) {
      assert.match(all, new RegExp(`^ {2}${name} `, "m"));
      assert.match(texts[index] ?? "", new RegExp(`^troupe ${name}: `));
      assert.match(texts[index] ?? "", /^Examples\n {2}troupe /m);
    }
    assert.match(all, /^ {2}130 {2}/m);
    assert.equal((await stage.run()).code, 2);
    assert.match(await stage.output("--version"), new RegExp(`^troupe ${RegExp.escape(version)} `));
  });
});

Deno.test("usage that is wrong is refused with what was probably meant", async () => {
  await onStage(async (stage) => {
    const cases: readonly (readonly [readonly string[], string, string])[] = [
      [["relpay"], "command_unknown", "did you mean replay?"],
      [["log", "last", "--jsno"], "option_unknown", "did you mean --json?"],
      [["log"], "argument_missing", "needs SESSION"],
      [["run", "demo", "two", "words"], "argument_unexpected", "put the prompt in quotes"],
      [["run", "demo", "  "], "argument_invalid", "empty"],
      [["run", "demo", "x", "--answer", "yes"], "option_invalid", "allow or deny or wait"],
      [["run", "demo", "x", "--workspace", "gone"], "workspace_invalid", "gone"],
      [["run", "demo", "x", "--session", "last", "--script", "s.yaml"], "option_invalid", "--script"],
      [["export", "last"], "option_missing", "-o FILE"],
      [["schema", "agnet"], "schema_unknown", "did you mean agent?"],
    ];
    const ended = await Promise.all(cases.map(([args]) => stage.run(...args)));
    for (const [index, [, code, part]] of cases.entries()) {
      const one = ended[index];
      assert.ok(one);
      assertRefused(one, 2, code, part);
    }
  });
});

Deno.test("agent that is broken is refused with file, line and column", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, readScript);
    const good = await Deno.readTextFile(stage.path("agent/agent.yaml"));
    const cases: readonly (readonly [string, string, string])[] = [
      [`${good}colour: red\n`, "config_invalid", 'agent/agent.yaml:5:1: unknown key "colour"'],
      [
        good.replace("read_file", "raed_file"),
        "config_invalid",
        'agent/agent.yaml:3:9: there is no tool "raed_file"; known are',
      ],
      ["name: tester\n  model: x\n", "yaml_syntax", "agent/agent.yaml:2:"],
      ["name: &x tester\nmodel: *x\n", "yaml_alias_refused", "agent/agent.yaml:1:7"],
      ["name: tester\nmodel: 3\n", "config_invalid", "agent/agent.yaml:2:8"],
    ];
    for (const [text, code, part] of cases) {
      await stage.write({ "agent/agent.yaml": text });
      for (const args of [["run", "agent", "hi"], ["catalog", "agent"]]) {
        assertRefused(await stage.run(...args), 2, code, part);
      }
    }
    assert.deepEqual([...Deno.readDirSync(stage.folder)].map(({ name }) => name).sort(), ["agent", "ws"]);
  });
});

Deno.test("catalog shows what an agent gets, for people and for programs", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, readScript);
    await stage.write({ "config/troupe/troupe.yaml": "policy: { tools: { read_file: prompt } }\n" });
    assert.match(
      await stage.output("catalog", "agent"),
      /^read_file +read_file +runtime +low +idempotent +prompt +yes +fs\.read +runtime \(built in\)$/m,
    );
    const { entries } = JSON.parse(await stage.output("catalog", "agent", "--json"));
    assert.deepEqual(entries.map((entry: { canonicalName: string }) => entry.canonicalName), [
      ...["list_files", "read_file", "search_files"],
    ]);
  });
});

Deno.test("schema prints the names that it knows, and a JSON Schema for one of them", async () => {
  await onStage(async (stage) => {
    const names = (await stage.output("schema")).trimEnd().split("\n").map((line) => line.split(" ")[0]);
    for (const name of ["agent", "manifest", "config", "entry", "script", "session-message"]) {
      assert.ok(names.includes(name), name);
    }
    const agent = JSON.parse(await stage.output("schema", "agent"));
    assert.equal(agent.additionalProperties, false);
    assert.deepEqual(agent.required, ["name", "model"]);
  });
});
