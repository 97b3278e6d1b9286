/** What children may spend: a part of their parent's budget, given back when they have ended. */
import assert from "node:assert/strict";
import type { RootAddress } from "../../schemas/ids.ts";
import { BudgetFold } from "../../src/records/budget_fold.ts";
import { children, delegate, openFamily, play, results } from "../support/family.ts";
import type { Stage } from "../support/stage.ts";

/** One model answer of a child costs so many tokens. */
const cost = 40;
const child = [{ text: "counted: 3", usage: { inputTokens: 30, outputTokens: 10 } }];

/** The ledger of a session, as its journal tells. */
async function ledgerOf(stage: Stage, session: RootAddress) {
  const fold = new BudgetFold();
  for (const entry of await stage.entries(session)) fold.take(entry);
  return fold.view();
}

async function budgetOf(stage: Stage, session: RootAddress): Promise<unknown> {
  const [born] = await stage.entries(session);
  return (born?.body as { readonly input: { readonly budget?: unknown } }).input.budget;
}

function openWith(
  budget: unknown,
  goals: number,
  agent: { readonly [key: string]: unknown } = {},
): Promise<Stage> {
  const calls = Array.from({ length: goals }, (_, n) => delegate(`part ${n}`));
  return openFamily({ answers: [{ calls }, { text: "done" }], child, agent: { budget, ...agent } });
}

Deno.test("child gets a part of its parent's budget, and gives back what it did not spend (I16)", async () => {
  const stage = await openWith({ tokens: 900 }, 2);
  const session = await stage.session();
  assert.equal((await play(stage, session)).outcome, "completed");
  const parts = await Promise.all(
    (await children(stage, session)).map(({ agent }) => budgetOf(stage, agent.child)),
  );
  // An equal share for the parent and each of the two that may run; then of what is left.
  assert.deepEqual(parts, [{ tokens: 300 }, { tokens: 200 }]);
  const { spent, reserved, left } = await ledgerOf(stage, session);
  assert.deepEqual([spent.tokens, spent.children, reserved, left.tokens], [2 * cost, 2, {}, 900 - 2 * cost]);
});

Deno.test("child whose part is used up ends with why, and its parent goes on with the rest (I16)", async () => {
  const stage = await openWith({ tokens: 90 }, 1);
  const session = await stage.session();
  assert.equal((await play(stage, session)).outcome, "completed");
  const [one] = await children(stage, session);
  assert.deepEqual(await budgetOf(stage, one?.agent.child ?? ""), { tokens: 30 });
  // One call in flight may spend more than what was left; no further one begins.
  const { spent, reserved } = await ledgerOf(stage, session);
  assert.deepEqual([spent.tokens, reserved], [cost, {}]);
});

Deno.test("child for which nothing is left is refused, and the model is told why (I16)", async () => {
  const stage = await openWith({ children: 1 }, 2);
  const session = await stage.session();
  assert.equal((await play(stage, session)).outcome, "completed");
  const told = (await results(stage, session)).map((one) => typeof one === "string" ? one : "a child").sort();
  assert.equal(told[0], "a child");
  assert.match(told[1] ?? "", /budget_exceeded/);
  const { spent } = await ledgerOf(stage, session);
  assert.equal(spent.children, 1);
});
