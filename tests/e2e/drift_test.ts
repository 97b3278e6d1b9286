/** `troupe replay --against`: what an agent would get now, against what a recorded session had, without a server. */
import assert from "node:assert/strict";
import {
  callOf,
  declare,
  firstTurn,
  linesIn,
  onMcpStage,
  planned,
  trustAgent,
  writeMcpAgent,
} from "./mcp_stage.ts";
import { assertRefused, type Stage } from "./troupe.ts";

const capabilities = ["mcp.connect:*", "mcp.call:*", "fs.read"];

async function record(stage: Stage): Promise<void> {
  const ledger = stage.path("ledger");
  await writeMcpAgent(stage, {
    servers: { docs: planned(stage, { name: "docs", ledger }) },
    answers: [{ calls: [callOf("docs__search")] }, { expect: "docs found", text: "done" }],
    tools: ["read_file", "list_files"],
    capabilities,
  });
  await stage.output(...trustAgent);
  await stage.output(...firstTurn);
  assert.equal((await linesIn(ledger)).length, 1);
}

interface Drift {
  readonly catalogs: readonly {
    readonly drift: { readonly added: string[]; readonly removed: string[]; readonly changed: unknown[] };
  }[];
  readonly notCompared: readonly string[];
  readonly asRecorded: readonly string[];
}

Deno.test("replay against the agent that was recorded finds the same, and starts no server", async () => {
  await onMcpStage(async (stage) => {
    await record(stage);
    // The server could not be started any more.
    await declare(stage, { docs: { command: "/nowhere/docs", approval_policy: "auto" } });
    const ended = await stage.run("replay", "last", "--against", "./agent");
    assert.deepEqual([ended.code, ended.out], [0, "catalog 2: the same\n"]);
    assert.match(ended.err, /^Tools as they were recorded last, no server was started: docs$/m);
  });
});

Deno.test("replay against a changed agent lists what was added, removed and changed, field by field, and fails", async () => {
  await onMcpStage(async (stage) => {
    await record(stage);
    const agent = {
      name: "tester",
      model: "scripted/script.yaml",
      tools: ["list_files", "search_files"],
      capabilities,
      overrides: { list_files: { risk: "high", model_output_characters: 500 } },
    };
    await stage.write({ "agent/agent.yaml": JSON.stringify(agent) });
    await declare(stage, { wiki: { command: "/nowhere/wiki" } });
    const ended = await stage.run("replay", "last", "--against", "./agent");
    assertRefused(ended, 1, "catalog_drifted", /^troupe: 3 tools of "session\/ses_\w+" .*: search_files, /);
    assert.match(ended.out, /^catalog 2: 1 added, 1 removed, 1 changed$/m);
    assert.match(
      ended.out,
      /^ {2}added {4}search_files\n {2}removed {2}read_file\n {2}changed {2}list_files$/m,
    );
    assert.match(ended.out, /^ {4}definition\.riskLevel: "low", now "high"$/m);
    assert.match(ended.out, /^ {4}definition\.outputPolicy\.modelCharactersMax: \d+, now 500$/m);
    assert.match(ended.err, /^Not compared, the session never had these servers: wiki$/m);
    const json = await stage.run("replay", "last", "--against", "./agent", "--json");
    const { catalogs, notCompared, asRecorded } = JSON.parse(json.out) as Drift;
    assert.deepEqual([json.code, notCompared, asRecorded], [1, ["wiki"], ["docs"]]);
    const [one] = catalogs;
    assert.deepEqual([one?.drift.added, one?.drift.removed], [["search_files"], ["read_file"]]);
    assert.deepEqual(
      (one?.drift.changed as { readonly name: string }[]).map(({ name }) => name),
      ["list_files"],
    );
    // A tool of a server that the agent declares no more is gone.
    await Deno.remove(stage.path("agent/mcp"), { recursive: true });
    const alone = await stage.run("replay", "last", "--against", "./agent");
    assert.match(alone.out, /^ {2}removed {2}mcp\.docs\.search$/m);
    assertRefused(await stage.run("replay", "x.jsonl", "--against", "./agent"), 2, "option_invalid");
    assertRefused(await stage.run("replay", "last", "--against", "./none"), 2, "config_invalid");
  });
});
