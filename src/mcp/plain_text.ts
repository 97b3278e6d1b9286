/** Text that a server sent, made fit for models and people: nothing in it is invisible or acts on a screen. */
import { head, visible } from "../tools/visible.ts";

/**
 * What shows nothing and is not known to `visible`: fillers, marks and the variation selectors by which text is hidden
 * in other text. The two selectors that emoji are written with stay.
 */
const hidden = /(?![\ufe0e\ufe0f])\p{Default_Ignorable_Code_Point}/gu;

/** What shows nothing, or turns the order of what stands around it; for a model it is text like any other. */
const unseen =
  /(?![\ufe0e\ufe0f])[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}\p{Default_Ignorable_Code_Point}]/gu;

/** The sign of a cut. */
const ellipsis = "…";

/**
 * `text` of several lines, at most `charactersMax` characters long: line ends and tabs stay, every other acting or
 * invisible character is written as `\u{…}`. Ends in `…` if it was cut.
 */
export function plainText(text: string, charactersMax: number): string {
  // Cut before as well: an escape is longer than what it stands for, never shorter.
  const shown = cut(text, charactersMax).replace(/\r\n?/g, "\n").replace(/[^\n\t]+/g, escape);
  return cut(shown, charactersMax);
}

/** `text` on one line, at most `charactersMax` characters long. Ends in `…` if it was cut. */
export function oneLine(text: string, charactersMax: number): string {
  const shown = escape(cut(text, charactersMax).trim().replace(/\s+/g, " "));
  return cut(shown, charactersMax);
}

/** `text` without characters that nobody sees: what a person cannot read, a model is not told (B84). */
export function withoutUnseen(text: string): string {
  return text.replace(unseen, "");
}

/** The last lines of what a process wrote, joined on one line, at most `charactersMax` characters long. */
export function lastWords(text: string, charactersMax: number): string {
  const lines = plainText(text, Infinity).split("\n").map((line) => line.trim()).filter((line) =>
    line !== ""
  );
  const words = lines.join(" | ");
  if (words.length <= charactersMax) return words;
  const end = words.slice(words.length - charactersMax);
  // A whole line is easier to read than the end of one.
  const start = end.indexOf(" | ");
  return start < 0 ? end : end.slice(start + 3);
}

/**
 * The end of what a process wrote, of several lines, at most `charactersMax` characters long. One that is cut begins with
 * a whole line, where there is one: the end of a word says nothing, and may be the end of a secret that nobody knows again.
 */
export function lastText(text: string, charactersMax: number): string {
  const all = plainText(text, Infinity);
  if (all.length <= charactersMax) return all;
  const end = all.slice(all.length - charactersMax);
  const start = end.indexOf("\n");
  return start < 0 ? end : end.slice(start + 1);
}

function escape(text: string): string {
  return visible(text).replace(hidden, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`);
}

function cut(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : head(text, charactersMax - ellipsis.length) + ellipsis;
}
