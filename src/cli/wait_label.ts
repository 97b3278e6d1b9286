/** What a turn waits for, in the last line of a terminal. */
import { peekText } from "../peek.ts";

const labels: { readonly [type: string]: string | undefined } = {
  "question.ask": "waiting for an answer",
  "model.sample": "the model answers a server",
  "timer.set": "waiting to ask again",
};

/** Notes that a person is told at once. */
export const toldAtOnce: ReadonlySet<string> = new Set(["turn.stuck", "turn.waiting"]);

/** What an intent makes a turn wait for; undefined if it is shown otherwise, or is the timer of a budget, which runs beside all else. */
export function waitLabel(type: string, args: unknown): string | undefined {
  return type === "timer.set" && peekText(args, "label").endsWith("wall time") ? undefined : labels[type];
}
