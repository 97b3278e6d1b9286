/** Whether a connection tries a failed server when it may and not before, and gives up one that ends again and again. */
import assert from "node:assert/strict";
import type { PortArgs } from "../../schemas/effect.ts";
import { limits } from "../../schemas/limits.ts";
import {
  type ConnectionRun,
  declarationOf,
  end,
  greeting,
  listing,
  startConnection,
} from "../support/connection.ts";

const other = declarationOf({ manifest: { args: ["--other"] } });

/** A connection whose server failed to start. */
function backingOff(sketch: Parameters<ConnectionRun["fail"]>[1] = {}): ConnectionRun {
  const run = startConnection();
  run.open("a");
  run.fail("mcp.connect", { code: "mcp_connect_failed", ...sketch });
  return run;
}

/** How long the timer that is set now waits at least, and what is drawn on top at most. */
function waitOf(run: ConnectionRun, failedAtMs: number): readonly number[] {
  const { dueAtMs, jitterMs } = run.argsOf("timer.set") as PortArgs<"timer.set">;
  return [dueAtMs - failedAtMs, jitterMs];
}

function failureOf(run: ConnectionRun): { readonly code: string; readonly message: string } {
  return run.context()["failure"] as never;
}

/** Brings its server up and has it end by itself so often. */
function wear(run: ConnectionRun, times: number): void {
  for (let n = 0; n < times; n++) {
    run.makeReady();
    assert.equal(run.state(), "ready");
    run.crash();
  }
}

Deno.test("connection answers from memory for 30 s after a failure, then has one attempt for all who want it (DM-58, DM-137)", () => {
  const run = backingOff();
  const failedAt = run.now - 1;
  assert.deepEqual([run.state(), run.hasTag("rest"), run.pending()], ["backoff", true, ["timer.set"]]);
  assert.deepEqual(waitOf(run, failedAt), [30_000, 3_000]);
  // Whatever the clock says: the timer decides, with the bit that was drawn.
  run.now = failedAt + 30_000;
  run.open("b");
  run.open();
  assert.deepEqual([run.state(), run.replies(), run.launch()], [
    "backoff",
    ["a mcp_connect_failed", "b mcp_connect_failed"],
    1,
  ]);
  assert.equal(run.offers().length, 3);
  run.settle("timer.set", null);
  assert.deepEqual([run.state(), run.pending(), run.launch()], ["idle", [], 1]);
  run.open("c");
  run.open("d");
  run.open();
  assert.deepEqual([run.state(), run.pending(), run.launch()], ["connecting", ["mcp.connect"], 2]);
  run.fail("mcp.connect", { code: "mcp_connect_timed_out", status: "timed_out" });
  assert.deepEqual([run.state(), run.replies().slice(2)], [
    "backoff",
    ["c mcp_connect_timed_out", "d mcp_connect_timed_out"],
  ]);
});

Deno.test("connection doubles its wait up to 60 s in all, and begins anew once the server was ready (DM-58)", () => {
  const run = backingOff();
  const waits = [waitOf(run, run.now - 1)];
  for (let n = 0; n < 3; n++) {
    run.settle("timer.set", null);
    run.open();
    run.fail("mcp.connect", { code: "mcp_connect_failed" });
    waits.push(waitOf(run, run.now - 1));
  }
  assert.deepEqual(waits, [[30_000, 3_000], [54_000, 6_000], [54_000, 6_000], [54_000, 6_000]]);
  run.settle("timer.set", null);
  run.makeReady();
  run.crash();
  run.open();
  run.fail("mcp.connect", { code: "mcp_connect_failed" });
  assert.deepEqual(waitOf(run, run.now - 1), [30_000, 3_000]);
});

Deno.test("connection waits as long as a server asks for, to the millisecond, even if that is longer than its own", () => {
  for (const retryAfterMs of [1_500, 120_000]) {
    assert.deepEqual(waitOf(backingOff({ retryAfterMs }), 1_002), [retryAfterMs, 0]);
  }
});

Deno.test("connection does not try again what its declaration makes impossible, for ten minutes of one runtime", () => {
  const run = backingOff({ retryable: false });
  const failedAt = run.now - 1;
  assert.deepEqual([run.state(), run.pending()], ["failed", []]);
  run.now = failedAt + limits.mcpConfigurationHoldMs - 1;
  run.open("b");
  assert.deepEqual([run.state(), run.launch(), run.replies().at(-1)], ["failed", 1, "b mcp_connect_failed"]);
  run.open("c");
  assert.deepEqual([run.state(), run.launch()], ["connecting", 2]);
  // The next runtime may have another environment: it looks for itself.
  const next = backingOff({ retryable: false });
  next.epoch = 2;
  next.open("b");
  assert.equal(next.state(), "connecting");
  const changed = backingOff({ retryable: false });
  changed.declare(other);
  changed.open();
  assert.equal(changed.state(), "connecting");
});

Deno.test("connection that an earlier release left failed is tried again after 30 s", () => {
  const run = startConnection();
  run.rewrite((state) => {
    state.value = "failed";
    state.context.failure = { code: "mcp_connect_timed_out", message: "late", retryable: true };
    state.context.failedAtMs = run.now;
    for (const field of ["failures", "crashes", "session", "epoch", "failedEpoch"]) {
      delete state.context[field];
    }
  });
  run.open("a");
  assert.deepEqual([run.state(), run.replies()], ["failed", ["a mcp_connect_timed_out"]]);
  run.now += limits.mcpFailureHoldMs;
  run.open("b");
  assert.equal(run.state(), "connecting");
});

Deno.test("connection whose server ended opens it anew for the next who wants it, and for nobody else", () => {
  const run = startConnection();
  wear(run, 1);
  assert.deepEqual([run.state(), run.hasTag("rest"), run.pending()], ["recovering", true, []]);
  assert.equal(failureOf(run).code, "mcp_connection_lost");
  run.open("a");
  assert.deepEqual([run.state(), run.launch()], ["connecting", 2]);
});

Deno.test("connection quarantines a server at its fifth end within five minutes, and says what to do", () => {
  const run = startConnection();
  wear(run, limits.mcpCrashesMax);
  assert.deepEqual([run.state(), run.hasTag("rest"), run.pending()], ["quarantined", true, []]);
  run.now += 3_600_000;
  for (const key of ["a", "b"]) run.open(key);
  run.open();
  assert.deepEqual([run.state(), run.launch()], ["quarantined", 5]);
  assert.deepEqual(run.replies(), ["a mcp_quarantined", "b mcp_quarantined"]);
  assert.equal(run.offers().at(-1), "mcp_quarantined");
  assert.match(
    failureOf(run).message,
    /"docs" ended by itself 5 times within 5 minutes .* ended with code 7$/,
  );
  // The catalog hears that its tools do not count any more, as after every loss.
  assert.equal(run.messages().filter(({ type }) => type === "connection.stale").length, 5);
});

Deno.test("connection counts ends while the tools are asked for, too", () => {
  const run = startConnection();
  wear(run, limits.mcpCrashesMax - 1);
  run.open("a");
  run.settle("mcp.connect", greeting);
  run.fail("mcp.list", { code: "mcp_connection_lost" });
  run.settle("mcp.close", end);
  assert.deepEqual([run.state(), run.replies()], ["quarantined", ["a mcp_quarantined"]]);
});

Deno.test("connection does not count ends with the runtime, old ones, or those before a long life that served a call", () => {
  const restarted = startConnection();
  for (let n = 0; n < 10; n++) {
    restarted.makeReady();
    restarted.fail("mcp.watch", { code: "interrupted", retryable: false });
    assert.equal(restarted.state(), "recovering");
  }
  const slow = startConnection();
  for (let n = 0; n < 10; n++) {
    wear(slow, 1);
    slow.now += limits.mcpCrashWindowMs / (limits.mcpCrashesMax - 1);
  }
  assert.equal(slow.state(), "recovering");
  const lives = [[limits.mcpHealthyMs, 1, "recovering"], [limits.mcpHealthyMs, 0, "quarantined"], [
    limits.mcpHealthyMs - 1_000,
    1,
    "quarantined",
  ]] as const;
  for (const [livedMs, served, state] of lives) {
    const run = startConnection();
    wear(run, limits.mcpCrashesMax - 1);
    run.makeReady();
    run.now += livedMs;
    run.crash(served);
    assert.equal(run.state(), state, `${livedMs} ms, ${served} served`);
  }
});

Deno.test("connection that is held back is tried at once if a person asks, or if it is declared otherwise", () => {
  const held: { readonly [state: string]: () => ConnectionRun } = {
    backoff: () => backingOff(),
    failed: () => backingOff({ retryable: false }),
    quarantined: () => {
      const run = startConnection();
      wear(run, limits.mcpCrashesMax);
      return run;
    },
  };
  for (const [state, way] of Object.entries(held)) {
    const asked = way();
    asked.refresh("call_refused", "nobody");
    assert.deepEqual([asked.state(), asked.replies().at(-1)], [state, "nobody not_open"]);
    asked.refresh("manual", "person");
    assert.deepEqual([asked.state(), asked.pending()], ["connecting", ["mcp.connect"]], state);
    asked.settle("mcp.connect", greeting);
    asked.settle("mcp.list", listing);
    assert.equal(asked.replies().at(-1), "person ready");
    // Everything is forgotten: it may end five times again.
    wear(Object.assign(asked), 0);
    for (let n = 1; n < limits.mcpCrashesMax; n++) {
      asked.crash();
      assert.equal(asked.state(), "recovering", state);
      asked.makeReady();
    }
    const declared = way();
    declared.declare(other, "d");
    assert.deepEqual([declared.state(), declared.replies().at(-1)], ["idle", "d accepted"], state);
    declared.makeReady();
    declared.crash();
    assert.equal(declared.state(), "recovering", state);
  }
});

Deno.test("connection parks a server that nobody calls, tells nobody, and opens it when it is wanted", () => {
  const run = startConnection();
  run.makeReady();
  const told = run.messages().length;
  assert.equal((run.argsOf("mcp.watch") as PortArgs<"mcp.watch">).idleMs, 15 * 60_000);
  run.settle("mcp.watch", { type: "idle" });
  assert.deepEqual([run.state(), run.pending()], ["draining", ["mcp.close"]]);
  run.settle("mcp.close", end);
  assert.deepEqual([run.state(), run.pending(), run.messages().length], ["idle", [], told]);
  // What it offered is known still.
  assert.deepEqual(run.context()["listing"], listing);
  run.open("a");
  assert.deepEqual([run.state(), run.launch()], ["connecting", 2]);
  // Who comes while it is ended has it opened anew at once.
  const late = startConnection();
  late.makeReady();
  late.settle("mcp.watch", { type: "idle" });
  late.open("b");
  assert.deepEqual([late.state(), late.replies()], ["draining", []]);
  late.settle("mcp.close", end);
  assert.deepEqual([late.state(), late.launch()], ["connecting", 2]);
});

Deno.test("connection that is closed gives calls in flight 10 s, or what the closer says", () => {
  for (const [drainMs, given] of [[undefined, 10_000], [1_000, 1_000], [0, 0]] as const) {
    const run = startConnection();
    run.makeReady();
    const wish = {
      type: "connection.close",
      reason: "enough",
      ...(drainMs === undefined ? {} : { drainMs }),
    };
    run.send(wish as never);
    assert.deepEqual([run.state(), run.argsOf("mcp.close")], ["draining", { launch: 1, drainMs: given }]);
    run.settle("mcp.close", end);
    // It counts for this end only.
    run.makeReady();
    run.close();
    assert.deepEqual(run.argsOf("mcp.close"), { launch: 2, drainMs: 10_000 });
  }
});

Deno.test("connection quarantines a server most of whose tools drifted, until they are approved: asked for by a person, or by another runtime", () => {
  const drifted = () => {
    const run = startConnection();
    run.open("a");
    run.settle("mcp.connect", greeting);
    run.fail("mcp.list", { code: "mcp_tools_drifted" });
    assert.equal(run.state(), "closing");
    run.settle("mcp.close", end);
    assert.deepEqual([run.state(), run.hasTag("rest"), run.pending()], ["quarantined", true, []]);
    assert.deepEqual([run.replies(), run.offers()], [["a mcp_tools_drifted"], ["mcp_tools_drifted"]]);
    return run;
  };
  const run = drifted();
  run.now += 24 * 3_600_000;
  run.open("b");
  assert.deepEqual([run.state(), run.replies().at(-1), run.launch()], [
    "quarantined",
    "b mcp_tools_drifted",
    1,
  ]);
  run.refresh("manual", "c");
  run.settle("mcp.connect", greeting);
  run.settle("mcp.list", listing);
  assert.deepEqual([run.state(), run.replies().at(-1), run.launch()], ["ready", "c ready", 2]);

  const later = drifted();
  later.epoch += 1;
  later.open("b");
  later.settle("mcp.connect", greeting);
  later.fail("mcp.list", { code: "mcp_tools_drifted" });
  later.settle("mcp.close", end);
  later.open("c");
  assert.deepEqual([later.state(), later.replies().slice(1), later.launch()], [
    "quarantined",
    ["b mcp_tools_drifted", "c mcp_tools_drifted"],
    2,
  ]);
});
