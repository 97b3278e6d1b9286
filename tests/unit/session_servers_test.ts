/** Whether a session has the tools of its servers before a turn, and takes other servers between turns only. */
import assert from "node:assert/strict";
import { sessionMachine } from "../../actors/session.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import type { CatalogRef } from "../../schemas/catalog.ts";
import type { PortArgs } from "../../schemas/effect.ts";
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import type { ServerReport, SessionServer } from "../../schemas/message.ts";
import { localOperator } from "../../schemas/principal.ts";
import { modelAnswer, sealCatalog, toolReturn } from "../support/calls.ts";
import { catalogRoot, repliesOf, serverOf, session } from "../support/connection.ts";
import { type Run, startRun, toolOf } from "../support/desk.ts";

const agent = AgentDefinition.parse({ name: "test", model: "scripted/test" });
const bare = sealCatalog([toolOf("look")]);
const full = sealCatalog([toolOf("look"), toolOf("search")], {}, 2);
const later = sealCatalog([toolOf("search")], {}, 3);
const docs = serverOf("docs");
const wiki = serverOf("wiki");
const docsAnew = serverOf("docs", { manifest: { args: ["--other"] } });
const why = failure("tool_name_collision", "Two tools are called search");

/** A session that waits for its first catalog. */
function begin(servers: readonly SessionServer[]): Run {
  const roots = { address: session, catalog: catalogRoot, mode: "default" as const };
  const input = { ...roots, agent, home: "embedded:test", principal: localOperator, servers };
  return startRun(sessionMachine, input);
}

/** A session with these servers, which has its first catalog. */
function open(servers: readonly SessionServer[] = [docs]): Run {
  const run = begin(servers);
  issue(run, bare, 0);
  return run;
}

/** Tells the session of a catalog; `failed` are servers that could not be used. */
function issue(run: Run, catalog: CatalogRef, renewal: number, ...failed: readonly string[]): void {
  const servers = failed.map((server): ServerReport => ({
    server,
    tools: 0,
    rejected: 0,
    failure: failure("mcp_connect_failed", "It did not start"),
  }));
  run.send({ type: "catalog.issued", catalog, renewal, servers } as never, { sender: catalogRoot });
}

function refuse(run: Run, renewal: number): void {
  run.send({ type: "catalog.refused", failure: why, renewal } as never, { sender: catalogRoot });
}

function stamp(key: string) {
  return { command: { principal: "operator:local", key } };
}

function prompt(run: Run, key: string): void {
  run.send({ type: "session.prompt", text: "Hello" } as never, stamp(key));
}

function cancel(run: Run, key: string): void {
  run.send({ type: "session.cancel", reason: "enough" } as never, stamp(key));
}

function declare(run: Run, servers: readonly SessionServer[], key = "declare"): void {
  run.send({ type: "session.servers", servers } as never, stamp(key));
}

/** Ends the turn that runs. */
function finish(run: Run): void {
  run.settle("model.generate", modelAnswer("Done."));
}

/** What was posted to others, in short: `renew 1: docs`, `close docs`, `declare docs`. */
function told(run: Run): readonly string[] {
  const nameIn = (address: string) => address.replace(/^.*\/|@.*$/g, "");
  return run.messages().map(({ to, type, message }) => {
    if (type !== "catalog.renew") return `${type.replace(/^.*\./, "")} ${nameIn(to)}`;
    assert.equal(to, catalogRoot);
    const { renewal, servers } = message as { renewal: number; servers: readonly { connection: string }[] };
    return `renew ${renewal}: ${servers.map(({ connection }) => nameIn(connection))}`;
  });
}

/** The catalog that the latest turn was given. */
function catalogOfTurn(run: Run): unknown {
  return (run.argsOf("model.generate") as PortArgs<"model.generate">).catalog;
}

/** A session in the turn of the prompt `a`, with its servers' tools. */
function inTurn(servers?: readonly SessionServer[]): Run {
  const run = open(servers);
  prompt(run, "a");
  issue(run, full, 1);
  assert.equal(run.state(), "running");
  return run;
}

Deno.test("session without servers starts a turn at once and renews nothing", () => {
  const run = open([]);
  prompt(run, "a");
  assert.deepEqual([run.state(), told(run), catalogOfTurn(run)], ["running", [], bare]);
});

Deno.test("session with servers starts its first turn with the catalog that answers its renewal", () => {
  const run = open([docs, wiki]);
  assert.deepEqual([run.state(), told(run)], ["idle", []]);
  prompt(run, "a");
  assert.deepEqual([run.state(), run.hasTag("rest"), told(run)], ["renewing", false, ["renew 1: docs,wiki"]]);
  assert.deepEqual(run.kinds(), []);
  const at = run.now;
  issue(run, full, 1);
  assert.deepEqual([run.state(), catalogOfTurn(run)], ["running", full]);
  assert.equal(run.desk.asks[0]?.request.deadlineAtMs, at + limits.modelCallDurationMs);
});

// Whatever else the catalog says meanwhile is noted, but is no answer.
Deno.test("session starts its turn at the answer to its own renewal and at no other", () => {
  const run = open();
  prompt(run, "a");
  for (const renewal of [0, 2]) {
    issue(run, later, renewal);
    refuse(run, renewal);
  }
  assert.deepEqual([run.state(), run.kinds(), repliesOf(run)], ["renewing", [], []]);
  issue(run, full, 1);
  assert.deepEqual([run.state(), catalogOfTurn(run)], ["running", full]);
});

// Proves DM-58: only a server that failed is tried again; a good one is not asked before each turn.
Deno.test("session tries a failed server again before the next turn, and asks no more once all are well", () => {
  const run = open([docs, wiki]);
  prompt(run, "a");
  issue(run, bare, 1, "wiki");
  assert.deepEqual([run.state(), catalogOfTurn(run)], ["running", bare]);
  finish(run);
  assert.deepEqual([run.state(), told(run).length], ["idle", 1]);
  prompt(run, "b");
  assert.deepEqual([run.state(), told(run)], ["renewing", ["renew 1: docs,wiki", "renew 2: docs,wiki"]]);
  issue(run, full, 2);
  finish(run);
  prompt(run, "c");
  assert.deepEqual([run.state(), catalogOfTurn(run), told(run).length], ["running", full, 2]);
});

Deno.test("session keeps prompts that come while it renews, and renews once for all of them", () => {
  const run = open();
  for (const key of ["a", "b"]) prompt(run, key);
  issue(run, full, 1);
  for (let turn = 1; turn <= 2; turn++) finish(run);
  assert.deepEqual([told(run), repliesOf(run)], [["renew 1: docs"], ["a completed", "b completed"]]);
});

Deno.test("session refuses a prompt beyond its queue while it renews, for that reason", () => {
  const run = open();
  prompt(run, "first");
  refuse(run, 1);
  declare(run, [wiki]);
  for (let n = 0; n < limits.promptsQueuedMax; n++) prompt(run, `p${n}`);
  prompt(run, "one too many");
  assert.deepEqual([run.state(), repliesOf(run).at(-1)], ["renewing", "one too many prompt_queue_full"]);
});

Deno.test("session refuses its whole queue if its renewal is refused, until it has other servers", () => {
  const run = open();
  prompt(run, "a");
  prompt(run, "b");
  refuse(run, 1);
  assert.deepEqual([run.state(), run.hasTag("rest")], ["refused", true]);
  prompt(run, "c");
  assert.deepEqual(repliesOf(run), ["a", "b", "c"].map((key) => `${key} tool_name_collision`));
  // The same ones, too: what collided may be gone.
  declare(run, [docs]);
  assert.deepEqual([run.state(), repliesOf(run).at(-1)], ["idle", "declare declared"]);
  prompt(run, "d");
  issue(run, full, 2);
  assert.deepEqual([run.state(), catalogOfTurn(run)], ["running", full]);
});

// Proves AR-42.
Deno.test("session that is idle tells connections at once what changed, and renews before the next turn", () => {
  const run = inTurn([docs, wiki]);
  finish(run);
  declare(run, [docsAnew, serverOf("mail")]);
  assert.deepEqual(told(run).slice(1), ["close wiki", "declare docs", "declare mail"]);
  assert.deepEqual([run.state(), repliesOf(run).at(-1)], ["idle", "declare declared"]);
  prompt(run, "b");
  assert.deepEqual([run.state(), told(run).at(-1)], ["renewing", "renew 2: docs,mail"]);
  issue(run, later, 2);
  assert.deepEqual(catalogOfTurn(run), later);
});

// A resumed session must not offer what its servers no longer do.
// They may offer other tools than last time; who has none is not asked.
Deno.test("session that is told the servers it has tells no connection, but asks them before the next turn", () => {
  const run = inTurn();
  finish(run);
  declare(run, [docs]);
  assert.deepEqual(told(run), ["renew 1: docs"]);
  prompt(run, "b");
  assert.equal(told(run).at(-1), "renew 2: docs");
  const none = open([]);
  declare(none, []);
  prompt(none, "a");
  assert.deepEqual([none.state(), told(none)], ["running", []]);
});

// Proves AR-42: the turn that runs keeps its catalog and its connections, and DM-62: without declarations none is left.
Deno.test("session whose turn runs keeps everything until the turn has ended, and then has the servers told last", () => {
  const run = inTurn([docs, wiki]);
  declare(run, [wiki], "first");
  declare(run, [], "second");
  assert.deepEqual(repliesOf(run), ["first declared", "second declared"]);
  run.settle("model.generate", modelAnswer("", [{ name: "look" }]));
  run.settle("tool.call", toolReturn("seen"));
  assert.deepEqual([catalogOfTurn(run), told(run)], [full, ["renew 1: docs,wiki"]]);
  prompt(run, "b");
  finish(run);
  assert.deepEqual(told(run).slice(1), ["close docs", "close wiki", "renew 2: "]);
  issue(run, bare, 2);
  assert.deepEqual([run.state(), catalogOfTurn(run)], ["running", bare]);
});

Deno.test("session that renews runs the turn with what it asked for, and has other servers from the next on", () => {
  const run = open();
  prompt(run, "a");
  declare(run, [wiki]);
  assert.deepEqual([told(run), repliesOf(run)], [["renew 1: docs"], ["declare declared"]]);
  issue(run, full, 1);
  assert.deepEqual([run.state(), catalogOfTurn(run)], ["running", full]);
  prompt(run, "b");
  finish(run);
  assert.deepEqual([run.state(), told(run).slice(1)], ["renewing", [
    "close docs",
    "declare wiki",
    "renew 2: wiki",
  ]]);
});

Deno.test("session that renews takes other servers when the renewal is refused or canceled", () => {
  const ends = {
    tool_name_collision: (run: Run) => refuse(run, 1),
    turn_canceled: (run: Run) => cancel(run, "c"),
  };
  for (const [code, end] of Object.entries(ends)) {
    const run = open();
    prompt(run, "a");
    declare(run, [wiki]);
    end(run);
    assert.ok(repliesOf(run).includes(`a ${code}`));
    assert.deepEqual([run.state(), told(run).slice(1)], ["idle", ["close docs", "declare wiki"]]);
    prompt(run, "b");
    assert.equal(told(run).at(-1), "renew 2: wiki");
  }
});

Deno.test("session that is told of servers before it has a catalog renews with those", () => {
  const run = begin([docs]);
  prompt(run, "a");
  declare(run, [wiki]);
  assert.deepEqual([run.state(), told(run)], ["preparing", ["close docs", "declare wiki"]]);
  issue(run, bare, 0);
  assert.deepEqual([run.state(), told(run).at(-1)], ["renewing", "renew 1: wiki"]);
  // Nor can a turn start after the first catalog was refused, even if nothing is declared anew.
  const refused = begin([]);
  refuse(refused, 0);
  declare(refused, []);
  prompt(refused, "b");
  assert.deepEqual([refused.state(), told(refused)], ["renewing", ["renew 1: "]]);
});

Deno.test("session drops the prompt whose renewal is canceled, with an answer, and goes on with the next", () => {
  const run = open();
  prompt(run, "a");
  prompt(run, "b");
  cancel(run, "c");
  assert.deepEqual(repliesOf(run), ["a turn_canceled", "c stopped"]);
  assert.deepEqual([run.state(), told(run)], ["renewing", ["renew 1: docs", "renew 2: docs"]]);
  // The answer to the dropped one's renewal starts nothing.
  issue(run, later, 1);
  assert.equal(run.state(), "renewing");
  issue(run, full, 2);
  assert.deepEqual([run.state(), catalogOfTurn(run)], ["running", full]);
  finish(run);
  assert.equal(repliesOf(run).at(-1), "b completed");
});

// The late answer is about the servers of before.
Deno.test("session does not take the answer to a canceled renewal for one about servers told since", () => {
  const run = open();
  prompt(run, "a");
  cancel(run, "c");
  assert.equal(run.state(), "idle");
  declare(run, [wiki]);
  issue(run, full, 1);
  prompt(run, "b");
  assert.deepEqual([run.state(), told(run).at(-1)], ["renewing", "renew 2: wiki"]);
});
