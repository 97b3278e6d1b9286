/** The built-in to-do list: what each action does to the session's state, and what is refused. */
import assert from "node:assert/strict";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { mergeState, StateChanges } from "../../src/effects/session_state.ts";
import { todo } from "../../src/tools/todo.ts";
import { textIn, useIn } from "../support/tools.ts";

/** Plays actions one after another, as a session would; gives the answers. */
function playing(state: JsonObject = {}) {
  return async (input: JsonObject): Promise<string> => {
    const changes = new StateChanges(state);
    const use = useIn(undefined as never, { app_state: state, update: (change) => changes.take(change) });
    const answer = textIn(await todo.handler(input, use));
    for (const change of changes.end().changes) state = mergeState(state, change);
    return answer;
  };
}

Deno.test("todo adds, changes, lists and clears items, whose numbers are never used again (DM-16)", async () => {
  const play = playing();
  assert.equal(await play({ action: "list" }), "[nothing to do]");
  assert.equal(await play({ action: "add", items: ["read", "write"] }), "1. [ ] read\n2. [ ] write");
  assert.equal(await play({ action: "update", item: 1, status: "done" }), "1. [x] read\n2. [ ] write");
  assert.equal(
    await play({ action: "update", item: 2, status: "doing", text: "write it" }),
    "1. [x] read\n2. [~] write it",
  );
  assert.equal(await play({ action: "clear" }), "2. [~] write it");
  assert.equal(await play({ action: "add", items: ["rest"] }), "2. [~] write it\n3. [ ] rest");
  assert.equal(await play({ action: "clear", all: true }), "[nothing to do]");
  assert.equal(await play({ action: "add", items: ["anew"] }), "4. [ ] anew");
  const { riskLevel, approvalPolicy, capability } = todo.definition;
  assert.deepEqual([riskLevel, approvalPolicy, capability], ["low", "auto", undefined]);
});

Deno.test("todo refuses what it cannot do, and says why", async () => {
  const play = playing();
  assert.equal(await play({ action: "add" }), "arguments_invalid");
  assert.equal(await play({ action: "update", item: 7, status: "done" }), "arguments_invalid");
  assert.equal(await play({ action: "add", items: ["one"] }), "1. [ ] one");
  assert.equal(await play({ action: "update", item: 1 }), "arguments_invalid");
  assert.equal(await play({ action: "throw" }), "arguments_invalid");
  const full = Array.from({ length: limits.todoItemsMax }, () => "x");
  assert.equal(await play({ action: "add", items: full }), "too_large");
  // A state of another kind under its name is no list of its own.
  assert.equal(await playing({ todo: "mine" })({ action: "list" }), "[nothing to do]");
});

Deno.test("todo shows what would act on a terminal as escapes (B121)", async () => {
  assert.equal(await playing()({ action: "add", items: ["a\u001b[2J\rb"] }), "1. [ ] a\\u{1b}[2J\\u{d}b");
});
