/** `--budget`: what a new session may spend, as `field=amount` by commas. */
import { nearest } from "../../actors/nearest.ts";
import { Budget, BudgetField } from "../../schemas/budget.ts";
import type { OptionSpec } from "./options.ts";
import { UsageError } from "./exit.ts";

const fields = BudgetField.options;

/** The option. */
export const budgetOption = {
  kind: "text",
  value: "LIMITS",
  help: "what it may spend in all: FIELD=AMOUNT,...; of this and agent.yaml the stricter one counts",
} as const satisfies OptionSpec;

/** The budget of a command line. Refuses what is no field, no amount, or given twice. */
export function parseBudget(text: string): Budget {
  const amounts: { [field: string]: number } = {};
  for (const part of text.split(",")) {
    const [field = "", amount = "", ...more] = part.split("=").map((one) => one.trim());
    if (!(fields as readonly string[]).includes(field)) {
      const near = nearest(field, fields);
      const hint = near === undefined ? `it takes ${fields.join(", ")}` : `did you mean ${near}?`;
      throw invalid(`has no field ${JSON.stringify(field)}: ${hint}`);
    }
    if (Object.hasOwn(amounts, field)) throw invalid(`gives ${field} twice: give it once`);
    if (more.length > 0 || !/^[0-9]+(\.[0-9]+)?$/.test(amount)) {
      throw invalid(`needs a number after ${field}=, such as ${field}=50`);
    }
    amounts[field] = Number(amount);
  }
  const parsed = Budget.safeParse(amounts);
  if (parsed.success) return parsed.data;
  const [problem] = parsed.error.issues;
  throw invalid(`cannot take ${problem?.path.join(".")}: ${problem?.message}`);
}

function invalid(why: string): UsageError {
  return new UsageError("option_invalid", `The option --budget ${why}`);
}
