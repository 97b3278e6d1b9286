/** Collects a provider's events into one answer, within bounds. */
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import { isJson, type Json, type JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { FinishReason, ModelEvent, Usage } from "../../schemas/model.ts";

/** A call while its pieces come in. */
interface OpenCall {
  readonly callId: string;
  name: string;
  /** The pieces of the arguments so far. */
  text: string;
  value: Json | undefined;
  isDone: boolean;
}

/** One call of a collected answer: with arguments, or with the text that is no JSON object. */
export type CollectedCall =
  & { readonly callId: string; readonly name: string }
  & ({ readonly arguments: JsonObject } | { readonly argumentsText: string });

/** A `ModelAnswer` without the hash of its request. */
export type CollectedAnswer = {
  readonly text: string;
  readonly calls: readonly CollectedCall[];
  readonly usage: Usage;
  readonly finishReason: FinishReason;
  readonly metadata: JsonObject;
};

/** An answer, or why there is none. */
export type Collected =
  | { readonly ok: true; readonly answer: CollectedAnswer }
  | { readonly ok: false; readonly failure: Failure };

/** Takes events one by one; refuses an answer that is too large as soon as it is. */
export class AnswerCollector {
  #text = "";
  #characters = 0;
  #usage: Usage = { inputTokens: 0, outputTokens: 0 };
  #done: Extract<ModelEvent, { readonly type: "done" }> | undefined;
  readonly #calls: OpenCall[] = [];

  /** Takes one event. Returns a failure if the answer can no longer become one. */
  take(event: ModelEvent): Failure | undefined {
    switch (event.type) {
      case "text_delta":
        this.#text += event.text;
        return this.#count(event.text.length);
      case "tool_call_delta": {
        const call = this.#openCall(event.callId);
        call.name = event.name ?? call.name;
        call.text += event.argumentsDelta ?? "";
        return this.#count(event.argumentsDelta?.length ?? 0);
      }
      case "tool_call_done": {
        const call = this.#openCall(event.callId);
        call.name = event.name;
        call.value = event.arguments;
        call.isDone = true;
        return this.#count(0);
      }
      case "usage":
        this.#usage = event.usage;
        return undefined;
      case "done":
        this.#done = event;
        return undefined;
    }
  }

  /** True once the provider said that it is done; what comes after is not part of the answer. */
  isDone(): boolean {
    return this.#done !== undefined;
  }

  /** The answer, once the stream has ended. */
  finish(): Collected {
    if (this.#done === undefined) {
      return refuse(retryableFailure("model_unreachable", "The model's answer broke off before its end"));
    }
    const calls: CollectedCall[] = [];
    for (const call of this.#calls) {
      const value = call.value === undefined ? call.text : call.value;
      if (!isShallow(value)) {
        return refuse(tooLarge(`arguments nested more than ${limits.jsonDepthMax} deep`));
      }
      calls.push({ callId: call.callId, name: call.name, ...argumentsOf(value) });
    }
    const answer = {
      text: this.#text,
      calls,
      usage: this.#usage,
      finishReason: this.#done.finishReason,
      metadata: this.#done.metadata ?? {},
    };
    if (!isShallow(answer.metadata)) return refuse(tooLarge("metadata nested too deep"));
    if (new TextEncoder().encode(JSON.stringify(answer)).length > limits.unitBytesMax) {
      return refuse(tooLargeInBytes());
    }
    return { ok: true, answer };
  }

  /** The call that is being written under this id: ids may come twice, so a finished call is not taken up again. */
  #openCall(callId: string): OpenCall {
    const known = this.#calls.find((call) => call.callId === callId && !call.isDone);
    if (known !== undefined) return known;
    const call: OpenCall = { callId, name: "", text: "", value: undefined, isDone: false };
    this.#calls.push(call);
    return call;
  }

  #count(characters: number): Failure | undefined {
    this.#characters += characters;
    if (this.#calls.length > limits.modelCallsPerAnswerMax) {
      return tooLarge(`more than ${limits.modelCallsPerAnswerMax} calls in one answer`);
    }
    return this.#characters > limits.unitBytesMax ? tooLargeInBytes() : undefined;
  }
}

function refuse(problem: Failure): Collected {
  return { ok: false, failure: problem };
}

function tooLarge(what: string): Failure {
  return failure("too_large", `The model's answer is too large: ${what}`);
}

function tooLargeInBytes(): Failure {
  return tooLarge(`more than ${limits.unitBytesMax} bytes`);
}

/** Arguments as an object; what is no JSON object is kept as text, so that the refusal can show it. */
function argumentsOf(value: Json): { readonly arguments: JsonObject } | { readonly argumentsText: string } {
  const parsed = typeof value === "string" ? parse(value) : value;
  if (isObject(parsed) && isShallow(parsed) && isJson(parsed)) return { arguments: parsed };
  return { argumentsText: typeof value === "string" ? value : JSON.stringify(value) };
}

/** No arguments at all are an empty object: some models send nothing for a tool that takes nothing. */
function parse(text: string): Json {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True if a value is nested at most `limits.jsonDepthMax` deep. Looks level by level: depth cannot hurt it (B102). */
function isShallow(value: Json): boolean {
  let level: Json[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limits.jsonDepthMax) return false;
    level = level.flatMap((one) => typeof one === "object" && one !== null ? Object.values(one) : []);
  }
  return true;
}
