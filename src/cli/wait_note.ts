/** The notes of a turn whose model failed, or may not be asked yet, each in one line for people. */
import { TurnWait, TurnWaitEnded, type WaitEnd } from "../../schemas/recovery.ts";
import { peek, peekText } from "../peek.ts";
import { timeText } from "./table.ts";

const enders: { readonly [E in WaitEnd]: string } = {
  timer: "its time",
  operator: "the operator",
  cancel: "a cancel",
  budget: "the budget",
};

/** What a note of a wait says; undefined if it cannot be read. */
export function waitNoteText(type: "turn.waiting" | "turn.wait_ended", body: unknown): string | undefined {
  if (type === "turn.wait_ended") {
    const { data } = TurnWaitEnded.safeParse(body);
    return data && `turn ${data.turn} step ${data.step}, by ${enders[data.by]}`;
  }
  const { data } = TurnWait.safeParse(body);
  return data && waitingText(data);
}

/** A wait as it is told where it begins. */
export function waitingText(wait: TurnWait): string {
  const { turn, kind, attempt, maximum, lastError, nextRetryAtMs: until } = wait;
  const how = until === null
    ? "for a person: troupe resume"
    : `until ${timeText(until)}, then retry ${attempt} of ${maximum}`;
  return `turn ${turn} waits ${how}; ${kind}, ${lastError.code}: ${lastError.message}`;
}

/** A request that waits to be let in to its provider. */
export function queuedText(body: unknown): string {
  const until = peek(body, "coolsUntilMs");
  const why = typeof until === "number"
    ? `which is left alone until ${timeText(until)}`
    : `${peekText(body, "ahead")} wait before it`;
  return `${peekText(body, "intent")} waits to be let in to ${peekText(body, "provider")}: ${why}`;
}

/** What a model is no longer told of. */
export function compactedText(body: unknown): string {
  const [turn, step, count] = [peekText(body, "turn"), peekText(body, "step"), peekText(body, "count")];
  const what = `${count} old results, ${peekText(body, "characters")} characters`;
  return `turn ${turn} step ${step}: the conversation was too long, ${what} are left out`;
}

/** A tool that a model is told less of, or nothing any more. */
export function hiddenText(type: string, body: unknown): string {
  const less = type === "model.tool_hidden" ? "not told of it" : "told in basic words";
  return `${peekText(body, "model")} does not take the schema of ${peekText(body, "tool")}: ${less}`;
}
