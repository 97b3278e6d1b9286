/** A turn as it happens, for programs. */
import { entryIn } from "../records/entry_view.ts";
import { jsonLine } from "./json_line.ts";
import type { Terminal } from "./terminal.ts";
import type { TurnView } from "./transcript.ts";

/** Prints one JSON line for each durable entry, and one for the value that the turn answers, if answers have a form. */
export function createJsonView(terminal: Terminal): TurnView {
  return {
    hear: (event) => {
      if (event.type !== "entries") return;
      for (const entry of event.entries) terminal.out.line(jsonLine(entryIn("event", entry)));
    },
    note: (text) => terminal.err.line(text),
    status: () => undefined,
    // No entry says it: it is read off the answer.
    end: ({ output }) => {
      if (output !== undefined) terminal.out.line(jsonLine({ output }));
    },
  };
}
