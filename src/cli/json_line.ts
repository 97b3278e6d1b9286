/** JSON for pipes and terminals alike: one line, with nothing in it that acts on a terminal (B121). */
import type { Json } from "../../schemas/json.ts";

/** What `JSON.stringify` leaves as it is and a terminal may obey: C1 controls, bidirectional and zero-width characters. */
const acting =
  /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** One line of JSON. The escapes change how it looks, not what it says. */
export function jsonLine(value: Json | object): string {
  return JSON.stringify(value).replace(
    acting,
    (character) =>
      Array.from(
        { length: character.length },
        (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
      ).join(""),
  );
}
