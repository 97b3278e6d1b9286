/** What each turn of a session asked of models, and what that took, read off its journal. */
import type { Entry } from "../../schemas/entry.ts";
import { Usage } from "../../schemas/model.ts";
import { peek, peekText } from "../peek.ts";

/** What models were asked and what they took. A published form: fields are in snake case. */
export interface ModelUse {
  /** Every request, also those that failed. */
  readonly model_calls: number;
  /** Requests whose tokens the provider told. */
  readonly counted_calls: number;
  /** Requests whose cost is known. */
  readonly priced_calls: number;
  readonly input_tokens: number;
  /** Those of the input that providers had kept from earlier requests. */
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: number;
}

/** One turn with one model. */
export interface UsageRow extends ModelUse {
  readonly turn: number;
  readonly model: string;
}

/** Nothing asked, nothing taken. */
export const noUse: ModelUse = {
  model_calls: 0,
  counted_calls: 0,
  priced_calls: 0,
  input_tokens: 0,
  cached_input_tokens: 0,
  output_tokens: 0,
  cost_usd: 0,
};

/** Both together. */
export function plusUse(one: ModelUse, other: ModelUse): ModelUse {
  return {
    model_calls: one.model_calls + other.model_calls,
    counted_calls: one.counted_calls + other.counted_calls,
    priced_calls: one.priced_calls + other.priced_calls,
    input_tokens: one.input_tokens + other.input_tokens,
    cached_input_tokens: one.cached_input_tokens + other.cached_input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    cost_usd: one.cost_usd + other.cost_usd,
  };
}

/** Takes the entries of one session in order. */
export class UsageFold {
  readonly #rows = new Map<string, UsageRow>();
  /** The row of each request, by its intent. */
  readonly #asked = new Map<string, string>();
  #turn = 0;
  #model = "";

  /** One for each turn and model, in the order in which they were first asked. */
  get rows(): readonly UsageRow[] {
    return [...this.#rows.values()];
  }

  take({ kind, type, body, cause }: Entry): void {
    if (kind === "created") this.#model = peekText(body, "input", "agent", "model");
    if (type !== "model.generate" && type !== "model.sample") return;
    if (kind === "intent") {
      // A server's question to the model belongs to the turn that called the server, and goes to the agent's own model.
      const turn = peek(body, "args", "turn");
      if (typeof turn === "number") this.#turn = turn;
      const model = peekText(body, "args", "model") || this.#model;
      const key = `${this.#turn} ${model}`;
      this.#asked.set(`${cause}.${peekText(body, "n")}`, key);
      this.#add(key, { turn: this.#turn, model, ...noUse }, { ...noUse, model_calls: 1 });
    }
    if (kind === "outcome") {
      const key = this.#asked.get(peekText(body, "id"));
      const row = key === undefined ? undefined : this.#rows.get(key);
      const usage = Usage.safeParse(peek(body, "value", "usage"));
      if (key !== undefined && row !== undefined && usage.success) this.#add(key, row, useOf(usage.data));
    }
  }

  #add(key: string, row: UsageRow, more: ModelUse): void {
    const { turn, model } = row;
    this.#rows.set(key, { turn, model, ...plusUse(this.#rows.get(key) ?? row, more) });
  }
}

/** A provider that does not count says 0 of both. */
function useOf({ inputTokens, outputTokens, cachedInputTokens = 0, costUsd }: Usage): ModelUse {
  return {
    model_calls: 0,
    counted_calls: inputTokens + outputTokens > 0 ? 1 : 0,
    priced_calls: costUsd === undefined ? 0 : 1,
    input_tokens: inputTokens,
    cached_input_tokens: cachedInputTokens,
    output_tokens: outputTokens,
    cost_usd: costUsd ?? 0,
  };
}
