/** What stands in the place of a secret, for each view (DM-51). A mark tells nothing of the value, not its length. */
import { redactedMark } from "../../schemas/secret.ts";
import type { Origin } from "./known_secrets.ts";

/** Who reads: more is said of a secret to those who are trusted more. */
export const views = ["model", "operator", "event", "durable", "debug"] as const;
/** Who reads. */
export type View = (typeof views)[number];

/** The mark that says nothing but that something was there. */
export const bareMark = redactedMark;

/** Why something was withheld as a whole. */
export const withheldReasons = [
  "too_deep",
  "too_many",
  "too_long",
  "too_large",
  "not_json",
  "not_settled",
  "too_slow",
  "failed",
] as const;
/** Why something was withheld as a whole. */
export type WithheldReason = (typeof withheldReasons)[number];

/** The mark of a value that could not be looked through. */
export function withheldMark(reason: WithheldReason): string {
  return `[withheld: ${reason}]`;
}

/** True if a text is the mark of something withheld. */
export function isWithheldMark(text: string): boolean {
  return withheldReasons.some((reason) => text === withheldMark(reason));
}

/** The mark of a secret. `fingerprint` is for the debug view alone. */
export function markOf(origin: Origin, view: View, fingerprint: string | undefined): string {
  switch (view) {
    case "model":
      return bareMark;
    case "operator":
      return `[redacted: ${origin.name}]`;
    case "event":
    case "durable":
      return `[redacted: ${origin.name} from ${origin.source}]`;
    case "debug": {
      const print = fingerprint === undefined ? "" : `, ${fingerprint}`;
      return `[redacted: ${origin.name} from ${origin.source}${print}]`;
    }
  }
}

/** Whether a name, and a source if the mark has one, are those of a secret that marks speak of. */
export type IsLabel = (name: string, source: string | undefined) => boolean;

const marked =
  /\[(?:redacted(?:: ([A-Za-z0-9_.-]{1,64})(?: from ([A-Za-z0-9_.:/\\-]{1,210})(?:, [0-9a-f]{16})?)?)?|withheld: [a-z_]{6,12})\]/y;

/**
 * Where the mark ends that begins at `at`; `at` itself if none does. A text may only look like a mark: what it says
 * between its brackets must be a name and a source that we would say.
 */
export function endOfMark(text: string, at: number, isLabel: IsLabel): number {
  if (text.charCodeAt(at) !== 0x5b) return at;
  marked.lastIndex = at;
  const match = marked.exec(text);
  if (match === null) return at;
  const [whole, name, source] = match;
  const isOurs = name === undefined ? whole === bareMark || isWithheldMark(whole) : isLabel(name, source);
  return isOurs ? at + whole.length : at;
}
