/** When servers are asked for their tools again, by which rule, and that nothing is asked twice or in a running turn. */
import assert from "node:assert/strict";
import { catalogMachine } from "../../actors/catalog.ts";
import { sessionMachine } from "../../actors/session.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { PortArgs } from "../../schemas/effect.ts";
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { localOperator } from "../../schemas/principal.ts";
import { modelAnswer, sealCatalog } from "../support/calls.ts";
import {
  catalogRoot,
  type ConnectionRun,
  end,
  greeting,
  listing,
  listingOf,
  serverOf,
  session,
  startConnection,
} from "../support/connection.ts";
import { type Run, sourceOf, startRun, toolOf } from "../support/desk.ts";

const agent = AgentDefinition.parse({ name: "test", model: "scripted/test" });
const docs = serverOf("docs");
const idleMs = limits.mcpIdleParkMs;
const other = listingOf("docs", [toolOf("search"), toolOf("read")]);

function listedRules(run: Run): readonly unknown[] {
  return run.notes().filter(({ type }) => type === "connection.listed")
    .map(({ body }) => (body as { readonly rule: string }).rule);
}

function stales(run: Run): readonly unknown[] {
  return run.messages().filter(({ type }) => type.endsWith(".stale"))
    .map(({ message }) => (message as { readonly rule: string }).rule);
}

function ready(): ConnectionRun {
  const run = startConnection();
  run.makeReady();
  return run;
}

Deno.test("connection lists a server's tools when it is started and started again (AR-15)", () => {
  const run = ready();
  run.crash();
  run.makeReady();
  assert.deepEqual(listedRules(run), ["connect", "reconnect"]);
});

Deno.test("connection tells once that its server's tools changed, and lists them when they are wanted (AR-15)", () => {
  const run = ready();
  run.settle("mcp.watch", { type: "list_changed" });
  assert.deepEqual([run.state(), run.pending(), stales(run)], ["ready", ["mcp.watch"], ["list_changed"]]);
  // What it says now is no news: it is only waited for its end.
  assert.deepEqual(run.argsOf("mcp.watch"), { launch: 1, stale: true, idleMs });
  run.open("a");
  assert.deepEqual([run.state(), run.replies()], ["listing", []]);
  run.settle("mcp.list", { ...other });
  assert.deepEqual([run.state(), run.replies(), run.offers()], ["ready", ["a ready"], [
    "2 tools",
    "2 tools",
  ]]);
  assert.deepEqual(run.argsOf("mcp.watch"), { launch: 1, idleMs });
  run.open("b");
  assert.deepEqual([run.replies(), listedRules(run)], [["a ready", "b ready"], ["connect", "list_changed"]]);
});

Deno.test("connection lists again what is old, and not what is young (AR-15)", () => {
  const run = ready();
  run.now += limits.mcpListAgeMs - 100;
  run.open("a");
  assert.deepEqual([run.state(), run.replies()], ["ready", ["a ready"]]);
  run.now += 100;
  run.open("b");
  run.settle("mcp.list", listing);
  assert.deepEqual([run.replies(), listedRules(run)], [["a ready", "b ready"], ["connect", "age"]]);
  const [, note] = run.notes().filter(({ type }) => type === "connection.listed");
  assert.deepEqual(note?.body, { server: "docs", rule: "age", tools: 2, same: true });
});

Deno.test("connection lists when somebody asks, and starts nothing for it (AR-15)", () => {
  const run = startConnection();
  run.refresh("manual", "a");
  assert.deepEqual([run.state(), run.pending(), run.replies()], ["idle", [], ["a not_open"]]);
  run.makeReady();
  run.refresh("manual", "b");
  run.settle("mcp.list", { ...other });
  assert.deepEqual([run.replies().at(-1), listedRules(run)], ["b ready", ["connect", "manual"]]);
  run.close();
  run.settle("mcp.close", end);
  run.refresh("manual", "c");
  assert.deepEqual([run.state(), run.replies().at(-1)], ["closed", "c not_open"]);
});

Deno.test("connection lists once for calls that its server refuses, and again once something was new (AR-15)", () => {
  const run = ready();
  const lists = () => run.kinds().filter((kind) => kind === "mcp.list").length;
  run.refresh("call_refused", "a");
  run.settle("mcp.list", listing);
  run.now += limits.mcpFailureHoldMs;
  run.refresh("call_refused", "b");
  assert.deepEqual([lists(), run.replies()], [2, ["a ready", "b accepted"]]);
  run.settle("mcp.watch", { type: "list_changed" });
  run.open();
  run.settle("mcp.list", { ...other });
  run.refresh("call_refused", "c");
  assert.equal(lists(), 4);
  // News for the next turn: further calls of the running one are refused for the same reason.
  run.settle("mcp.list", listing);
  run.refresh("call_refused", "d");
  assert.equal(lists(), 4);
  run.now += limits.mcpFailureHoldMs;
  run.refresh("call_refused", "e");
  assert.equal(lists(), 5);
});

Deno.test("connection tells that its server was lost, unless it closed it itself (AR-15)", () => {
  const run = ready();
  run.close();
  run.settle("mcp.close", end);
  assert.deepEqual(stales(run), []);
  run.open();
  run.settle("mcp.connect", greeting);
  run.settle("mcp.list", listing);
  run.crash();
  assert.deepEqual([run.state(), stales(run)], ["recovering", ["disconnect"]]);
});

Deno.test("catalog passes on what its own servers say is stale, and nobody else's word (AR-15)", () => {
  const run = startRun(catalogMachine, {
    address: catalogRoot,
    subscriber: session,
    coreRevision: "core-1",
    agent,
    policy: HostPolicy.parse({}),
    sources: [sourceOf("runtime", [])],
  });
  run.settle("catalog.seal", { hash: `sha256:${"a".repeat(64)}`, epoch: 1 });
  const { connection } = docs;
  run.send({ type: "catalog.renew", renewal: 1, servers: [{ server: "docs", connection }] } as never);
  for (const sender of [connection, "connection/evil@ses_1"]) {
    run.send({ type: "connection.stale", rule: "list_changed" } as never, { sender });
  }
  const told = run.messages().filter(({ type }) => type === "catalog.stale").map((
    { to, message },
  ) => [to, message]);
  assert.deepEqual(told, [[session, { type: "catalog.stale", server: "docs", rule: "list_changed" }]]);
});

/** A session in its first turn, its servers asked. */
function inTurn(): Run {
  const roots = { address: session, catalog: catalogRoot, mode: "default" as const };
  const run = startRun(sessionMachine, {
    ...roots,
    agent,
    home: "embedded:test",
    principal: localOperator,
    servers: [docs],
  });
  issue(run, 0);
  prompt(run);
  issue(run, 1);
  assert.equal(run.state(), "running");
  return run;
}

const catalog = sealCatalog([toolOf("look")]);

function issue(run: Run, renewal: number, ...failed: readonly string[]): void {
  const why = failure("mcp_connect_failed", "It did not start");
  const servers = failed.map((server) => ({ server, tools: 0, rejected: 0, failure: why }));
  run.send({ type: "catalog.issued", catalog, renewal, servers } as never, { sender: catalogRoot });
}

function prompt(run: Run): void {
  run.send({ type: "session.prompt", text: "Hello" } as never);
}

function makeStale(run: Run, rule: string): void {
  run.send({ type: "catalog.stale", server: "docs", rule } as never, { sender: catalogRoot });
}

function finish(run: Run): void {
  run.settle("model.generate", modelAnswer("Done."));
}

function renewals(run: Run): readonly unknown[] {
  return run.notes().filter(({ type }) => type === "catalog.renewing").map(({ body }) => body);
}

Deno.test("session asks its servers before the next turn for what became stale, once, and says why (AR-15)", () => {
  for (const rule of ["list_changed", "disconnect"]) {
    const run = inTurn();
    const { catalog: frozen } = run.argsOf("model.generate") as PortArgs<"model.generate">;
    makeStale(run, rule);
    makeStale(run, rule);
    assert.deepEqual([run.state(), renewals(run).length], ["running", 1]);
    finish(run);
    prompt(run);
    assert.deepEqual([run.state(), renewals(run)], ["renewing", [{ renewal: 1, rule: "declared" }, {
      renewal: 2,
      rule,
    }]]);
    issue(run, 2);
    finish(run);
    prompt(run);
    assert.deepEqual([run.state(), renewals(run).length], ["running", 2]);
    assert.deepEqual((run.argsOf("model.generate") as PortArgs<"model.generate">).catalog, frozen);
  }
});

Deno.test("session reuses what is fresh when a turn starts, and asks for what is old (AR-15)", () => {
  const run = inTurn();
  finish(run);
  run.now += limits.mcpListAgeMs - 1_000;
  prompt(run);
  assert.equal(run.state(), "running");
  finish(run);
  run.now += 2_000;
  prompt(run);
  assert.deepEqual([run.state(), renewals(run).at(-1)], ["renewing", { renewal: 2, rule: "age" }]);
});

Deno.test("session loses no word of a change that comes while it asks (AR-15)", () => {
  const run = inTurn();
  makeStale(run, "list_changed");
  finish(run);
  prompt(run);
  makeStale(run, "disconnect");
  issue(run, 2);
  assert.equal(run.state(), "running");
  finish(run);
  prompt(run);
  assert.deepEqual(renewals(run).at(-1), { renewal: 3, rule: "disconnect" });
  issue(run, 3, "docs");
  finish(run);
  prompt(run);
  assert.deepEqual(renewals(run).at(-1), { renewal: 4, rule: "failed" });
});
