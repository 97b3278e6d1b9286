/**
 * How far the calls of the latest answer came, as the journal tells: for a model whose turn was stopped before it heard.
 * What may have been applied is never told as canceled (R3), and what is unknown is told so in words (R9).
 */
import type { Entry } from "../../schemas/entry.ts";
import { isCall, isPaused } from "../journal/named_blobs.ts";
import { peek } from "../peek.ts";

/** What a call came to: it has a result, under the id of its intent; or the words for it. */
export type CallEnd = { readonly outcome: string } | { readonly words: string };

interface Begun {
  /** Its latest intent. */
  id: string;
  /** True once one of its intents could hurt. */
  isHarmful: boolean;
  end: "open" | "ok" | "unknown" | "applied" | "not_applied";
}

const stopped = "canceled: The turn was stopped before this call had a result";
const unknown = "The outcome of this call is unknown. Do not repeat it";
const applied = "It was found out that this call was applied; its result was lost";

/** Follows the calls of one session, one answer after another. */
export class BegunCalls {
  readonly #calls = new Map<string, Begun>();
  /** Intents of those calls, and questions about doubt, by their ids: the call's ordinal. */
  readonly #ordinals = new Map<string, string>();
  #step = 0;

  /** Takes the next entry. */
  take(entry: Entry): void {
    if (entry.kind === "intent") return this.#begin(entry);
    if (entry.kind !== "outcome") return;
    const id = String(peek(entry.body, "id"));
    if (entry.type === "model.generate" && peek(entry.body, "status") === "ok") {
      this.#calls.clear();
      this.#ordinals.clear();
    }
    const call = this.#calls.get(this.#ordinals.get(id) ?? "");
    if (call === undefined) return;
    if (entry.type === "question.ask") this.#decide(call, peek(entry.body, "value", "decision"));
    else this.#end(call, entry);
  }

  /** What became of the call in this place of the latest answer. */
  endOf(index: number): CallEnd {
    const call = this.#calls.get(`call/${this.#step}.${index}`);
    if (call?.end === "ok") return { outcome: call.id };
    if (call?.end === "applied") return { words: applied };
    const isDoubtful = call?.isHarmful === true && (call.end === "open" || call.end === "unknown");
    return { words: isDoubtful ? unknown : stopped };
  }

  #begin({ type, cause, body }: Entry): void {
    const id = `${cause}.${peek(body, "n")}`;
    if (type === "model.generate") this.#step = Number(peek(body, "args", "step"));
    if (type === "question.ask" && peek(body, "args", "subject", "kind") === "uncertain") {
      const call = String(peek(body, "args", "subject", "invocation"));
      this.#ordinals.set(id, call.replace(/^turn\/\d+\//, ""));
    }
    if (!isCall(type)) return;
    const ordinal = String(peek(body, "args", "invocation"));
    const isHarmful = peek(body, "effect") !== "idempotent" || this.#calls.get(ordinal)?.isHarmful === true;
    this.#ordinals.set(id, ordinal);
    this.#calls.set(ordinal, { id, isHarmful, end: "open" });
  }

  #decide(call: Begun, decision: unknown): void {
    if (decision === "mark_applied") call.end = "applied";
    if (decision === "mark_not_applied") call.end = "not_applied";
  }

  #end(call: Begun, { body }: Entry): void {
    const status = peek(body, "status");
    if (status === "ok" && isPaused(body)) return;
    call.end = status === "ok" ? "ok" : status === "unknown" ? "unknown" : "not_applied";
  }
}
