/** Where marks stand in a text that a model is given, and what other views say there: views as differences (DM-46). */
import { bareMark, markOf, type View } from "./marks.ts";

/** One mark: the place of `[redacted]` in the model's text, and what is known of the secret. */
export interface MarkPlace {
  readonly at: number;
  readonly name: string;
  readonly source: string;
  /** The fingerprint, for the debug view alone. */
  readonly print?: string | undefined;
}

const telling = /\[redacted: ([A-Za-z0-9_.-]{1,64}) from ([A-Za-z0-9_.:/\\-]{1,210})(?:, ([0-9a-f]{16}))?\]/;
const tellingHere = new RegExp(telling.source, "y");

/**
 * The places of the marks of `bare`, as `told` names them: one text, once for a model and once for the debug view. Empty
 * if the texts differ in more than their marks; then the other views say no more than the model's.
 */
export function markPlaces(bare: string, told: string): readonly MarkPlace[] {
  const places: MarkPlace[] = [];
  let [from, toldFrom] = [0, 0];
  for (let at = bare.indexOf(bareMark); at >= 0; at = bare.indexOf(bareMark, from)) {
    const between = at - from;
    if (bare.slice(from, at) !== told.slice(toldFrom, toldFrom + between)) return [];
    toldFrom += between;
    tellingHere.lastIndex = toldFrom;
    const [whole, name, source, print] = tellingHere.exec(told) ?? [];
    if (whole !== undefined && name !== undefined && source !== undefined) {
      places.push({ at, name, source, ...(print === undefined ? {} : { print }) });
      toldFrom += whole.length;
    } // A text may hold the bare mark of its own; it says nothing, in any view.
    else if (told.startsWith(bareMark, toldFrom)) toldFrom += bareMark.length;
    else return [];
    from = at + bareMark.length;
  }
  return bare.slice(from) === told.slice(toldFrom) ? places : [];
}

/** The text of a view: the model's, with the view's own marks at their places. */
export function viewOf(text: string, places: readonly MarkPlace[], view: View): string {
  let shown = "";
  let from = 0;
  for (const { at, name, source, print } of places) {
    if (at < from || !text.startsWith(bareMark, at)) continue;
    shown += text.slice(from, at) + markOf({ kind: "known", name, source: source as never }, view, print);
    from = at + bareMark.length;
  }
  return shown + text.slice(from);
}

/** A text whose marks tell more than a model is told, with bare ones (DM-51). */
export function withBareMarks(text: string): string {
  return text.includes("[redacted: ") ? text.replaceAll(new RegExp(telling.source, "g"), bareMark) : text;
}

/** What an operator was shown, as a model is: with bare marks. */
export function operatorAsModel(text: string): string {
  return text.replaceAll(/\[redacted: [A-Za-z0-9_.-]{1,64}\]/g, bareMark);
}
