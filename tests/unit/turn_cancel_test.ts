/** What a cancel does to a turn whose tools run. */
import assert from "node:assert/strict";
import { assign, setup } from "xstate";
import { turnMachine } from "../../actors/turn.ts";
import type { TurnResult } from "../../actors/turn_context.ts";
import { modelAnswer, sealCatalog, toolReturn } from "../support/calls.ts";
import { type Run, startRun, toolOf } from "../support/desk.ts";

interface ParentContext {
  readonly reports: readonly { readonly type: string }[];
  readonly result: TurnResult | null;
}

const input = {
  turn: 1,
  at: 1_000,
  append: [],
  catalog: sealCatalog([toolOf("safe", { parallelSafe: true }), toolOf("alone")]),
  model: "scripted/test",
  maxOutputTokens: 100,
  roundsMax: 5,
  capabilities: [],
  mode: "default" as const,
  grants: [],
};

/** A parent that starts one turn and writes down what it hears. */
const listeningMachine = setup({
  types: { context: {} as ParentContext },
  actors: { turn: turnMachine },
}).createMachine({
  id: "listening",
  context: { reports: [], result: null },
  invoke: { id: "turn/1", src: "turn", input: () => input },
  on: {
    "turn.*": { actions: assign(({ context, event }) => ({ reports: [...context.reports, event] })) },
    "xstate.done.actor.*": {
      actions: assign(({ event }) => ({ result: (event as { readonly output?: unknown }).output as never })),
    },
  },
});

/** A turn in which the model has called these tools. */
function calling(...names: readonly string[]): Run {
  const run = startRun(listeningMachine, undefined as never);
  run.settle("model.generate", modelAnswer("", names.map((name) => ({ name }))));
  return run;
}

function send(run: Run, message: { readonly type: string; readonly ordinal?: string }): void {
  run.send(message, {}, ["turn/1"]);
}

function running(run: Run): readonly string[] {
  return Object.keys(run.child("turn/1")?.children ?? {});
}

function result(run: Run): TurnResult | null {
  return run.context()["result"] as TurnResult | null;
}

function reports(run: Run): readonly unknown[] {
  return run.context()["reports"] as readonly unknown[];
}

// Proves K11: stopping a turn is cancel all, wait for all.
Deno.test("turn canceled while its tools run tells them all, waits for all, and starts nothing more", () => {
  const run = calling("safe", "safe", "alone");
  send(run, { type: "turn.cancel" });
  assert.deepEqual(run.desk.asks.slice(1).map((ask) => ask.cancelAsked), [true, true]);
  assert.deepEqual(running(run), ["call/0.0", "call/0.1"]);
  run.fail("tool.call", { status: "canceled", code: "tool_canceled" });
  assert.deepEqual([result(run), running(run)], [null, ["call/0.1"]]);
  run.settle("tool.call", toolReturn("done all the same"));
  assert.deepEqual([result(run)?.outcome, result(run)?.failure?.code], ["canceled", "turn_canceled"]);
  assert.equal(run.kinds().filter((kind) => kind !== "tool.call").length, 1);
  assert.deepEqual(reports(run), [
    { type: "turn.call_stopped", ordinal: "call/0.0", name: "safe", outcome: "canceled" },
    { type: "turn.call_stopped", ordinal: "call/0.1", name: "safe", outcome: "succeeded" },
  ]);
});

Deno.test("turn canceled in its last stage asks its model nothing more", () => {
  const run = calling("alone");
  send(run, { type: "turn.cancel" });
  run.settle("tool.call", toolReturn("done"));
  assert.deepEqual([result(run)?.outcome, run.kinds()], ["canceled", ["model.generate", "tool.call"]]);
});

Deno.test("turn stops one call and gives the model what became of it (ask 4)", () => {
  const run = calling("safe", "safe");
  send(run, { type: "turn.cancel_call", ordinal: "call/0.1" });
  assert.deepEqual(run.desk.asks.slice(1).map((ask) => ask.cancelAsked), [false, true]);
  run.settle("tool.call", toolReturn("seen"));
  assert.deepEqual(reports(run), []);
  run.fail("tool.call", { status: "canceled", code: "tool_canceled" });
  assert.deepEqual(reports(run), [
    { type: "turn.call_stopped", ordinal: "call/0.1", name: "safe", outcome: "canceled" },
  ]);
  assert.deepEqual([result(run), run.pending()], [null, ["model.generate"]]);
  const { append } = run.argsOf("model.generate") as { append: readonly { readonly code?: string }[] };
  assert.equal(append.at(-1)?.code, "tool_canceled");
});
