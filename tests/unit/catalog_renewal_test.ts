/** Whether a catalog asks every server that it is told of, waits for all, and makes one catalog of what they offer. */
import assert from "node:assert/strict";
import { catalogMachine } from "../../actors/catalog.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import type { CatalogSource, ResolvedCatalog } from "../../schemas/catalog.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { McpListing } from "../../schemas/effect.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import { connectionAddress } from "../../schemas/ids.ts";
import type { ServerReport } from "../../schemas/message.ts";
import { catalogRoot, listingOf, session } from "../support/connection.ts";
import { type Run, sourceOf, startRun, toolOf } from "../support/desk.ts";

const builtIn = sourceOf("runtime", [toolOf("look")]);
const down = failure("mcp_connect_failed", "The server did not start");
const docs = listingOf("docs", [toolOf("search"), toolOf("read")]);
const wiki = listingOf("wiki", [toolOf("search")]);

function sealed(letter: string, epoch: number) {
  return { hash: `sha256:${letter.repeat(64)}`, epoch };
}

/** A catalog before its first seal. */
function start(sources: readonly CatalogSource[] = [builtIn]): Run {
  return startRun(catalogMachine, {
    address: catalogRoot,
    subscriber: session,
    coreRevision: "core-1",
    agent: AgentDefinition.parse({ name: "clerk", model: "scripted/script.yaml", tools: ["look"] }),
    policy: HostPolicy.parse({}),
    sources,
  });
}

/** A catalog that was issued once, without servers. */
function issuedOnce(sources?: readonly CatalogSource[]): Run {
  const run = start(sources);
  run.settle("catalog.seal", sealed("a", 1));
  return run;
}

function renew(run: Run, renewal: number, ...servers: readonly string[]): void {
  const asked = servers.map((server) => ({ server, connection: connectionAddress(server, session) }));
  run.send({ type: "catalog.renew", renewal, servers: asked } as never, { sender: session });
}

/** What a server's connection says: its tools, or why there are none. */
function offer(run: Run, server: string, found: McpListing | Failure): void {
  const report: ServerReport = "code" in found
    ? { server, tools: 0, rejected: 0, failure: found }
    : { server, tools: found.tools, rejected: found.rejectedCount };
  const message = { type: "connection.offered", report, offer: "code" in found ? null : found.offer };
  run.send(message as never, { sender: connectionAddress(server, session) });
}

/** Full names of the tools in the catalog that was sealed last. */
function names(run: Run): readonly string[] {
  const { catalog } = run.argsOf("catalog.seal") as { readonly catalog: ResolvedCatalog };
  return catalog.entries.map((entry) => entry.canonicalName);
}

interface Told {
  readonly type: string;
  readonly renewal: number;
  readonly catalog?: { readonly hash: string };
  readonly failure?: Failure;
  readonly servers?: readonly ServerReport[];
}

/** What the session was told so far. */
function told(run: Run): readonly Told[] {
  return run.messages().filter(({ to }) => to === session).map(({ message }) => message as Told);
}

/** What the session was told last, in short: `issued a 2`, or `refused <code> 2`. */
function last(run: Run): string {
  const { type, renewal, catalog, failure: why } = told(run).at(-1) ?? assert.fail("nothing was told");
  return `${type.split(".")[1]} ${catalog?.hash.slice(-1) ?? why?.code} ${renewal}`;
}

function opened(run: Run): readonly string[] {
  return run.messages().filter(({ type }) => type === "connection.open").map(({ to }) => to);
}

function epochOf(run: Run): unknown {
  return run.context()["epoch"];
}

Deno.test("catalog opens every connection of a renewal, waits for all, and issues once", () => {
  const run = issuedOnce();
  renew(run, 1, "docs", "wiki");
  assert.deepEqual([run.state(), run.hasTag("rest")], ["gathering", false]);
  assert.deepEqual(opened(run), ["connection/docs@ses_1", "connection/wiki@ses_1"]);
  offer(run, "wiki", wiki);
  assert.deepEqual([run.state(), told(run).length, run.pending()], ["gathering", 1, []]);
  offer(run, "docs", docs);
  assert.deepEqual([run.state(), names(run), epochOf(run)], ["sealing", [
    "look",
    "mcp.docs.read",
    "mcp.docs.search",
    "mcp.wiki.search",
  ], 2]);
  run.settle("catalog.seal", sealed("b", 2));
  assert.equal(run.state(), "ready");
  assert.deepEqual(told(run).slice(1), [{
    type: "catalog.issued",
    catalog: sealed("b", 2),
    renewal: 1,
    // In the order of the servers, not of their answers.
    servers: [{ server: "docs", tools: 2, rejected: 0 }, { server: "wiki", tools: 1, rejected: 0 }],
  }]);
});

// Proves LC-12 for two servers: neither takes the other's name.
Deno.test("catalog takes tools of one name from two servers, each under its own", () => {
  const run = issuedOnce();
  renew(run, 1, "docs", "wiki");
  offer(run, "docs", listingOf("docs", [toolOf("search")]));
  offer(run, "wiki", wiki);
  const { catalog } = run.argsOf("catalog.seal") as { readonly catalog: ResolvedCatalog };
  const entries = catalog.entries.filter(({ sourceKind }) => sourceKind === "mcp").map((
    { providerName, binding, adapter },
  ) => [
    providerName,
    binding,
    adapter,
  ]);
  assert.deepEqual(entries, [
    ["docs__search", "connection/docs@ses_1", "mcp"],
    ["wiki__search", "connection/wiki@ses_1", "mcp"],
  ]);
});

// Proves DM-56: one server does not stop the others.
Deno.test("catalog reports a server that failed, and has the tools of the others", () => {
  const run = issuedOnce();
  renew(run, 1, "docs", "wiki");
  offer(run, "docs", down);
  offer(run, "wiki", wiki);
  assert.deepEqual(names(run), ["look", "mcp.wiki.search"]);
  run.settle("catalog.seal", sealed("b", 2));
  assert.deepEqual(told(run).at(-1)?.servers, [
    { server: "docs", tools: 0, rejected: 0, failure: down },
    { server: "wiki", tools: 1, rejected: 0 },
  ]);
});

Deno.test("catalog confirms what it issued if a renewal brings nothing new, with the reports of this time", () => {
  const run = issuedOnce();
  renew(run, 1, "docs");
  offer(run, "docs", down);
  assert.deepEqual([run.state(), last(run), epochOf(run), run.kinds().length], [
    "ready",
    "issued a 1",
    1,
    1,
  ]);
  assert.equal(told(run).at(-1)?.servers?.[0]?.failure?.code, "mcp_connect_failed");
  const empty = listingOf("docs", []);
  renew(run, 2, "docs");
  offer(run, "docs", empty);
  assert.deepEqual([last(run), epochOf(run), run.kinds().length], ["issued a 2", 1, 1]);
  assert.deepEqual(told(run).at(-1)?.servers, [{ server: "docs", tools: 0, rejected: 0 }]);
  renew(run, 3);
  assert.deepEqual([last(run), told(run).at(-1)?.servers], ["issued a 3", []]);
});

// Proves AR-42: what is removed is gone.
Deno.test("catalog forgets the tools of a server that a renewal does not name", () => {
  const run = issuedOnce();
  renew(run, 1, "docs", "wiki");
  offer(run, "docs", docs);
  offer(run, "wiki", wiki);
  run.settle("catalog.seal", sealed("b", 2));
  renew(run, 2, "wiki");
  offer(run, "docs", docs);
  assert.equal(run.state(), "gathering");
  offer(run, "wiki", wiki);
  assert.deepEqual(names(run), ["look", "mcp.wiki.search"]);
  run.settle("catalog.seal", sealed("c", 3));
  renew(run, 3);
  assert.deepEqual([run.state(), names(run)], ["sealing", ["look"]]);
  run.settle("catalog.seal", sealed("d", 4));
  assert.deepEqual([last(run), told(run).at(-1)?.servers], ["issued d 3", []]);
});

// Proves AR-43: nobody gets into a catalog uninvited.
Deno.test("catalog passes over what a connection offers that it did not ask", () => {
  const run = issuedOnce();
  offer(run, "wiki", wiki);
  renew(run, 1, "docs");
  offer(run, "wiki", wiki);
  run.send(
    {
      type: "connection.offered",
      report: { server: "docs", tools: 1, rejected: 0 },
      offer: wiki.offer,
    } as never,
  );
  assert.deepEqual([run.state(), told(run).length], ["gathering", 1]);
  offer(run, "docs", docs);
  assert.deepEqual(names(run), ["look", "mcp.docs.read", "mcp.docs.search"]);
});

Deno.test("catalog keeps a renewal that comes while it seals, and begins it afterwards", () => {
  const run = start();
  renew(run, 1, "docs");
  renew(run, 2, "wiki");
  assert.deepEqual([run.state(), opened(run)], ["sealing", []]);
  run.settle("catalog.seal", sealed("a", 1));
  assert.deepEqual([last(run), run.state(), opened(run)], [
    "issued a 0",
    "gathering",
    ["connection/wiki@ses_1"],
  ]);
  offer(run, "wiki", wiki);
  run.settle("catalog.seal", sealed("b", 2));
  assert.equal(last(run), "issued b 2");
});

Deno.test("catalog answers the renewal at hand before it begins the one that came meanwhile", () => {
  const run = issuedOnce();
  renew(run, 1, "docs");
  renew(run, 2, "docs", "wiki");
  assert.deepEqual(opened(run), ["connection/docs@ses_1"]);
  offer(run, "docs", docs);
  run.settle("catalog.seal", sealed("b", 2));
  assert.deepEqual([last(run), run.state()], ["issued b 1", "gathering"]);
  assert.equal(opened(run).length, 3);
  offer(run, "docs", docs);
  offer(run, "wiki", down);
  assert.deepEqual([last(run), run.state()], ["issued b 2", "ready"]);
});

Deno.test("catalog takes other sources that come while it gathers or seals for a renewal", () => {
  const run = issuedOnce();
  const change = { type: "catalog.change", sources: [builtIn, sourceOf("agent", [toolOf("greet")])] };
  renew(run, 1, "docs");
  run.send(change);
  assert.equal(run.state(), "gathering");
  offer(run, "docs", docs);
  assert.deepEqual(names(run), ["greet", "look", "mcp.docs.read", "mcp.docs.search"]);
  run.send({ type: "catalog.change", sources: [builtIn] } as never);
  offer(run, "docs", down);
  run.settle("catalog.seal", sealed("b", 2));
  assert.deepEqual([last(run), run.state(), names(run)], ["issued b 1", "sealing", ["look"]]);
  run.settle("catalog.seal", sealed("c", 3));
  assert.equal(last(run), "issued c 0");
});

// Proves DM-10.
Deno.test("catalog refuses a server's tool that is called as another, names both, and answers the renewal", () => {
  const run = issuedOnce([sourceOf("agent", [toolOf("docs__search")]), builtIn]);
  renew(run, 1, "docs");
  offer(run, "docs", docs);
  assert.deepEqual([run.state(), run.hasTag("rest"), last(run)], [
    "refused",
    true,
    "refused tool_name_collision 1",
  ]);
  const { message } = told(run).at(-1)?.failure ?? assert.fail();
  for (const origin of ["server docs", "tools/", "docs__search"]) {
    assert.ok(message.includes(origin), message);
  }
  renew(run, 2);
  run.settle("catalog.seal", sealed("b", 3));
  assert.deepEqual([last(run), names(run)], ["issued b 2", ["docs__search", "look"]]);
});

// What was issued before has not the tools that the reports speak of.
Deno.test("catalog whose seal failed seals again at the next renewal, and does not confirm an older one", () => {
  for (const spoil of ["fail", "settle"] as const) {
    const run = issuedOnce();
    renew(run, 1, "docs");
    offer(run, "docs", docs);
    if (spoil === "fail") run.fail("catalog.seal", { code: "catalog_unavailable" });
    else run.settle("catalog.seal", "no reference");
    assert.deepEqual([run.state(), last(run)], ["refused", "refused catalog_unavailable 1"]);
    renew(run, 2, "docs");
    offer(run, "docs", docs);
    assert.deepEqual([run.state(), told(run).length], ["sealing", 2]);
    run.settle("catalog.seal", sealed("b", 3));
    assert.equal(last(run), "issued b 2");
  }
});

Deno.test("catalog opens a new epoch when a server offers something else by itself", () => {
  const run = issuedOnce();
  renew(run, 1, "docs");
  offer(run, "docs", docs);
  run.settle("catalog.seal", sealed("b", 2));
  offer(run, "docs", docs);
  assert.deepEqual([run.state(), told(run).length], ["ready", 2]);
  offer(run, "docs", listingOf("docs", [toolOf("search")]));
  assert.deepEqual([run.state(), names(run), epochOf(run)], ["sealing", ["look", "mcp.docs.search"], 3]);
  run.settle("catalog.seal", sealed("c", 3));
  assert.deepEqual([last(run), run.state()], ["issued c 0", "ready"]);
});
