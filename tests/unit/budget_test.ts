/** Whether a ledger knows what is left, gives children no more than that, and takes back what they did not spend. */
import assert from "node:assert/strict";
import * as budget from "../../actors/budget.ts";
import { Budget, type Ledger, Spent } from "../../schemas/budget.ts";
import { limits } from "../../schemas/limits.ts";

function ledgerOf(bounds: Budget, spent: Partial<Spent> = {}): Ledger {
  return budget.spend(budget.openLedger(bounds), spent);
}

function held(ledger: Ledger, child: string, part: Budget): Ledger {
  const reserved = budget.reserve(ledger, child, part);
  assert.ok(reserved.ok, reserved.ok ? "" : reserved.failure.message);
  return reserved.ledger;
}

function refusal(result: budget.Shared | budget.Reserved): string {
  assert.equal(result.ok, false);
  return result.ok ? "" : `${result.failure.code}: ${result.failure.message}`;
}

Deno.test("budget takes the stricter of two, field by field, and no field that neither has", () => {
  const agent = { tokens: 1_000, tool_calls: 5, cost_usd: 0.5 };
  const given = { tokens: 2_000, tool_calls: 0, wall_ms: 60_000 };
  assert.deepEqual(budget.strictest(agent, given), {
    tokens: 1_000,
    cost_usd: 0.5,
    wall_ms: 60_000,
    tool_calls: 0,
  });
  assert.deepEqual(budget.strictest(undefined, undefined), {});
});

Deno.test("budget refuses bounds that allow nothing a model call needs, and those out of range", () => {
  for (const wrong of [{ tokens: 0 }, { wall_ms: 0 }, { cost_usd: 0 }, { tokens: 1.5 }, { tool_calls: -1 }]) {
    assert.equal(Budget.safeParse(wrong).success, false, JSON.stringify(wrong));
  }
  for (const wrong of [{ tokens: Infinity }, { cost_usd: limits.budgetCostUsdMax * 2 }, { rounds: 1 }]) {
    assert.equal(Budget.safeParse(wrong).success, false, JSON.stringify(wrong));
  }
  assert.ok(Budget.safeParse({ tool_calls: 0, processes: 0, children: 0 }).success);
});

Deno.test("ledger says what is left of the fields that have a bound, and never less than nothing", () => {
  const ledger = ledgerOf({ tokens: 100, tool_calls: 3 }, { tokens: 130, tool_calls: 1, processes: 7 });
  assert.deepEqual(budget.leftOf(ledger), { tokens: 0, tool_calls: 2 });
  assert.equal(budget.restOf(ledger), undefined);
  assert.deepEqual(budget.restOf(ledgerOf({ tool_calls: 1 }, { tool_calls: 1 })), { tool_calls: 0 });
});

Deno.test("ledger that is used up says which field, with its figures", () => {
  const failure = budget.exhaustion(ledgerOf({ tokens: 100 }, { tokens: 130 }));
  assert.equal(failure?.code, "budget_exhausted");
  assert.match(failure?.message ?? "", /used up: 130 of 100 tokens spent; begin/);
  const shared = held(ledgerOf({ tokens: 100, cost_usd: 5 }, { tokens: 40 }), "session/a", {
    tokens: 60,
    cost_usd: 1,
  });
  assert.match(
    budget.exhaustion(shared)?.message ?? "",
    /40 of 100 tokens spent, 60 held by children; begin/,
  );
  assert.equal(budget.exhaustion(ledgerOf({ tool_calls: 0, children: 0 })), undefined);
});

Deno.test("ledger counts costs to the billionth of a dollar, without the errors of binary fractions", () => {
  let ledger = ledgerOf({ cost_usd: 1 });
  for (let n = 0; n < 10; n++) ledger = budget.spend(ledger, { cost_usd: 0.1 });
  assert.deepEqual([ledger.spent.cost_usd, budget.leftOf(ledger)], [1, { cost_usd: 0 }]);
  assert.equal(budget.spend(ledger, { cost_usd: 0.000000001 }).spent.cost_usd, 1.000000001);
});

Deno.test("ledger gives a child what it asks for, or an equal share of what is left", () => {
  const ledger = ledgerOf({ tokens: 1_000, cost_usd: 1, tool_calls: 7, children: 5 }, { tokens: 100 });
  const share = (asked: Budget, running?: number) => {
    const found = budget.share(ledger, { asked, ...(running === undefined ? {} : { running }) });
    assert.ok(found.ok);
    return found.share;
  };
  assert.deepEqual(share({}, 2), { tokens: 300, cost_usd: 0.333333333, tool_calls: 2, children: 1 });
  assert.deepEqual(share({}), { tokens: 450, cost_usd: 0.5, tool_calls: 3, children: 2 });
  assert.deepEqual(share({ tokens: 900, tool_calls: 0, wall_ms: 50 }), {
    tokens: 900,
    cost_usd: 0.5,
    wall_ms: 50,
    tool_calls: 0,
    children: 2,
  });
  assert.deepEqual(budget.share(budget.openLedger()), { ok: true, share: {} });
});

Deno.test("ledger refuses a share that is more than what is left, or too little for a model call", () => {
  const ledger = ledgerOf({ tokens: 1_000, children: 2 }, { tokens: 900 });
  assert.match(
    refusal(budget.share(ledger, { asked: { tokens: 101 } })),
    /^budget_exceeded: .* leaves 100 tokens, 101 wanted/,
  );
  assert.match(refusal(budget.share(ledger, { asked: { children: 2 } })), /leaves 1 children, 2 wanted/);
  const scarce = ledgerOf({ tokens: 10 }, { tokens: 9 });
  assert.match(refusal(budget.share(scarce, { running: 1 })), /leaves 1 tokens, 1 wanted/);
  assert.match(
    refusal(budget.share(ledgerOf({ children: 1 }, { children: 1 }))),
    /leaves 0 children, 1 wanted/,
  );
});

Deno.test("ledger holds a child's part until it has ended, and takes the rest back, once", () => {
  const whole = ledgerOf({ tokens: 1_000, children: 3 });
  const ledger = held(whole, "session/a", { tokens: 400, children: 1 });
  assert.deepEqual(budget.leftOf(ledger), { tokens: 600, children: 1 });
  assert.deepEqual(held(ledger, "session/a", { tokens: 400, children: 1 }), ledger);
  const ended = budget.release(ledger, "session/a", { tokens: 150, model_calls: 2 });
  assert.deepEqual(budget.leftOf(ended), { tokens: 850, children: 2 });
  assert.equal(ended.spent.model_calls, 2);
  assert.deepEqual(budget.release(ended, "session/a", { tokens: 150 }), ended);
  // What has happened is told, also beyond the part.
  assert.deepEqual(budget.leftOf(budget.release(ledger, "session/a", { tokens: 500 })), {
    tokens: 500,
    children: 2,
  });
});

Deno.test("ledger holds no part that is more than what is left, and none without a bound of its own", () => {
  const ledger = held(ledgerOf({ tokens: 1_000, children: 2 }), "session/a", { tokens: 700, children: 0 });
  assert.match(
    refusal(budget.reserve(ledger, "session/b", { tokens: 301, children: 0 })),
    /leaves 300 tokens, 301/,
  );
  assert.match(
    refusal(budget.reserve(ledger, "session/b", { tokens: 300 })),
    /leaves 0 children, wanted without a bound/,
  );
  const full = held(ledger, "session/b", { tokens: 100, children: 0 });
  assert.match(
    refusal(budget.reserve(full, "session/c", { tokens: 1, children: 0 })),
    /leaves 0 children, 1 wanted/,
  );
});

Deno.test("ledger takes over what a turn spent and what its children hold", () => {
  const session = held(ledgerOf({ tokens: 1_000 }, { tokens: 100 }), "session/a", { tokens: 200 });
  const rest = budget.restOf(session);
  assert.deepEqual(rest, { tokens: 700 });
  const turn = held(ledgerOf(rest ?? {}, { tokens: 50, tool_calls: 2 }), "session/b", { tokens: 300 });
  const after = budget.absorb(session, turn);
  assert.deepEqual([budget.leftOf(after), after.spent.tool_calls], [{ tokens: 350 }, 2]);
  assert.deepEqual(Object.keys(after.reserved), ["session/a", "session/b"]);
});

Deno.test("what was spent is read from parts of it: entries tell only what there is", () => {
  assert.deepEqual(Spent.parse({ tokens: 5 }), { ...budget.nothing, tokens: 5 });
});
