/** Makes characters visible that would otherwise act on a terminal or reorder a line (B121). */

/** Controls, line ends of other systems, bidirectional and zero-width characters, tags, halves of surrogate pairs. */
const acting =
  // deno-lint-ignore no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}\p{Cs}]/gu;

/** `text` on one line, with every acting character written as `\u{…}`; a line end as `\n`, a tab as `\t`. */
export function visible(text: string): string {
  return text.replace(acting, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\t") return "\\t";
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** The first `charactersMax` characters of `text`; never half of a surrogate pair. */
export function head(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  const last = text.charCodeAt(charactersMax - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? charactersMax - 1 : charactersMax);
}
