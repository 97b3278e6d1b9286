/** Whether a connection opens only what it may, answers everybody who waits, and does not run after a broken server. */
import assert from "node:assert/strict";
import type { PortArgs } from "../../schemas/effect.ts";
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import {
  catalogRoot,
  type ConnectionRun,
  declarationOf,
  end,
  greeting,
  listing,
  startConnection,
} from "../support/connection.ts";

const asked = declarationOf({ gate: "prompt" });

Deno.test("connection rests until somebody wants it, and then starts a granted server without a question", () => {
  const run = startConnection();
  assert.deepEqual([run.state(), run.hasTag("rest"), run.kinds()], ["idle", true, []]);
  run.open("a");
  assert.deepEqual([run.state(), run.pending(), run.launch()], ["connecting", ["mcp.connect"], 1]);
  const connect = run.desk.asks[0]?.request;
  assert.deepEqual([connect?.effect, connect?.mechanism], ["conditional", "verify"]);
  assert.equal(connect?.deadlineAtMs, 1_001 + 30_000);
  run.settle("mcp.connect", greeting);
  assert.deepEqual([run.state(), run.pending()], ["listing", ["mcp.list"]]);
  assert.equal(run.desk.asks[1]?.request.deadlineAtMs, 1_002 + limits.mcpListMs);
  assert.deepEqual([run.replies(), run.offers()], [[], []]);
  run.settle("mcp.list", listing);
  assert.deepEqual([run.state(), run.hasTag("rest"), run.pending()], ["ready", true, ["mcp.watch"]]);
});

Deno.test("connection answers everybody who waits, and its catalog, once it is ready", () => {
  const run = startConnection(asked);
  run.open("a");
  run.open("b");
  run.answer("allow");
  run.open("c");
  run.settle("mcp.connect", greeting);
  run.open("d");
  run.open();
  assert.deepEqual([run.replies(), run.offers()], [[], []]);
  run.settle("mcp.list", listing);
  assert.deepEqual(run.replies(), ["a ready", "b ready", "c ready", "d ready"]);
  assert.deepEqual(run.messages(), [{
    to: catalogRoot,
    type: "connection.offered",
    message: {
      type: "connection.offered",
      report: { server: "docs", tools: 2, rejected: 1 },
      offer: `sha256:${"d".repeat(64)}`,
    },
  }]);
});

Deno.test("connection that is ready answers at once whoever wants it", () => {
  const run = startConnection();
  run.makeReady();
  run.open("later");
  run.open();
  assert.deepEqual([run.replies(), run.offers()], [["later ready"], ["2 tools", "2 tools", "2 tools"]]);
  assert.deepEqual([run.state(), run.pending(), run.launch()], ["ready", ["mcp.watch"], 1]);
});

// Proves DM-54, DM-55: nothing is started before the answer, and only a plain yes is one.
Deno.test("connection asks a person before it starts a server whose gate is prompt", () => {
  for (const decision of ["allow", "deny", "always_allow_for_session", "run_again"] as const) {
    const run = startConnection(asked);
    run.open("a");
    assert.deepEqual([run.state(), run.kinds()], ["asking", ["question.ask"]]);
    const { subject } = run.argsOf("question.ask") as PortArgs<"question.ask">;
    assert.deepEqual([subject.kind, subject.tool, subject.preview], ["connect", "mcp.docs", "docs-server"]);
    assert.equal(run.desk.asks[0]?.request.deadlineAtMs, 1_001 + limits.questionOpenMs);
    run.answer(decision);
    assert.equal(run.child("question"), undefined);
    const isStarted = decision === "allow";
    assert.deepEqual([run.state(), run.pending()], [
      isStarted ? "connecting" : "failed",
      isStarted ? ["mcp.connect"] : [],
    ]);
    assert.deepEqual(run.replies(), isStarted ? [] : ["a mcp_connect_denied"]);
    assert.deepEqual(run.offers(), isStarted ? [] : ["mcp_connect_denied"]);
  }
});

Deno.test("connection starts nothing if nobody answers in time, or nobody is there to be asked (DM-34)", () => {
  for (
    const [status, code, why] of [
      ["timed_out", "approval_expired", /nobody answered in time/],
      ["failed", "approval_unavailable", /nobody is there to be asked/],
    ] as const
  ) {
    const run = startConnection(asked);
    run.open("a");
    run.fail("question.ask", { status, code });
    assert.deepEqual([run.state(), run.kinds()], ["failed", ["question.ask"]]);
    assert.deepEqual([run.replies(), run.offers()], [["a mcp_connect_denied"], ["mcp_connect_denied"]]);
    assert.match((run.context()["failure"] as { message: string }).message, why);
  }
});

Deno.test("connection asks once for one declaration, however often its server is started", () => {
  const run = startConnection(asked);
  run.open();
  run.answer("allow");
  run.settle("mcp.connect", greeting);
  run.settle("mcp.list", listing);
  run.crash();
  run.open();
  assert.deepEqual([run.state(), run.kinds().filter((kind) => kind === "question.ask").length], [
    "connecting",
    1,
  ]);
});

// Proves DM-58: a denial is looked at again each time, another failure is kept for a while.
Deno.test("connection asks again after a denial, whenever somebody wants it", () => {
  const run = startConnection(asked);
  run.open("a");
  run.answer("deny");
  run.open("b");
  assert.deepEqual([run.state(), run.pending(), run.replies()], [
    "asking",
    ["question.ask"],
    ["a mcp_connect_denied"],
  ]);
  run.answer("allow");
  assert.equal(run.state(), "connecting");
});

Deno.test("connection fails without asking anybody for a server that cannot or must not be started", () => {
  const problem = failure("mcp_working_folder_refused", "The folder is outside the workspace");
  const obstacles = [
    ["mcp_disabled", { manifest: { enabled: false }, gate: "prompt" }],
    ["mcp_working_folder_refused", { problem, gate: "prompt" }],
    ["mcp_connect_denied", { gate: "denied" }],
    // What the host knows comes before what policy says.
    ["mcp_working_folder_refused", { problem, gate: "denied" }],
  ] as const;
  for (const [code, sketch] of obstacles) {
    const run = startConnection(declarationOf(sketch));
    run.open("a");
    run.open();
    assert.deepEqual([run.state(), run.kinds(), run.launch()], ["failed", [], 0]);
    assert.deepEqual([run.replies(), run.offers()], [[`a ${code}`], [code, code]]);
  }
});

// Proves DM-56: nothing is left of a server that did not answer in time; the performer ended it.
Deno.test("connection fails with what connecting failed with", () => {
  for (const status of ["failed", "timed_out"] as const) {
    const run = startConnection();
    run.open("a");
    run.open();
    run.fail("mcp.connect", { status, code: "mcp_connect_timed_out" });
    assert.deepEqual([run.state(), run.pending()], ["backoff", ["timer.set"]]);
    assert.deepEqual([run.replies(), run.offers()], [["a mcp_connect_timed_out"], ["mcp_connect_timed_out"]]);
  }
});

// A process may be left of a start that was cut off.
Deno.test("connection that was cut off while it connected ends what is left, and starts again for those who wait", () => {
  const run = startConnection();
  run.open("a");
  run.fail("mcp.connect", { status: "unknown", code: "tool_outcome_unknown" });
  assert.deepEqual([run.state(), run.pending(), run.argsOf("mcp.close")], ["closing", ["mcp.close"], {
    launch: 1,
    drainMs: limits.mcpDrainMs,
  }]);
  run.settle("mcp.close", end);
  assert.deepEqual([run.state(), run.launch(), run.replies()], ["connecting", 2, []]);
  assert.equal(run.desk.asks.at(-1)?.request.deadlineAtMs, 1_003 + 30_000);
  run.settle("mcp.connect", greeting);
  run.settle("mcp.list", listing);
  assert.deepEqual([run.replies(), run.offers()], [["a ready"], ["2 tools"]]);
});

// A performer that breaks off each time would else be called for ever.
Deno.test("connection gives up on a start that is cut off three times, and tells those who wait", () => {
  const run = startConnection();
  run.open("a");
  for (let cutOff = 1; cutOff <= limits.attemptsConditionalMax; cutOff++) {
    assert.deepEqual([run.state(), run.launch()], ["connecting", cutOff]);
    run.fail("mcp.connect", { status: "unknown", code: "tool_outcome_unknown" });
    run.settle("mcp.close", end);
  }
  assert.deepEqual([run.state(), run.replies()], ["backoff", ["a tool_outcome_unknown"]]);
  assert.deepEqual(run.offers(), ["tool_outcome_unknown"]);
  // Whoever asks later begins to count anew.
  run.settle("timer.set", null);
  run.open("b");
  run.fail("mcp.connect", { status: "unknown", code: "tool_outcome_unknown" });
  run.settle("mcp.close", end);
  assert.deepEqual([run.state(), run.launch()], ["connecting", 5]);
});

Deno.test("connection ends a server whose tools cannot be listed, and then fails", () => {
  const run = startConnection();
  run.open("a");
  run.settle("mcp.connect", greeting);
  run.fail("mcp.list", { code: "mcp_list_invalid" });
  assert.deepEqual([run.state(), run.pending(), run.replies()], ["closing", ["mcp.close"], []]);
  run.open("b");
  run.settle("mcp.close", end);
  assert.deepEqual([run.state(), run.offers()], ["backoff", ["mcp_list_invalid"]]);
  assert.deepEqual(run.replies(), ["a mcp_list_invalid", "b mcp_list_invalid"]);
});

Deno.test("connection ends a server whose greeting or listing is none", () => {
  for (
    const [settle, code] of [
      [(run: ConnectionRun) => run.settle("mcp.connect", { hello: true }), "mcp_connect_failed"],
      [(run: ConnectionRun) => {
        run.settle("mcp.connect", greeting);
        run.settle("mcp.list", { tools: 2 });
      }, "mcp_list_invalid"],
    ] as const
  ) {
    const run = startConnection();
    run.open("a");
    settle(run);
    assert.equal(run.state(), "closing");
    // However ending it comes out.
    run.fail("mcp.close");
    assert.deepEqual([run.replies(), run.offers()], [[`a ${code}`], [code]]);
    assert.equal(run.state(), code === "mcp_list_invalid" ? "backoff" : "failed");
  }
});

Deno.test("connection remembers why its server ended, tells nobody, and starts anew for the next who wants it", () => {
  const run = startConnection();
  run.makeReady();
  run.crash();
  assert.deepEqual([run.state(), run.hasTag("rest"), run.pending()], ["recovering", true, []]);
  assert.equal((run.context()["failure"] as { code: string }).code, "mcp_connection_lost");
  assert.deepEqual(run.offers(), ["2 tools"]);
  run.open("a");
  assert.deepEqual([run.state(), run.launch(), run.context()["failure"]], ["connecting", 2, null]);
  run.settle("mcp.connect", greeting);
  run.settle("mcp.list", { ...listing as object, tools: 3 });
  assert.deepEqual([run.replies(), run.offers()], [["a ready"], ["2 tools", "3 tools"]]);
});

// Proves I12: what is answered in one step must fit into one.
Deno.test("connection keeps 256 commands waiting, and refuses the next at once", () => {
  const run = startConnection();
  for (let n = 0; n < 250; n++) run.open(`o${n}`);
  for (let n = 0; n < 6; n++) run.close(`c${n}`);
  assert.deepEqual(run.replies(), []);
  run.open("no room");
  run.close("none either");
  run.open();
  assert.deepEqual(run.replies(), ["no room mailbox_full", "none either mailbox_full"]);
  run.fail("mcp.connect", { status: "canceled" });
  run.settle("mcp.close", end);
  assert.equal(run.replies().filter((reply) => reply.startsWith("c")).length, 6);
  run.settle("mcp.connect", greeting);
  run.settle("mcp.list", listing);
  assert.equal(run.replies().filter((reply) => reply.endsWith(" ready")).length, 250);
});
