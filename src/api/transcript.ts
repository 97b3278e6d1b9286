/** What was said and done in a session, as a reader is told it: read off its entries one by one. */
import type { TranscriptItem } from "../../schemas/api_view.ts";
import type { Entry } from "../../schemas/entry.ts";
import { Failure } from "../../schemas/failure.ts";
import { TurnOutcome } from "../../schemas/message.ts";
import { isCall, isPaused } from "../journal/named_blobs.ts";
import { peek, peekObject, peekText } from "../peek.ts";
import { answerFor, entryIn } from "../records/entry_view.ts";

/** Folds entries into what a reader is told. The same entries give the same items. */
export class TranscriptFold {
  /** Calls that wait for their result, by the intent. */
  readonly #calls = new Map<string, { readonly call: string; readonly tool: string }>();

  /** What one entry tells. */
  *take(entry: Entry): Iterable<TranscriptItem> {
    const { kind, type, body, cause } = entry;
    if (kind === "input" && type === "session.prompt") {
      yield { type: "prompt", text: peekText(body, "message", "text") };
    }
    if (kind === "intent" && isCall(type)) {
      const call = peekText(body, "args", "invocation");
      const tool = peekText(body, "args", "entry", "name");
      const isAgain = [...this.#calls.values()].some((one) => one.call === call);
      this.#calls.set(`${cause}.${peekText(body, "n")}`, { call, tool });
      // A later attempt, or the rest of a paused call, is the same call to a reader.
      if (!isAgain) yield { type: "call", call, tool, arguments: peekObject(body, "args", "arguments") };
    }
    if (kind === "intent" && type === "question.ask") {
      const tool = peekText(body, "args", "subject", "tool");
      yield { type: "question", id: `${cause}.${peekText(body, "n")}`, tool };
    }
    if (kind === "outcome") yield* this.#ended(entry);
    if (kind === "reply" && typeof peek(body, "value", "turn") === "number") yield* turnIn(body);
  }

  *#ended(entry: Entry): Iterable<TranscriptItem> {
    const { type, body } = entry;
    if (type === "model.generate") {
      const text = answerFor("event", body);
      if (text !== "") yield { type: "answer", text };
    }
    const asked = this.#calls.get(peekText(body, "id"));
    if (asked === undefined || isPaused(body)) return;
    this.#calls.delete(peekText(body, "id"));
    const shown = entryIn("event", entry).body;
    const isOk = peekText(body, "status") === "ok";
    yield {
      type: "result",
      ...asked,
      outcome: isOk
        ? peek(body, "value", "isError") === true ? "completed_with_error" : "succeeded"
        : peekText(body, "failure", "code"),
      text: isOk
        ? peekText(shown, "value", "event") || peekText(shown, "value", "model")
        : peekText(body, "failure", "message"),
    };
  }
}

function* turnIn(body: unknown): Iterable<TranscriptItem> {
  const outcome = TurnOutcome.safeParse(peek(body, "value", "outcome"));
  if (!outcome.success) return;
  const failed = Failure.safeParse(peek(body, "value", "failure"));
  yield {
    type: "turn",
    turn: Number(peekText(body, "value", "turn")),
    outcome: outcome.data,
    ...(failed.success ? { failure: failed.data } : {}),
  };
}
