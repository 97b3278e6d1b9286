/** Whether a connection takes every wish to close it or to declare it otherwise, in every state, and answers it once. */
import assert from "node:assert/strict";
import { connectionMachine } from "../../actors/connection.ts";
import { limits } from "../../schemas/limits.ts";
import {
  type ConnectionRun,
  declarationOf,
  end,
  greeting,
  listing,
  startConnection,
} from "../support/connection.ts";

const plain = declarationOf();
const other = declarationOf({ manifest: { args: ["--other"] } });
const asked = declarationOf({ gate: "prompt" });

/** Ways into every state that a message can come in. The waiter `w` is there wherever somebody can wait. */
const ways: { readonly [state: string]: () => ConnectionRun } = {
  idle: () => startConnection(),
  asking: () => {
    const run = startConnection(asked);
    run.open("w");
    return run;
  },
  connecting: () => {
    const run = startConnection();
    run.open("w");
    return run;
  },
  listing: () => {
    const run = ways["connecting"]!();
    run.settle("mcp.connect", greeting);
    return run;
  },
  ready: () => {
    const run = ways["listing"]!();
    run.settle("mcp.list", listing);
    return run;
  },
  closing: () => {
    const run = ways["listing"]!();
    run.fail("mcp.list", { code: "mcp_list_invalid" });
    return run;
  },
  draining: () => {
    const run = ways["ready"]!();
    run.close("first");
    return run;
  },
  closed: () => {
    const run = ways["draining"]!();
    run.settle("mcp.close", end);
    return run;
  },
  recovering: () => {
    const run = ways["ready"]!();
    run.crash();
    return run;
  },
  failed: () => {
    const run = ways["connecting"]!();
    run.fail("mcp.connect", { code: "mcp_connect_failed", retryable: false });
    return run;
  },
  backoff: () => {
    const run = ways["connecting"]!();
    run.fail("mcp.connect", { code: "mcp_connect_failed" });
    return run;
  },
  quarantined: () => {
    const run = ways["ready"]!();
    for (let crashes = 1; crashes < limits.mcpCrashesMax; crashes++) {
      run.crash();
      run.makeReady();
    }
    run.crash();
    return run;
  },
};

/** Lets every port that is pending end, until the connection rests: connecting comes back canceled if it was. */
function settleAll(run: ConnectionRun): void {
  for (let step = 0; step < 20 && !run.hasTag("rest"); step++) {
    const [port] = run.pending();
    if (port === "question.ask") run.answer("allow");
    else if (port === "mcp.close") run.settle("mcp.close", end);
    else if (port === "mcp.list") run.settle("mcp.list", listing);
    else if (run.desk.asks.at(-1)?.cancelAsked) run.fail("mcp.connect", { status: "canceled" });
    else run.settle("mcp.connect", greeting);
  }
  assert.ok(run.hasTag("rest"), `it does not come to rest: ${run.state()}`);
}

Deno.test("connection tests know a way into every state that a message can meet", () => {
  for (const [state, way] of Object.entries(ways)) assert.equal(way().state(), state);
  const { gating: _, unready: __, ...states } = connectionMachine.root.states;
  assert.deepEqual(Object.keys(ways).sort(), Object.keys(states).sort());
});

Deno.test("connection closes from every state, and answers the closer once, when nothing is left", () => {
  const atOnce: readonly unknown[] = [
    "idle",
    "asking",
    "closed",
    "recovering",
    "failed",
    "backoff",
    "quarantined",
  ];
  const ends: { readonly [state: string]: string } = {
    idle: "idle",
    closing: "backoff",
    failed: "failed",
    backoff: "backoff",
    quarantined: "quarantined",
  };
  for (const [state, way] of Object.entries(ways)) {
    const run = way();
    const before = run.replies().length;
    run.close("c");
    run.close();
    const told = run.replies().slice(before);
    assert.deepEqual(told.includes("c closed"), atOnce.includes(state), state);
    settleAll(run);
    assert.equal(run.state(), ends[state] ?? "closed", state);
    assert.deepEqual(run.pending(), run.state() === "backoff" ? ["timer.set"] : [], state);
    assert.deepEqual(run.replies().filter((reply) => reply === "c closed"), ["c closed"], state);
    const waiters = run.replies().filter((reply) => reply.startsWith("w "));
    assert.equal(waiters.length, state === "idle" ? 0 : 1, state);
  }
});

// Proves DM-64: closing wins a race with the start of a server. Proves K11: connecting is left by its outcome only.
Deno.test("connection that is closed while it connects waits for the port that it canceled, whatever comes of it", () => {
  const outcomes: readonly ((run: ConnectionRun) => void)[] = [
    (run) => run.settle("mcp.connect", greeting),
    (run) => run.settle("mcp.connect", "no greeting"),
    ...(["failed", "timed_out", "canceled", "unknown"] as const).map((status) => (run: ConnectionRun) =>
      run.fail("mcp.connect", { status })
    ),
  ];
  for (const outcome of outcomes) {
    const run = ways["connecting"]!();
    run.close("c");
    assert.deepEqual([run.state(), run.pending(), run.desk.asks[0]?.cancelAsked], [
      "connecting",
      ["mcp.connect"],
      true,
    ]);
    assert.deepEqual(run.replies(), []);
    outcome(run);
    assert.deepEqual([run.state(), run.pending(), run.argsOf("mcp.close")], ["closing", ["mcp.close"], {
      launch: 1,
      drainMs: limits.mcpDrainMs,
    }]);
    run.settle("mcp.close", end);
    assert.deepEqual([run.state(), run.launch()], ["closed", 1]);
    assert.deepEqual(run.replies(), ["w mcp_connection_closed", "c closed"]);
    assert.deepEqual(run.offers(), ["mcp_connection_closed"]);
  }
});

Deno.test("connection that is closed while a person is asked takes the question back", () => {
  const run = ways["asking"]!();
  run.close("c");
  assert.deepEqual([run.state(), run.child("question"), run.desk.asks[0]?.state], [
    "closed",
    undefined,
    "dropped",
  ]);
  assert.deepEqual([run.replies(), run.offers()], [
    ["w mcp_connection_closed", "c closed"],
    ["mcp_connection_closed"],
  ]);
  run.open("again");
  assert.equal(run.state(), "asking");
});

Deno.test("connection that is wanted again while it closes starts anew, and both are answered", () => {
  for (const state of ["connecting", "listing", "ready"]) {
    const run = ways[state]!();
    const before = run.replies().length;
    run.close("c");
    run.open("again");
    settleAll(run);
    assert.deepEqual([run.state(), run.launch()], ["ready", 2], state);
    const waiter = state === "ready" ? [] : ["w ready"];
    assert.deepEqual(run.replies().slice(before), ["c closed", ...waiter, "again ready"], state);
    // Whoever comes last is heard.
    const last = ways[state]!();
    last.close();
    last.open("again");
    last.close("c");
    settleAll(last);
    assert.equal(last.state(), "closed", state);
    assert.deepEqual(last.replies().slice(-2), ["again mcp_connection_closed", "c closed"], state);
  }
});

Deno.test("connection takes another declaration in every state, and its next server is that one", () => {
  for (const [state, way] of Object.entries(ways)) {
    const run = way();
    const before = run.replies().length;
    run.declare(other, "d");
    assert.equal(run.replies()[before], "d accepted", state);
    settleAll(run);
    run.open();
    settleAll(run);
    assert.deepEqual([run.state(), run.context()["next"]], ["ready", null], state);
    assert.deepEqual(run.context()["declaration"], other, state);
    const { declaration } = run.argsOf("mcp.connect") as { readonly declaration: unknown };
    assert.deepEqual(declaration, other, state);
    const waiters = run.replies().filter((reply) => reply.startsWith("w "));
    assert.equal(waiters.length, state === "idle" ? 0 : 1, state);
  }
});

Deno.test("connection that is declared otherwise serves those who wait under the new declaration", () => {
  for (const state of ["asking", "connecting", "listing", "closing"]) {
    const run = ways[state]!();
    run.declare(other);
    settleAll(run);
    assert.deepEqual([run.state(), run.replies(), run.offers()], ["ready", ["w ready"], ["2 tools"]], state);
    assert.deepEqual(run.context()["declaration"], other, state);
  }
});

// What is said of the old declaration does not hold for the new one.
Deno.test("connection does not keep an old declaration's failure for a new one", () => {
  const lateFailure = ways["connecting"]!();
  lateFailure.declare(other);
  lateFailure.fail("mcp.connect", { code: "mcp_connect_failed" });
  settleAll(lateFailure);
  assert.deepEqual([lateFailure.state(), lateFailure.replies()], ["ready", ["w ready"]]);
  const failed = ways["failed"]!();
  failed.declare(other);
  assert.deepEqual([failed.state(), failed.context()["failure"]], ["idle", null]);
  failed.open("b");
  assert.equal(failed.state(), "connecting");
});

Deno.test("connection that is declared as it was already goes on as it did", () => {
  for (const [state, way] of Object.entries(ways)) {
    const run = way();
    const [before, pending] = [run.replies().length, run.pending()];
    run.declare(state === "asking" ? asked : plain, "d");
    assert.deepEqual([run.state(), run.pending()], [state, pending], state);
    assert.deepEqual(run.replies().slice(before), ["d accepted"], state);
    assert.ok(run.desk.asks.every((ask) => !ask.cancelAsked), state);
  }
});

Deno.test("connection that is declared back before its server has ended still ends it first", () => {
  for (const state of ["connecting", "listing", "ready"]) {
    const run = ways[state]!();
    run.declare(other);
    run.declare(plain);
    run.open();
    settleAll(run);
    assert.deepEqual([run.state(), run.launch()], ["ready", 2], state);
    assert.deepEqual(run.context()["declaration"], plain, state);
  }
});

// Proves DM-62.
Deno.test("connection asks again for a changed declaration, and not for the same fingerprint", () => {
  const changed = declarationOf({ manifest: { args: ["--other"] }, gate: "prompt" });
  const renamed = declarationOf({ gate: "prompt", preview: "told in other words" });
  const same = { ...renamed, fingerprint: asked.fingerprint };
  for (const [next, state] of [[changed, "asking"], [same, "connecting"]] as const) {
    const run = startConnection(asked);
    run.open();
    run.answer("allow");
    run.settle("mcp.connect", greeting);
    run.settle("mcp.list", listing);
    run.declare(next);
    assert.deepEqual([run.state(), run.pending()], ["draining", ["mcp.close"]]);
    run.settle("mcp.close", end);
    assert.equal(run.state(), "closed");
    run.open();
    assert.deepEqual([run.state(), run.context()["isApproved"]], [state, state === "connecting"]);
  }
});

Deno.test("connection whose open question is about an old declaration asks about the new one, or not at all", () => {
  const changed = declarationOf({ manifest: { args: ["--other"] }, gate: "prompt", preview: "other" });
  const run = ways["asking"]!();
  run.declare(changed);
  assert.deepEqual([run.state(), run.pending(), run.desk.asks[0]?.state], [
    "asking",
    ["question.ask"],
    "dropped",
  ]);
  const { subject } = run.argsOf("question.ask") as { readonly subject: { readonly preview: string } };
  assert.equal(subject.preview, "other");
  const granted = ways["asking"]!();
  granted.declare({ ...asked, gate: "granted" });
  assert.deepEqual([granted.state(), granted.pending()], ["connecting", ["mcp.connect"]]);
  const denied = ways["asking"]!();
  denied.declare({ ...asked, gate: "denied" });
  assert.deepEqual([denied.state(), denied.replies()], ["failed", ["w mcp_connect_denied"]]);
});

// A restart of the runtime ends the server while it lists; whoever waits need not wait until a failure is forgotten.
Deno.test("connection whose server ends with its runtime while it lists starts it again for those who wait, three times in all", () => {
  const run = ways["listing"]!();
  for (let lost = 1; lost < limits.attemptsConditionalMax; lost++) {
    run.fail("mcp.list", { code: "interrupted", retryable: false });
    run.settle("mcp.close", end);
    assert.deepEqual([run.state(), run.launch(), run.replies()], ["connecting", lost + 1, []]);
    run.settle("mcp.connect", greeting);
  }
  run.fail("mcp.list", { code: "interrupted", retryable: false });
  run.settle("mcp.close", end);
  assert.deepEqual([run.state(), run.replies()], ["backoff", ["w interrupted"]]);
});
