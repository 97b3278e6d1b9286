/** Whether the log says in words what was asked and decided. */
import assert from "node:assert/strict";
import { entryText } from "../../src/cli/entry_text.ts";
import type { Json } from "../../schemas/json.ts";

function noteText(type: string, body: Json): string {
  return entryText({ v: 1, seq: 5, at: 1_800_000_000_000, kind: "note", type, cause: 4, epoch: 1, body });
}

Deno.test("log says who is asked about a call, what was decided, by whom, and how (DM-40)", () => {
  const call = { turn: 1, ordinal: "call/0.0", tool: "pay" };
  const operator = { kind: "operator", id: "local" };
  const rows: readonly (readonly [type: string, body: { readonly [key: string]: Json }, text: string])[] = [
    ["requested", { risk: "low", question: "question/3" }, "is asked about in question/3"],
    ["requested", { question: "question/3", shared: true }, "waits for the answer to question/3"],
    ["decided", { decision: "allow", via: "answered", by: operator }, "allow by operator local"],
    [
      "decided",
      { decision: "allow", cached: true, automatic: false, by: operator },
      "allow by operator local, by an earlier answer",
    ],
    ["decided", { decision: "allow", cached: false, automatic: true }, "allow, automatic"],
    ["denied", { decision: "deny", via: "expired", automatic: true }, "deny, automatic, expired"],
    [
      "denied",
      { decision: "deny", automatic: true, code: "policy_denied" },
      "deny, automatic, policy_denied",
    ],
    [
      "denied",
      { decision: "deny", via: "answered", by: operator, shared: true },
      "deny by operator local, shared",
    ],
  ];
  for (const [type, body, text] of rows) {
    assert.equal(noteText(`approval.${type}`, { ...call, ...body }), `call/0.0 pay ${text}`);
  }
  assert.equal(
    noteText("turn.stuck", { turn: 1, refusals: 3 }),
    "turn 1 seems stuck: 3 calls were refused",
  );
});

Deno.test("log says which message broke a root, that it goes on, and when its supervisor gave it up (F14)", () => {
  const failure = { code: "crank_failed", message: "The machine broke" };
  const child = "connection/docs@ses_1";
  assert.equal(
    noteText("poisoned", { input: { message: { type: "connection.open" } }, failure }),
    "connection.open broke the machine, and is set aside: The machine broke",
  );
  assert.equal(
    noteText("supervisor.escalated", { child, restarts: 3, periodMs: 60_000, cause: failure }),
    `${child} is given up after 3 restarts: The machine broke`,
  );
  const inputText = (type: string, message: { readonly [key: string]: Json }) =>
    entryText({
      v: 1,
      seq: 5,
      at: 1_800_000_000_000,
      kind: "input",
      type,
      cause: 5,
      epoch: 1,
      body: { message: { type, ...message } },
    });
  assert.equal(inputText("child.crashed", { child, failure }), `${child}: The machine broke`);
  assert.equal(inputText("child.restarted", { child }), child);
});
