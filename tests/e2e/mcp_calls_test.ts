/** Calls of MCP tools with real servers: names, replay without the servers, collisions, the owner's door. */
import assert from "node:assert/strict";
import { HostConfig } from "../../schemas/config.ts";
import { loadAgent } from "../../src/host/agent_folder.ts";
import { Declarer } from "../../src/host/declarer.ts";
import { noCommands } from "../support/servers.ts";
import { createHostPerformers } from "../../src/host/host_performers.ts";
import { writeHome } from "../../src/host/session_home.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import { Connections } from "../../src/mcp/connections.ts";
import { PrivateHomes } from "../../src/mcp/private_homes.ts";
import { ProcessRegistry } from "../../src/processes/registry.ts";
import { startRuntime } from "../../src/runtime.ts";
import type { HostServices } from "../../src/host_services.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { sourceOf, toolFrom } from "../support/stage.ts";
import {
  bodiesOf,
  callOf,
  entriesOf,
  firstTurn,
  linesIn,
  onMcpStage,
  planned,
  plannedServer,
  scriptManifest,
  sessionIn,
  writeMcpAgent,
} from "./mcp_stage.ts";
import type { Stage } from "./troupe.ts";
import { linesOf } from "./troupe.ts";

/** Two servers with a tool of one name. Their program is the stage's own, so that it can be deleted. */
async function writeTwins(stage: Stage): Promise<void> {
  await Deno.copyFile(plannedServer, stage.path("server.ts"));
  const twin = (name: string) =>
    scriptManifest(stage.path("server.ts"), [JSON.stringify({ name, started: stage.path("started") })]);
  await writeMcpAgent(stage, {
    servers: { docs: twin("the handbook"), wiki: twin("the wiki") },
    answers: [
      { calls: [callOf("docs__search", { q: 1 })] },
      { expect: 'the handbook found {"q":1}', calls: [callOf("wiki__search", { q: 2 })] },
      { expect: 'the wiki found {"q":2}', text: "both found" },
    ],
  });
}

// AR-39, AR-46
Deno.test("servers with a tool of one name are told apart, and their session replays once their program is deleted (AR-39, AR-46, B82, AR-4)", async () => {
  await onMcpStage(async (stage) => {
    await writeTwins(stage);
    const ended = await stage.run(...firstTurn, "--answer", "allow");
    assert.equal(ended.code, 0, ended.err);
    assert.match(ended.out, /^ {2}✓ docs {2}[\d.]+ m?s {2}3 tools$/m);
    assert.match(ended.out, /^ {2}✓ wiki {2}[\d.]+ m?s {2}3 tools$/m);
    assert.match(ended.out, /✓ mcp\.docs\.search \{"q": 1\} .* the handbook found/);
    assert.match(ended.out, /✓ mcp\.wiki\.search \{"q": 2\} .* the wiki found/);
    assert.match(ended.out, /both found\nturn 1 completed: 3 steps, 2 calls/);
    assert.equal((await linesIn(stage.path("started"))).length, 2);
    await Deno.remove(stage.path("started"));
    await Deno.remove(stage.path("server.ts"));
    await Deno.remove(stage.path("agent"), { recursive: true });

    const id = sessionIn(ended);
    const roots = [`session/${id}`, `catalog/${id}`, `connection/docs@${id}`, `connection/wiki@${id}`];
    const [log, replay] = await Promise.all([
      stage.output("log", "last"),
      stage.output("replay", "last", "--strict"),
    ]);
    assert.match(
      log,
      /-> docs__search\n.*\n.* mcp\.docs\.search \{"q": 1\}\n.* mcp\.docs\.search allow.*\n.*ok search: the handbook found/,
    );
    assert.match(
      log,
      /-> wiki__search\n.*\n.* mcp\.wiki\.search \{"q": 2\}\n.*\n.*ok search: the wiki found/,
    );
    assert.match(log, /docs 3 tools, wiki 3 tools/);
    const [close] = bodiesOf(await entriesOf(stage, `connection/docs@${id}`), "outcome", "mcp.close");
    assert.deepEqual(close?.["value"], { code: 0, signal: null, stderr: "" });
    for (const root of roots) assert.ok(replay.includes(root), root);
    assert.equal(replay.match(/no divergence/g)?.length, roots.length, replay);
    for (const [index, root] of roots.entries()) await stage.output("export", root, "-o", `${index}.jsonl`);
    const replays = await Promise.all(
      roots.map((_, index) => stage.output("replay", `${index}.jsonl`, "--strict", "--json")),
    );
    assert.deepEqual(replays.map((text) => linesOf(text).map((one) => [one["address"], one["divergence"]])), [
      ...roots.map((root) => [[root, null]]),
    ]);
    assert.deepEqual(await linesIn(stage.path("started")), []);
  });
});

// DM-10
Deno.test("server whose tool has the name of a built-in is refused, and both provenances are named (DM-10)", async () => {
  await onMcpStage(async (stage) => {
    await writeMcpAgent(stage, {
      servers: { docs: planned(stage, { name: "docs" }) },
      answers: [{ text: "not reached" }],
    });
    const seams = createSystemSeams({ log: () => {} });
    const { clock, digest } = seams;
    const store = stage.path("store.db");
    const registry = new ProcessRegistry({ store, runId: "collision", clock, digest, log: seams.log });
    const env = (name: string) => name === "PATH" ? Deno.env.get(name) : undefined;
    const self = { command: Deno.execPath(), args: [], env: {} };
    const connections = new Connections({
      registry,
      clock,
      env,
      homes: new PrivateHomes(store),
      self,
      fetch,
    });
    const runtime = await startRuntime({
      store: await openKvStore(store, seams),
      seams,
      performers: (services: HostServices) =>
        createHostPerformers(services, { connections, http: { fetch }, commands: noCommands }),
    });
    try {
      const agent = await loadAgent("agent", { cwd: stage.folder, digest });
      const home = { agent: agent.home, workspace: stage.path("ws") };
      const { policy } = HostConfig.parse({});
      const declarer = new Declarer({ policy, digest, secrets: new Set(), trustFile: undefined });
      const servers = await declarer.declare(home, agent.servers, agent.definition.capabilities);
      const session = await runtime.createSession({
        agent: agent.definition,
        coreRevision: agent.coreRevision,
        home: writeHome(home),
        sources: [sourceOf([toolFrom({ name: "docs__search" }, [])])],
        policy,
        servers: servers.map((server) => ({ ...server, gate: "granted" as const })),
      });
      const { report } = await runtime.prompt(session, "hi");
      const { outcome, failure } = await report;
      assert.deepEqual([outcome, failure?.code], ["failed", "tool_name_collision"]);
      assert.match(failure?.message ?? "", /"docs__search": from .*built in.* and .*docs: mcp\/docs\.yaml/);
    } finally {
      await runtime.stop();
      await registry.closeAll();
    }
  });
});

Deno.test("server of a session that came by the owner's door is started by the owner", async () => {
  await onMcpStage(async (stage) => {
    const traces = { started: stage.path("started") };
    const answers = [{ calls: [callOf("docs__search")] }, { text: "finished" }];
    const docs = planned(stage, { name: "docs", ...traces });
    await writeMcpAgent(stage, { servers: { docs }, answers });
    // The owner itself waits for a person, who is asked about the start of its own server.
    const owner = stage.start(...firstTurn, "--answer", "wait");
    await owner.until("A question waits");
    const second = await stage.run(...firstTurn, "--answer", "allow");
    assert.equal(second.code, 0, second.err);
    assert.match(second.err, new RegExp(`run by process ${owner.pid} that holds the store`));
    assert.match(second.out, /✓ docs .* 3 tools\n.*✓ mcp\.docs\.search .* docs found/);
    assert.deepEqual((await linesIn(traces.started)).map(({ ppid }) => ppid), [owner.pid]);

    const [open] = linesOf(await stage.output("questions", "--json"));
    assert.match(String(open?.["id"]), /^connection\/docs@ses_/);
    await stage.output("answer", String(open?.["id"]), "deny", "--note", "not on my machine");
    const ended = await owner.ended;
    assert.equal(ended.code, 0, ended.err);
    assert.match(ended.out, /^ {2}✗ docs {2}mcp_connect_denied: .* the answer was no$/m);
    assert.match(ended.out, /✗ docs__search {2}not_found/);
    const [connect] = bodiesOf(
      await entriesOf(stage, `connection/docs@${sessionIn(ended)}`),
      "outcome",
      "question.ask",
    );
    assert.match(JSON.stringify(connect), /"deny".*"not on my machine"/);
    assert.equal((await linesIn(traces.started)).length, 1);
  });
});
