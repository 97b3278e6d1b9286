/** Entries as programs are shown them: whole, in the event view, or with `--debug` in the debug view (DM-46, DM-51). */
import type { Entry } from "../../schemas/entry.ts";
import { ResultMark } from "../../schemas/invocation.ts";
import { isCall } from "../journal/named_blobs.ts";
import { viewOf } from "../redact/mark_places.ts";
import type { View } from "../redact/marks.ts";
import { peek, peekList, peekObject, peekText } from "../peek.ts";

/** Which view entries are shown in. */
export type EntryView = Extract<View, "event" | "debug">;

/**
 * An entry for a program. A tool's result, or a model's answer, whose secrets were taken out says in `event`, or in `debug`, which they were;
 * `model` stays what the model was given. Fingerprints are shown in the debug view alone.
 */
export function entryIn(view: EntryView, entry: Entry): Entry {
  const { kind, type, body } = entry;
  const field = isCall(type) ? "model" : type === "model.generate" ? "text" : undefined;
  if (kind !== "outcome" || field === undefined) return entry;
  const marks = marksOf(peekList(body, "value", "marks"));
  if (marks.length === 0) return entry;
  const value = peekObject(body, "value");
  const shown = marks.map(({ print, ...mark }) =>
    view === "debug" && print !== undefined ? { ...mark, print } : mark
  );
  const text = viewOf(peekText(value, field), marks, view);
  return { ...entry, body: { ...Object(body), value: { ...value, marks: shown, [view]: text } } };
}

/** The secrets that were taken out of a result, each once, with their fingerprints if there are any. */
export function secretsOf(body: unknown): readonly Omit<ResultMark, "at">[] {
  const found = new Map<string, Omit<ResultMark, "at">>();
  for (const { at: _, ...secret } of marksOf(peekList(peek(body, "value"), "marks"))) {
    found.set(JSON.stringify(secret), secret);
  }
  return [...found.values()];
}

/** The text of a model's answer as the person at the terminal is shown it. */
export function answerFor(view: View, body: unknown): string {
  return viewOf(peekText(body, "value", "text"), marksOf(peekList(body, "value", "marks")), view);
}

function marksOf(list: readonly unknown[]): readonly ResultMark[] {
  return list.flatMap((one) => ResultMark.safeParse(one).data ?? []);
}
