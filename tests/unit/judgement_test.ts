/** Whether the journal keeps what every check of a call said, once, in few bytes, and none of its arguments. */
import assert from "node:assert/strict";
import type { Json } from "../../schemas/json.ts";
import { type Call, type CallSketch, startCall } from "../support/calls.ts";

/** The notes of a call. */
function notesOf(call: Call): readonly { readonly type: string; readonly body: Json }[] {
  return call.run.notes().filter(({ type }) => type === "invocation.judged");
}

/** The one note of a call that was given these. */
function noteOf(sketch: CallSketch): Json {
  const notes = notesOf(startCall(sketch));
  assert.equal(notes.length, 1);
  return notes[0]?.body ?? null;
}

// Proves DM-31: every call has its record, whatever became of it.
Deno.test("judgement of a call says which check decided, and by which rule (DM-31)", () => {
  const place = { ordinal: "call/0.0", tool: "look" };
  assert.deepEqual(noteOf({}), { ...place, verdict: "allow" });
  assert.deepEqual(noteOf({ tool: { capability: "mcp.call:docs" }, capabilities: ["mcp.call:*"] }), {
    ...place,
    verdict: "allow",
    checks: [{ check: "capability", by: "mcp.call:*" }],
  });
  assert.deepEqual(noteOf({ tool: { approvalPolicy: "prompt" }, entry: { approvalBy: "agent" } }), {
    ...place,
    verdict: "ask",
    checks: [
      {
        check: "approval",
        verdict: "ask",
        by: "overrides in agent.yaml",
        why: 'Policy asks before "look" is called',
      },
      { check: "grant", verdict: "ask", why: "No earlier answer covers this call" },
    ],
  });
  assert.deepEqual(noteOf({ tool: { sideEffects: true }, mode: "plan" }), {
    ...place,
    verdict: "deny",
    checks: [{
      check: "mode",
      verdict: "deny",
      by: "plan",
      why: 'The tool "look" may have side effects, and the mode "plan" of this session lets none happen',
    }],
  });
});

Deno.test("judgement is also of calls that policy was never asked about: no such tool, or arguments that do not fit", () => {
  const checkIn = (sketch: CallSketch) => (noteOf(sketch) as { readonly checks: readonly Json[] }).checks[0];
  assert.deepEqual(checkIn({ request: { name: "nope", entry: undefined as never } }), {
    check: "enabled",
    verdict: "deny",
    by: "catalog",
    why: "No tool of the turn has this name",
  });
  const inputSchema = { type: "object", properties: { n: { type: "integer" } } };
  assert.deepEqual(checkIn({ tool: { inputSchema }, request: { arguments: { n: "s3cret" } } }), {
    check: "schema",
    verdict: "deny",
    by: "schema",
    why: "The arguments do not fit",
  });
});

Deno.test("judgement is written once a call, when it is decided, however long the call then takes", () => {
  const asked = startCall({ tool: { approvalPolicy: "prompt" } });
  asked.decide("allow");
  asked.fail("tool.call");
  asked.settle("timer.set", { firedAtMs: 0 });
  assert.deepEqual([asked.state(), notesOf(asked).length], ["running", 1]);
});

Deno.test("judgement holds no argument of the call and nothing without a bound", () => {
  const secret = "s3cret";
  const grants = [`look {"path":"${secret}"}`];
  const request = { arguments: { path: secret } };
  const tool = { approvalPolicy: "prompt", sideEffects: true } as const;
  const granted = JSON.stringify(noteOf({ tool, request, grants }));
  assert.match(granted, /"check":"grant","by":"session"/);
  assert.ok(!granted.includes(secret));
  const long = noteOf({ entry: { enabled: false, disabledBy: "x".repeat(400) } });
  const [off] =
    (long as { readonly checks: readonly { readonly by: string; readonly why: string }[] }).checks;
  assert.deepEqual([off?.by.length, off?.why.length], [300, 300]);
  const name = noteOf({ request: { name: "n".repeat(256), entry: undefined as never } });
  assert.ok(JSON.stringify(name).length < 600);
});

// What an allowed call costs beyond its entry's own frame.
Deno.test("judgement of an allowed call takes few bytes", () => {
  const bare = JSON.stringify(noteOf({}));
  assert.ok(bare.length <= 60, `${bare.length}: ${bare}`);
  const capable = JSON.stringify(noteOf({ tool: { capability: "fs.read" }, capabilities: ["fs.read"] }));
  assert.ok(capable.length <= 110, `${capable.length}: ${capable}`);
});
