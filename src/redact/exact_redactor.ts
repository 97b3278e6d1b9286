/** Takes exact values out of a text that comes in pieces, whatever they look like: what was bound is never shown (DM-86). */
import { redactBounds } from "./bounds.ts";
import { redactedMark } from "../../schemas/secret.ts";

/** What takes something out of a text that comes in pieces. */
export interface TextFilter {
  /** Takes a piece; gives out what is certain by now. */
  push(piece: string): string;
  /** The rest. */
  flush(): string;
}

/** Looks for a few values, each as it is. */
export class ExactRedactor implements TextFilter {
  /** The longest first, so that none leaves a piece of another behind (DM-53). */
  readonly #values: readonly string[];
  /** What may become a value with what comes next. */
  #held = "";

  constructor(values: readonly string[]) {
    const given = new Set(values.filter((value) => value !== ""));
    this.#values = [...given].sort((left, right) => right.length - left.length);
  }

  push(piece: string): string {
    if (this.#values.length === 0) return piece;
    const text = this.#held + piece;
    const open = this.#openFrom(text);
    const { output, end } = this.#replaced(text, open);
    const to = Math.max(open, end);
    this.#held = text.slice(to);
    return output + text.slice(end, to);
  }

  /** The beginning of a value at the very end was cut off: it is masked if it says anything. */
  flush(): string {
    const { output, end } = this.#replaced(this.#held, this.#held.length);
    const rest = this.#held.slice(end);
    this.#held = "";
    const from = this.#openFrom(rest);
    const isCutOff = rest.length - from >= redactBounds.partialCharactersMin;
    return output + (isCutOff ? rest.slice(0, from) + redactedMark : rest);
  }

  /** The text without the values that begin before `open`, up to where the last one ends. */
  #replaced(text: string, open: number): { readonly output: string; readonly end: number } {
    let output = "";
    let at = 0;
    for (;;) {
      const next = this.#next(text, at);
      if (next === undefined || next.start >= open) break;
      output += text.slice(at, next.start) + redactedMark;
      at = next.start + next.length;
    }
    return { output, end: at };
  }

  #next(text: string, from: number): { readonly start: number; readonly length: number } | undefined {
    let found: { readonly start: number; readonly length: number } | undefined;
    for (const value of this.#values) {
      const start = text.indexOf(value, from);
      if (start >= 0 && (found === undefined || start < found.start)) found = { start, length: value.length };
    }
    return found;
  }

  /** Where the longest end of the text begins that a value may begin with; its length if there is none. */
  #openFrom(text: string): number {
    const most = this.#values.map((value) => {
      for (let length = Math.min(value.length - 1, text.length); length > 0; length--) {
        if (text.endsWith(value.slice(0, length))) return length;
      }
      return 0;
    });
    return text.length - Math.max(0, ...most);
  }
}
