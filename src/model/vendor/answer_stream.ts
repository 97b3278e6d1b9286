/** Turns the AI SDK's stream of parts into our events; keeps apart what only the vendor understands (AR-18, AR-20). */
import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";
import type { Json, JsonObject } from "../../../schemas/json.ts";
import { limits } from "../../../schemas/limits.ts";
import type { FinishReason, ModelEvent, Usage } from "../../../schemas/model.ts";
import type { ModelPrices } from "../../../schemas/provider.ts";
import { throughJson } from "../../canonical.ts";
import type { KeptPart, VendorIdentity } from "./kept_parts.ts";
import type { ToolNames } from "./tool_names.ts";

type Part = LanguageModelV4StreamPart;
type Options = Extract<Part, { type: "text-start" }>["providerMetadata"];

/** What an answer is read with. */
export interface AnswerOptions {
  readonly identity: VendorIdentity;
  /** Name of the provider in the configuration. */
  readonly provider: string;
  readonly names: ToolNames;
  readonly prices?: ModelPrices | undefined;
}

/** A part of the answer while it comes. */
interface OpenPart {
  readonly type: KeptPart["type"];
  text: string;
  /** Of a call, as the conversation has it. */
  readonly callId?: string;
  options: Options;
}

const finishReasons: { readonly [reason: string]: FinishReason } = {
  stop: "stop",
  length: "length",
  "content-filter": "content_filter",
  "tool-calls": "tool_calls",
};

/** Reads one answer, part by part. */
export class AnswerStream {
  readonly #options: AnswerOptions;
  readonly #parts: OpenPart[] = [];
  readonly #open = new Map<string, OpenPart>();
  readonly #warnings: string[] = [];
  readonly #calls = new Set<string>();
  #response: JsonObject = {};
  #characters = 0;

  constructor(options: AnswerOptions) {
    this.#options = options;
  }

  /** True if so much was thought that no answer could be kept. */
  get isTooLarge(): boolean {
    return this.#characters > limits.unitBytesMax;
  }

  /** True if something was said or called. */
  get hasSaid(): boolean {
    return this.#parts.some(({ type, text }) => type === "call" || type === "text" && text !== "");
  }

  /** The events of a part: none for most of those that only the vendor understands. */
  take(part: Part): readonly ModelEvent[] {
    switch (part.type) {
      case "stream-start":
        this.#warn(part.warnings);
        return [];
      case "response-metadata":
        this.#response = {
          ...this.#response,
          ...(part.id === undefined ? {} : { id: part.id }),
          ...(part.modelId === undefined ? {} : { answered_by: part.modelId }),
        };
        return [];
      case "text-start":
      case "reasoning-start":
        this.#begin(part.type === "text-start" ? "text" : "reasoning", part.id, part.providerMetadata);
        return [];
      case "text-delta":
      case "reasoning-delta":
        return this.#grow(part);
      case "text-end":
      case "reasoning-end":
        this.#know(this.#open.get(keyOf(part.type, part.id)), part.providerMetadata);
        this.#open.delete(keyOf(part.type, part.id));
        return [];
      case "tool-input-start":
        return [this.#delta(part.id, { name: this.#options.names.toOurs(part.toolName) })];
      case "tool-input-delta":
        return [this.#delta(part.id, { argumentsDelta: part.delta })];
      case "tool-call":
        return this.#call(part);
      case "finish":
        return this.#finish(part);
      default:
        return []; // Sources, files and what vendors carry out by themselves: nothing of it was asked for.
    }
  }

  #warn(warnings: Extract<Part, { type: "stream-start" }>["warnings"]): void {
    for (const warning of warnings) {
      if (this.#warnings.length >= limits.vendorWarningsMax) return;
      const feature = "feature" in warning ? warning.feature : "";
      const details = "details" in warning ? warning.details : "message" in warning ? warning.message : "";
      this.#warnings.push([warning.type, feature, details].filter(Boolean).join(": ").slice(0, 300));
    }
  }

  #begin(type: "text" | "reasoning", id: string, options: Options): OpenPart {
    const part: OpenPart = { type, text: "", options };
    this.#parts.push(part);
    this.#open.set(`${type} ${id}`, part);
    return part;
  }

  #grow(part: Extract<Part, { type: "text-delta" | "reasoning-delta" }>): readonly ModelEvent[] {
    const type = part.type === "text-delta" ? "text" : "reasoning";
    const open = this.#open.get(keyOf(part.type, part.id)) ?? this.#begin(type, part.id, undefined);
    open.text += part.delta;
    this.#know(open, part.providerMetadata);
    if (type === "reasoning") this.#characters += part.delta.length;
    return type === "text" && part.delta !== "" ? [{ type: "text_delta", text: part.delta }] : [];
  }

  /** What a vendor says of a part later goes beside what it said before. */
  #know(part: OpenPart | undefined, options: Options): void {
    if (part === undefined || options === undefined) return;
    const all = { ...part.options };
    for (const [vendor, said] of Object.entries(options)) all[vendor] = { ...all[vendor], ...said };
    part.options = all;
  }

  #delta(id: string, more: { readonly name?: string; readonly argumentsDelta?: string }): ModelEvent {
    return { type: "tool_call_delta", callId: id.slice(0, 200), ...more };
  }

  #call(part: Extract<Part, { type: "tool-call" }>): readonly ModelEvent[] {
    if (part.providerExecuted === true) return [];
    this.#parts.push({
      type: "call",
      text: "",
      callId: part.toolCallId.slice(0, 200),
      options: part.providerMetadata,
    });
    this.#calls.add(part.toolCallId);
    return [{
      type: "tool_call_done",
      callId: part.toolCallId.slice(0, 200),
      name: this.#options.names.toOurs(part.toolName),
      // As text: what is no JSON object is kept, and refused where it can be shown to the model.
      arguments: part.input,
    }];
  }

  #finish(
    { usage, finishReason, providerMetadata }: Extract<Part, { type: "finish" }>,
  ): readonly ModelEvent[] {
    const known = finishReasons[finishReason.unified];
    const reason = known ?? (this.#calls.size > 0 ? "tool_calls" : "other");
    return [
      { type: "usage", usage: usageOf(usage, this.#options.prices) },
      {
        type: "done",
        // Some servers say that they stopped where they called a tool.
        finishReason: reason === "stop" && this.#calls.size > 0 ? "tool_calls" : reason,
        metadata: this.#metadata(finishReason.raw, usage, providerMetadata),
      },
    ];
  }

  #metadata(finish: string | undefined, usage: LanguageModelV4Usage, native: Options): JsonObject {
    const { provider, identity } = this.#options;
    const parts = this.#keptParts();
    const counted = {
      cached: usage.inputTokens.cacheRead,
      written: usage.inputTokens.cacheWrite,
      reasoning: usage.outputTokens.reasoning,
    };
    const tokens = Object.entries(counted).filter(([, count]) => (count ?? 0) > 0);
    return throughJson({
      provider,
      ...identity,
      ...this.#response,
      ...(finish === undefined ? {} : { finish: finish.slice(0, 200) }),
      ...(this.#warnings.length === 0 ? {} : { warnings: this.#warnings }),
      ...(parts === undefined ? {} : { parts }),
      ...(tokens.length === 0 ? {} : { tokens: Object.fromEntries(tokens) }),
      ...(native === undefined ? {} : { native }),
    }) as JsonObject;
  }

  /** The parts, if one of them has something that must go back. */
  #keptParts(): readonly Json[] | undefined {
    const isWanted = this.#parts.some(({ type, options }) => type === "reasoning" || hasAny(options));
    if (!isWanted) return undefined;
    return this.#parts.map(({ type, text, callId = "", options }) => ({
      type,
      ...(type === "reasoning" ? { text } : type === "text" ? { characters: text.length } : { callId }),
      ...(hasAny(options) ? { options: options as JsonObject } : {}),
    }));
  }
}

function keyOf(type: string, id: string): string {
  return `${type.startsWith("text") ? "text" : "reasoning"} ${id}`;
}

function hasAny(options: Options): boolean {
  return Object.values(options ?? {}).some((said) => Object.keys(said).length > 0);
}

function usageOf(
  { inputTokens, outputTokens }: LanguageModelV4Usage,
  prices: ModelPrices | undefined,
): Usage {
  const [input, output] = [countOf(inputTokens.total), countOf(outputTokens.total)];
  const cached = Math.min(input, countOf(inputTokens.cacheRead));
  const counted: Usage = {
    inputTokens: input,
    outputTokens: output,
    ...(cached === 0 ? {} : { cachedInputTokens: cached }),
  };
  if (prices === undefined) return counted;
  const { input_per_million_usd: fresh, output_per_million_usd: written } = prices;
  const kept = prices.cached_input_per_million_usd ?? fresh;
  const costUsd = ((input - cached) * fresh + cached * kept + output * written) / 1_000_000;
  return { ...counted, costUsd: Math.min(costUsd, limits.budgetCostUsdMax) };
}

/** A provider that does not count says nothing, or nonsense. */
function countOf(tokens: number | undefined): number {
  return tokens !== undefined && Number.isFinite(tokens) && tokens > 0 ? Math.round(tokens) : 0;
}
