/** Whether a catalog is sealed, issued once per content, and follows its sources. */
import assert from "node:assert/strict";
import { catalogMachine } from "../../actors/catalog.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import type { CatalogSource, ResolvedCatalog } from "../../schemas/catalog.ts";
import { HostPolicy } from "../../schemas/config.ts";
import { sourceOf, startRun, toolOf } from "../support/desk.ts";

function hash(letter: string): string {
  return `sha256:${letter.repeat(64)}`;
}

const remote = sourceOf("mcp", [toolOf("search")]);

/** A catalog actor for these sources. */
function start(sources: readonly CatalogSource[]) {
  return startRun(catalogMachine, {
    address: "catalog/ses_1",
    subscriber: "session/ses_1",
    coreRevision: "core-1",
    agent: AgentDefinition.parse({ name: "clerk", model: "scripted/script.yaml" }),
    policy: HostPolicy.parse({}),
    sources,
  });
}

function issued(letter: string, epoch: number) {
  return { hash: hash(letter), epoch };
}

function change(sources: readonly CatalogSource[]) {
  return { type: "catalog.change", sources };
}

Deno.test("catalog seals what it resolved and then tells its subscriber", () => {
  const run = start([remote]);
  assert.deepEqual([run.state(), run.kinds()], ["sealing", ["catalog.seal"]]);
  assert.deepEqual(run.messages(), []);
  run.settle("catalog.seal", issued("a", 1));
  assert.equal(run.state(), "ready");
  assert.ok(run.hasTag("rest"));
  const message = { type: "catalog.issued", catalog: issued("a", 1), renewal: 0, servers: [] };
  assert.deepEqual(run.messages(), [{ to: "session/ses_1", type: "catalog.issued", message }]);
});

// Proves AR-2, DM-5: a change opens a new epoch, the old catalog is never touched.
Deno.test("catalog issues a new epoch when its sources change", () => {
  const run = start([]);
  run.settle("catalog.seal", issued("a", 1));
  run.send(change([remote]));
  const { catalog } = run.argsOf("catalog.seal") as { catalog: ResolvedCatalog };
  assert.deepEqual([catalog.epoch, catalog.entries.length], [2, 1]);
  run.settle("catalog.seal", issued("b", 2));
  run.send(change([]));
  run.settle("catalog.seal", issued("c", 3));
  assert.deepEqual(run.messages().map((one) => one.type), Array(3).fill("catalog.issued"));
});

Deno.test("catalog issues nothing new for equal content", () => {
  const run = start([remote, sourceOf("agent", [toolOf("greet")])]);
  run.settle("catalog.seal", issued("a", 1));
  run.send(change([sourceOf("agent", [toolOf("greet")]), remote]));
  assert.equal(run.state(), "ready");
  assert.deepEqual([run.kinds().length, run.messages().length], [1, 1]);
});

Deno.test("catalog remembers a change that comes while it seals", () => {
  const run = start([]);
  run.send(change([sourceOf("agent", [toolOf("greet")])]));
  run.send(change([remote]));
  assert.deepEqual([run.state(), run.kinds().length], ["sealing", 1]);
  run.settle("catalog.seal", issued("a", 1));
  assert.deepEqual([run.state(), run.kinds().length], ["sealing", 2]);
  const { catalog } = run.argsOf("catalog.seal") as { catalog: ResolvedCatalog };
  assert.deepEqual([catalog.epoch, catalog.entries.map((entry) => entry.canonicalName)], [2, [
    "mcp.docs.search",
  ]]);
  run.send(change([remote]));
  run.settle("catalog.seal", issued("b", 2));
  assert.deepEqual([run.state(), run.kinds().length, run.context()["waiting"]], ["ready", 2, null]);
});

Deno.test("catalog tells its subscriber why there is none, and tries again when sources change", () => {
  const twice = [remote, sourceOf("mcp", [toolOf("search")])];
  const run = start(twice);
  assert.equal(run.state(), "refused");
  assert.ok(run.hasTag("rest"));
  assert.equal(run.messages()[0]?.type, "catalog.refused");
  run.send(change([remote]));
  run.settle("catalog.seal", issued("a", 2));
  assert.equal(run.state(), "ready");
  run.send(change(twice));
  assert.deepEqual(run.messages().map((one) => one.type), [
    "catalog.refused",
    "catalog.issued",
    "catalog.refused",
  ]);
});

Deno.test("catalog refuses when it cannot be sealed", () => {
  const run = start([]);
  run.fail("catalog.seal", { code: "catalog_unavailable" });
  assert.equal(run.state(), "refused");
  run.send(change([]));
  run.settle("catalog.seal", "no reference");
  assert.equal(run.state(), "refused");
  assert.deepEqual(run.messages().map((one) => one.type), ["catalog.refused", "catalog.refused"]);
});

Deno.test("catalog notes the tools that it dropped", () => {
  const run = start([sourceOf("mcp", [toolOf("subagent_wait")])]);
  assert.equal(run.notes()[0]?.type, "catalog.tools_dropped");
  assert.equal((run.notes()[0]?.body as { count: number }).count, 1);
});

Deno.test("catalog answers the command that brought a change", () => {
  const run = start([]);
  run.settle("catalog.seal", issued("a", 1));
  const command = { principal: "operator:local", key: "k1" };
  run.send(change([]), { command });
  assert.deepEqual(run.desk.posts.at(-1), {
    kind: "reply",
    command,
    status: "ok",
    value: { result: "accepted" },
  });
});
