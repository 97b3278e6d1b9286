/** What holds for every tree of ledgers: nothing is lost or made, and nobody spends more than one call too much. */
import assert from "node:assert/strict";
import fc from "fast-check";
import * as budget from "../../actors/budget.ts";
import { Budget, BudgetField, type Ledger, type Spent } from "../../schemas/budget.ts";

const bounds: fc.Arbitrary<Required<Budget>> = fc.record({
  tokens: fc.integer({ min: 1, max: 2_000 }),
  cost_usd: fc.integer({ min: 1, max: 2_000_000 }).map((millionths) => millionths / 1_000_000),
  wall_ms: fc.integer({ min: 1, max: 10_000 }),
  tool_calls: fc.integer({ min: 0, max: 20 }),
  processes: fc.integer({ min: 0, max: 5 }),
  children: fc.integer({ min: 0, max: 8 }),
});

const cost = fc.record({
  tokens: fc.integer({ min: 0, max: 300 }),
  cost_usd: fc.integer({ min: 0, max: 300_000 }).map((millionths) => millionths / 1_000_000),
  wall_ms: fc.integer({ min: 0, max: 1_000 }),
});

const asked = fc.record({
  tokens: fc.integer({ min: 1, max: 2_000 }),
  tool_calls: fc.integer({ min: 0, max: 20 }),
  children: fc.integer({ min: 0, max: 8 }),
}, { requiredKeys: [] });

type Act =
  | { readonly do: "ask"; readonly at: number; readonly cost: Partial<Spent> }
  | { readonly do: "call"; readonly at: number; readonly isProcess: boolean }
  | { readonly do: "spawn"; readonly at: number; readonly asked: Budget; readonly running: number }
  | { readonly do: "end"; readonly at: number };

const at = fc.nat();
const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof<fc.Arbitrary<Act>[]>(
    fc.record({ do: fc.constant("ask" as const), at, cost }),
    fc.record({ do: fc.constant("call" as const), at, isProcess: fc.boolean() }),
    fc.record({ do: fc.constant("spawn" as const), at, asked, running: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ do: fc.constant("end" as const), at }),
  ),
  { maxLength: 60 },
);

/** One session of a tree. */
interface Agent {
  readonly id: string;
  readonly parent: Agent | undefined;
  ledger: Ledger;
}

/** A tree that does what a runtime would: it asks only while something is left, and calls only what is allowed. */
class Tree {
  readonly agents: Agent[] = [];
  /** The most by which one model call of each agent went beyond what it had left. */
  readonly excess = new Map<string, Record<string, number>>();
  born = 0;

  constructor(root: Budget) {
    this.agents.push({ id: "root", parent: undefined, ledger: budget.openLedger(root) });
  }

  act(one: Act): void {
    const agent = this.agents[one.at % this.agents.length];
    if (agent === undefined) return;
    if (one.do === "ask") this.#ask(agent, one.cost);
    if (one.do === "call") this.#call(agent, one.isProcess);
    if (one.do === "spawn") this.#spawn(agent, one.asked, one.running);
    if (one.do === "end" && agent.parent !== undefined) this.#end(agent);
  }

  #ask(agent: Agent, spent: Partial<Spent>): void {
    if (budget.exhaustion(agent.ledger) !== undefined) return;
    const left = budget.leftOf(agent.ledger);
    const known = this.excess.get(agent.id) ?? {};
    for (const field of ["tokens", "cost_usd", "wall_ms"] as const) {
      const over = (spent[field] ?? 0) - (left[field] ?? Infinity);
      known[field] = Math.max(known[field] ?? 0, over);
    }
    this.excess.set(agent.id, known);
    agent.ledger = budget.spend(agent.ledger, { ...spent, model_calls: 1 });
  }

  #call(agent: Agent, isProcess: boolean): void {
    const left = budget.leftOf(agent.ledger);
    if (left.tool_calls === 0 || (isProcess && left.processes === 0)) return;
    agent.ledger = budget.spend(agent.ledger, { tool_calls: 1, processes: isProcess ? 1 : 0 });
  }

  #spawn(parent: Agent, wanted: Budget, running: number): void {
    const found = budget.share(parent.ledger, { asked: wanted, running });
    if (!found.ok) {
      assert.equal(found.failure.code, "budget_exceeded");
      return;
    }
    Budget.parse(found.share);
    const id = `session/${++this.born}`;
    const reserved = budget.reserve(parent.ledger, id, found.share);
    assert.ok(reserved.ok, "a share does not fit into the ledger that gave it");
    parent.ledger = reserved.ledger;
    this.agents.push({ id, parent, ledger: budget.openLedger(found.share) });
  }

  /** A child ends after its own children. */
  #end(agent: Agent): void {
    for (const child of this.agents.filter(({ parent }) => parent === agent)) this.#end(child);
    this.agents.splice(this.agents.indexOf(agent), 1);
    const parent = agent.parent as Agent;
    parent.ledger = budget.release(parent.ledger, agent.id, agent.ledger.spent);
  }

  endAll(): void {
    const [root] = this.agents;
    for (const child of this.agents.filter(({ parent }) => parent === root)) this.#end(child);
  }

  spent(field: BudgetField): number {
    return this.agents.reduce((sum, { ledger }) => sum + ledger.spent[field], 0);
  }

  /** What nobody has spent and nobody holds for another, also where it is less than nothing. */
  free(field: BudgetField): number {
    return this.agents.reduce((sum, { ledger }) => {
      const held = budget.heldOf(ledger)[field];
      return sum + (ledger.budget[field] ?? 0) - ledger.spent[field] - held;
    }, 0);
  }
}

function judge(tree: Tree, root: Required<Budget>): void {
  for (const field of BudgetField.options) {
    const all = tree.spent(field) + tree.free(field);
    assert.ok(Math.abs(all - root[field]) < 1e-9, `${field}: ${all} of ${root[field]} are there`);
    const excess = [...tree.excess.values()].reduce((sum, known) => sum + (known[field] ?? 0), 0);
    assert.ok(tree.spent(field) <= root[field] + excess + 1e-9, `${field}: ${tree.spent(field)} were spent`);
  }
  assert.equal(tree.spent("children"), tree.born);
}

Deno.test("tree of ledgers spends no more than its root's budget and one call in flight per branch, and loses nothing (I16)", () => {
  fc.assert(fc.property(bounds, acts, (root, all) => {
    const tree = new Tree(root);
    for (const one of all) {
      tree.act(one);
      judge(tree, root);
    }
    tree.endAll();
    judge(tree, root);
    assert.deepEqual(tree.agents.map(({ ledger }) => Object.keys(ledger.reserved)), [[]]);
  }));
});
