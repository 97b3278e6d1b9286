/** What a session may spend and what it spent, read off its journal. */
import { leftOf, nothing, openLedger, plus, release, spend, strictest } from "../../actors/budget.ts";
import { Budget, Ledger, Spent } from "../../schemas/budget.ts";
import type { Entry } from "../../schemas/entry.ts";
import { Usage } from "../../schemas/model.ts";
import { spentBy } from "../../actors/turn_budget.ts";
import { peek, peekText } from "../peek.ts";

/** What a session may spend, what it spent, and what is left of every field that has a bound. */
export interface BudgetView extends Ledger {
  readonly left: ReturnType<typeof leftOf>;
  /** The turn that runs, if one does. */
  readonly turn: number | undefined;
}

/**
 * Adds up what entries tell. The end of a turn tells what its session had spent by then, which is the truth; behind it
 * everything counts as it is told: model calls by their outcomes, calls of tools once they reach their tool.
 */
export class BudgetFold {
  #ledger: Ledger = openLedger();
  /** What was spent since the last end of a turn. */
  #since: Spent = nothing;
  #turn: number | undefined;
  #startedAt = 0;
  #lastAt = 0;

  take(entry: Entry): void {
    const { kind, type, body, at } = entry;
    this.#lastAt = at;
    if (kind === "created") this.#open(body);
    if (kind === "checkpoint") this.#restore(body);
    if (kind === "note" && type === "tools.bound") this.#begin(entry);
    if (kind === "note" && type === "budget.reserved") this.#reserve(body);
    if (kind === "note" && type === "budget.released") this.#release(body);
    if (kind === "intent") this.#ask(type, body);
    if (kind === "outcome" && (type === "model.generate" || type === "model.sample")) this.#answer(body);
    if (kind === "reply" && typeof peek(body, "value", "turn") === "number") {
      this.#end(peek(body, "value", "spent"));
    }
    if (kind === "message" && type === "session.answered") this.#tell(peek(body, "message"));
  }

  view(): BudgetView {
    const ledger = spend(this.#ledger, this.#current());
    return { ...ledger, left: leftOf(ledger), turn: this.#turn };
  }

  #open(body: unknown): void {
    const of = (...path: readonly string[]) => Budget.safeParse(peek(body, "input", ...path)).data;
    this.#ledger = openLedger(strictest(of("agent", "budget"), of("budget")));
  }

  /** A session at rest knows what it spent. A fork says so nowhere else: the turns of its origin are answered there. */
  #restore(body: unknown): void {
    const ledger = Ledger.safeParse(peek(body, "state", "context", "ledger"));
    if (!ledger.success || peek(body, "state", "context", "current") !== null) return;
    this.#ledger = ledger.data;
    this.#since = nothing;
    this.#turn = undefined;
  }

  #begin({ body, at }: Entry): void {
    this.#turn = Number(peekText(body, "execution").split("/").at(-1));
    this.#startedAt = at;
  }

  #reserve(body: unknown): void {
    const share = Budget.safeParse(peek(body, "share"));
    if (!share.success) return;
    const { reserved } = this.#ledger;
    this.#ledger = { ...this.#ledger, reserved: { ...reserved, [peekText(body, "child")]: share.data } };
    this.#count({ children: 1 });
  }

  #release(body: unknown): void {
    const spent = Spent.safeParse(peek(body, "spent"));
    if (spent.success) this.#count(spent.data);
    this.#ledger = release(this.#ledger, peekText(body, "child"), {});
  }

  #ask(type: string, body: unknown): void {
    if (type === "model.generate" || type === "model.sample") this.#count({ model_calls: 1 });
    const isFirst = peek(body, "args", "attempt") === 1 && peek(body, "args", "round") === undefined;
    if ((type !== "tool.call" && type !== "mcp.call") || !isFirst) return;
    const isCommand = type === "tool.call" && peekText(body, "args", "entry", "name") === "terminal";
    this.#count({ tool_calls: 1, processes: isCommand ? 1 : 0 });
  }

  #answer(body: unknown): void {
    const usage = Usage.safeParse(peek(body, "value", "usage"));
    if (usage.success) this.#count(spentBy(usage.data));
  }

  /** A prompt that was refused ended no turn: that answer has a failure, and says of nothing what it cost. */
  #tell(message: unknown): void {
    const spent = peek(message, "spent");
    if (spent !== undefined || peek(message, "failure") === undefined) this.#end(spent);
  }

  /** Entries of earlier releases do not tell what was spent: what was added up stands for it. */
  #end(told: unknown): void {
    const spent = Spent.safeParse(told);
    this.#ledger = spent.success
      ? { ...this.#ledger, spent: spent.data }
      : spend(this.#ledger, this.#current());
    this.#since = nothing;
    this.#turn = undefined;
  }

  #count(more: Partial<Spent>): void {
    this.#since = plus(this.#since, more);
  }

  #current(): Spent {
    if (this.#turn === undefined) return this.#since;
    return plus(this.#since, { wall_ms: Math.max(0, Math.round(this.#lastAt - this.#startedAt)) });
  }
}

/** Reads the budget of a session. */
export async function readBudget(pages: AsyncIterable<readonly Entry[]>): Promise<BudgetView> {
  const fold = new BudgetFold();
  for await (const page of pages) for (const entry of page) fold.take(entry);
  return fold.view();
}
