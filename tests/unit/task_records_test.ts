/** How a call that its server carries out as a task reads in the journal: it goes on until its task has ended. */
import assert from "node:assert/strict";
import { Entry } from "../../schemas/entry.ts";
import type { Json } from "../../schemas/json.ts";
import { entryText } from "../../src/cli/entry_text.ts";
import { InvocationFold } from "../../src/records/invocation_fold.ts";
import { TrackedCalls } from "../../src/records/tracked_calls.ts";
import { toolReturn } from "../support/calls.ts";
import { pausedCall } from "../support/tasks.ts";

/** An entry at `[seq, cause]`. */
function entry([seq, cause]: readonly [number, number], kind: string, type: string, body: Json): Entry {
  return Entry.parse({ v: 1, seq, at: seq, kind, type, cause, epoch: 1, body });
}

const args = { invocation: "call/0.0", entry: { name: "mcp.far.work" }, arguments: {} };

/** A host's call of one tool of an effect class, that became a task. */
function begun(effect: string): readonly Entry[] {
  return [
    entry([2, 2], "input", "session.call", { message: { call: { tool: "mcp.far.work", arguments: {} } } }),
    entry([2, 2], "note", "tools.bound", { execution: "turn/1", call: "mcp.far.work", input: 2 }),
    entry([3, 2], "intent", "mcp.call", { n: 0, effect, args }),
    entry([4, 4], "outcome", "mcp.call", { id: "2.0", attempt: 1, status: "ok", value: pausedCall() }),
    entry([5, 4], "intent", "mcp.task", { n: 0, effect: "idempotent", args }),
  ];
}

function endedBy(status: string, value: Json): Entry {
  return entry(
    [6, 6],
    "outcome",
    "mcp.task",
    { id: "4.0", attempt: 1, status, ...(value as object) } as Json,
  );
}

function rowOf(entries: readonly Entry[]) {
  const fold = new InvocationFold();
  for (const one of entries) fold.take(one);
  const [row, ...others] = fold.rows;
  assert.deepEqual(others, []);
  return row;
}

Deno.test("call that became a task runs on in every record, as one attempt, until its task has ended (CM-34)", () => {
  const paused = rowOf(begun("non_idempotent").slice(0, 4));
  assert.deepEqual([paused?.outcome, paused?.settledAt], ["running", undefined]);
  const running = rowOf(begun("non_idempotent"));
  assert.deepEqual([running?.outcome, running?.attempts, running?.effect], ["running", 1, "non_idempotent"]);
  const ended = rowOf([...begun("non_idempotent"), endedBy("ok", { value: toolReturn("done") })]);
  assert.deepEqual([ended?.outcome, ended?.attempts, ended?.response["model"]], ["succeeded", 1, "done"]);
  const tracked = new TrackedCalls();
  for (const [index, one] of begun("non_idempotent").entries()) {
    tracked.take(one);
    if (index === 3) assert.equal(tracked.calls[0]?.progress, "executing");
  }
  tracked.hear("4.0", "half way");
  assert.deepEqual(tracked.calls.map(({ progress, notice }) => [progress, notice]), [[
    "executing",
    "half way",
  ]]);
  tracked.take(endedBy("ok", { value: toolReturn("done") }));
  assert.deepEqual(tracked.calls.map(({ progress, result }) => [progress, result?.["model"]]), [
    ["completed", "done"],
  ]);
});

// Proves I3 for what is shown: the kernel's word on a look is no word on what was looked at.
Deno.test("call whose task was not looked after to its end reads as unknown, unless a repeat harms nobody (CM-34)", () => {
  const failure = { failure: { code: "tool_canceled", message: "stopped", retryable: false } };
  for (const status of ["canceled", "failed", "timed_out", "unknown"]) {
    assert.equal(rowOf([...begun("non_idempotent"), endedBy(status, failure)])?.outcome, "unknown");
    assert.equal(rowOf([...begun("idempotent"), endedBy(status, failure)])?.outcome, status);
  }
});

Deno.test("entries of a call that became a task say so in one line each", () => {
  const [, , , paused, look] = begun("non_idempotent");
  assert.ok(paused !== undefined && look !== undefined);
  assert.equal(entryText(paused), "2.0 ok the server goes on with it as task");
  assert.match(entryText(look), /^mcp\.far\.work/);
});
