/** The forms in which one text may be read: as it is, and without what only deceives the eye (DM-91). */

// deno-lint-ignore no-control-regex -- terminal sequences are made of these.
const ansi = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
/** Joiners, marks of direction, tags, and other characters that nobody sees. */
const unseen =
  /[\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\u{E0000}-\u{E0FFF}]/gu;

/** A text and its variants, each once; the text itself first. */
export function variantsOf(text: string): readonly string[] {
  const plain = text.replace(ansi, "");
  const seen = plain.replace(unseen, "");
  return [...new Set([text, plain, seen, seen.normalize("NFKC")])];
}

/** The variants of a list of arguments, each list once; the list itself first. */
export function variantsOfAll(texts: readonly string[]): readonly (readonly string[])[] {
  const each = texts.map(variantsOf);
  const longest = Math.max(1, ...each.map(({ length }) => length));
  const lists = Array.from(
    { length: longest },
    (_, place) => each.map((variants) => variants[Math.min(place, variants.length - 1)] ?? ""),
  );
  return [...new Map(lists.map((list) => [JSON.stringify(list), list])).values()];
}
