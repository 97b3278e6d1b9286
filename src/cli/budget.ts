/** `troupe budget`. */
import { heldOf, isBounded } from "../../actors/budget.ts";
import { BudgetField } from "../../schemas/budget.ts";
import { type BudgetView, readBudget } from "../records/budget_fold.ts";
import { type Cli, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { locateStore, openReading } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { findSession } from "./session_name.ts";
import { printTable } from "./table.ts";

/** Shows the budget of a session. */
export const command = defineCommand({
  args: ["SESSION"],
  about: [
    "Shows what a session may spend, what it spent, what its children hold, and what is left. What is spent never comes",
    "back: at 0 tokens, cost or wall time no turn begins, at 0 of the rest single calls are denied. Of a turn that runs,",
    "calls of tools count here once they reach their tool. A budget is set by the key budget of agent.yaml, or by",
    "troupe run --budget. SESSION is an id, an unambiguous part of one, or last.",
  ],
  options: { store: storeOption, json: jsonOption },
  examples: ["troupe budget last", "troupe budget last --json"],
  run: async ({ cli, options, args }) => {
    const host = await openReading(cli, await locateStore(cli, options.store));
    try {
      const { address: session, kind } = await findSession(host, args[0] ?? "");
      if (kind !== "session") {
        throw new UsageError("root_not_found", `"${session}" is no session: see troupe sessions`);
      }
      const view = await readBudget(host.readPages(session));
      if (options.json) cli.terminal.out.line(jsonLine({ session, ...view }));
      else {
        if (!isBounded(view)) cli.terminal.err.line("The session has no budget; this is what it spent");
        printBudget(cli, view);
      }
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});

/** Prints a budget as a table. */
export function printBudget({ terminal }: Pick<Cli, "terminal">, view: BudgetView): void {
  const { out } = terminal;
  const held = heldOf(view);
  printTable(
    terminal,
    ["FIELD", "LIMIT", "SPENT", "HELD BY CHILDREN", "LEFT"],
    BudgetField.options.map((field) => [
      field,
      String(view.budget[field] ?? "-"),
      String(view.spent[field]),
      String(held[field]),
      String(view.left[field] ?? "-"),
    ]),
  );
  const { model_calls: calls, counted_calls: counted, priced_calls: priced } = view.spent;
  if (calls > priced) out.line(`The cost is not known for ${calls - priced} of ${callsText(calls)}`);
  if (calls > counted) out.line(`The tokens are not known for ${calls - counted} of ${callsText(calls)}`);
  if (view.turn !== undefined) out.line(`Turn ${view.turn} has not ended: it may spend more`);
}

function callsText(calls: number): string {
  return `${calls} model call${calls === 1 ? "" : "s"}`;
}
