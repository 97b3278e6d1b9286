/** Whether a session's budget is read off its journal: what was told counts, and what came since. */
import assert from "node:assert/strict";
import { releasedNote, reservedNote } from "../../actors/budget.ts";
import type { EntryKind } from "../../schemas/entry.ts";
import type { Json } from "../../schemas/json.ts";
import type { Outgoing } from "../../schemas/message.ts";
import { BudgetFold } from "../../src/records/budget_fold.ts";
import { entryAt } from "../support/units.ts";

type Told = readonly [kind: EntryKind, type: string, body: Json];

function view(budget: Json, ...told: readonly Told[]) {
  const fold = new BudgetFold();
  const created: Told = ["created", "session", { input: { agent: { budget }, budget: { tool_calls: 9 } } }];
  [created, ...told].forEach(([kind, type, body], index) =>
    fold.take(entryAt(index + 1, { kind, type, body }))
  );
  return fold.view();
}

function note(outgoing: Outgoing): Told {
  assert.ok(outgoing.kind === "note");
  return ["note", outgoing.type, outgoing.body];
}

const began: Told = ["note", "tools.bound", { execution: "turn/1" }];
const answered: Told = ["outcome", "model.generate", {
  status: "ok",
  value: { usage: { inputTokens: 60, outputTokens: 40 } },
}];
const asked: Told = ["intent", "model.generate", { args: {} }];

function called(args: Json, type = "tool.call"): Told {
  return ["intent", type, { args }];
}

function ended(value: Json): Told {
  return ["reply", "ok", { value: { turn: 1, ...Object(value) } }];
}

Deno.test("budget of a session is the stricter of its agent's and its own, also in its journal", () => {
  assert.deepEqual(view({ tokens: 500, tool_calls: 3 }).budget, { tokens: 500, tool_calls: 3 });
  assert.deepEqual(view({ tokens: "many" }).budget, { tool_calls: 9 });
});

Deno.test("budget counts what a turn that runs has spent: answers, calls once, and the time so far", () => {
  const shown = view(
    { tokens: 500 },
    began,
    asked,
    answered,
    called({ attempt: 1, entry: { name: "look" } }),
    called({ attempt: 2, entry: { name: "look" } }),
    called({ attempt: 1, entry: { name: "terminal" } }),
    called({ attempt: 1, round: { round: 1 }, entry: { name: "mcp.docs.look" } }, "mcp.call"),
    asked,
  );
  assert.equal(shown.turn, 1);
  assert.deepEqual(shown.left, { tokens: 400, tool_calls: 7 });
  const { tool_calls, processes, model_calls, counted_calls, wall_ms } = shown.spent;
  assert.deepEqual([tool_calls, processes, model_calls, counted_calls, wall_ms], [2, 1, 2, 1, 7]);
});

Deno.test("budget takes the word of a turn's end for all that came before it", () => {
  const shown = view(
    {},
    began,
    asked,
    answered,
    ended({ spent: { tokens: 130, wall_ms: 7 } }),
    asked,
    answered,
  );
  assert.deepEqual([shown.turn, shown.spent.tokens, shown.spent.wall_ms], [undefined, 230, 7]);
  const letter: Told = ["message", "session.answered", { message: { spent: { tokens: 70 } } }];
  assert.equal(view({}, began, answered, letter).spent.tokens, 70);
  const refusal: Told = ["message", "session.answered", {
    message: { failure: { code: "prompt_queue_full" } },
  }];
  assert.equal(view({}, began, answered, refusal).turn, 1);
});

Deno.test("budget adds up entries of earlier releases, which do not tell what was spent", () => {
  const shown = view({}, began, asked, answered, ended({}), began, asked, answered, ended({}));
  const { tokens, model_calls, wall_ms } = shown.spent;
  assert.deepEqual([tokens, model_calls, wall_ms, shown.turn], [200, 2, 6, undefined]);
});

Deno.test("budget shows what children hold until they have ended, and what they spent then", () => {
  const held = view({ tokens: 500 }, note(reservedNote("session/a", { tokens: 200 })));
  assert.deepEqual([held.left.tokens, held.reserved, held.spent.children], [300, {
    "session/a": { tokens: 200 },
  }, 1]);
  const back = view(
    { tokens: 500 },
    note(reservedNote("session/a", { tokens: 200 })),
    note(releasedNote("session/a", { tokens: 50 })),
  );
  assert.deepEqual([back.left.tokens, back.reserved, back.spent.tokens], [450, {}, 50]);
});
