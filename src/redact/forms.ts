/** The forms in which a secret is looked for: how it looks once others have encoded it (B114). */
import { redactBounds } from "./bounds.ts";

const encoder = new TextEncoder();

/** What each kind of percent encoding leaves as it is, beside letters and digits. */
const percentSafe = [
  "-._~", // RFC 3986, unreserved
  "-_.!~*'()", // encodeURIComponent
  ";/?:@&=+$,#-_.!~*'()", // encodeURI
  "*-._+", // forms; a space becomes a plus
] as const;

/**
 * All forms of a value: plain, as JSON text, in HTML, percent-encoded, also twice, hexadecimal, base64 and base64url at each of the three
 * places where it can begin in what was encoded. Undefined if a form cannot be told from a mark (see `cores`).
 */
export function formsOf(value: string): readonly string[] | undefined {
  const bytes = encoder.encode(value);
  const forms = new Set([
    value,
    ...jsonForms(value),
    ...percentForms(bytes),
    ...htmlForms(value),
    ...hexForms(bytes),
    ...base64Forms(bytes),
  ]);
  const all = new Set<string>();
  for (const form of forms) {
    if (form.length < redactBounds.formCharactersMin) continue;
    const found = cores(form);
    if (found === undefined) return undefined;
    for (const one of found) all.add(one);
  }
  return [...all];
}

/** In a JSON text: as JavaScript, Python, PHP, Go and .NET write it, wholly escaped, and JSON within JSON. */
function jsonForms(value: string): readonly string[] {
  const plain = quoted(value);
  const escaped = (pattern: RegExp, isUpper: boolean) => plain.replace(pattern, (one) => unit(one, isUpper));
  return [
    plain,
    escaped(/[^\0-\x7f]/g, false),
    escaped(/[^\0-\x7f]/g, true),
    plain.replaceAll("/", "\\/"),
    escaped(/[<>&\u2028\u2029]/g, false),
    escaped(/[^\0-\x7f]|[<>&'+`]/g, true),
    value.replace(/[^]/g, (one) => unit(one, false)),
    value.replace(/[^]/g, (one) => unit(one, true)),
    quoted(plain),
  ];
}

function quoted(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

function unit(character: string, isUpper: boolean): string {
  const digits = character.charCodeAt(0).toString(16).padStart(4, "0");
  return `\\u${isUpper ? digits.toUpperCase() : digits}`;
}

function percentForms(bytes: Uint8Array): readonly string[] {
  const forms = percentSafe.flatMap((safe) => [percent(bytes, safe, true), percent(bytes, safe, false)]);
  const twice = forms.slice(0, 4).map((form) => form.replaceAll("%", "%25"));
  return [...forms, ...twice, percent(bytes, undefined, true), percent(bytes, undefined, false)];
}

/** Percent-encoded; without `safe`, every byte. */
function percent(bytes: Uint8Array, safe: string | undefined, isUpper: boolean): string {
  let text = "";
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    if (safe !== undefined && (/[A-Za-z0-9]/.test(character) || (byte < 128 && isSafe(character, safe)))) {
      text += character;
    } else if (byte === 0x20 && safe === percentSafe[3]) text += "+";
    else text += `%${hexOf(byte, isUpper)}`;
  }
  return text;
}

function isSafe(character: string, safe: string): boolean {
  // A plus stands for a space there, so a real one is encoded.
  return safe.includes(character) && !(character === "+" && safe === percentSafe[3]);
}

/** In HTML and XML, with either way to write the quotes. */
function htmlForms(value: string): readonly string[] {
  const text = value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const quotes = text.replaceAll('"', "&quot;");
  return [text, quotes, ...["&#39;", "&#x27;", "&apos;"].map((quote) => quotes.replaceAll("'", quote))];
}

function hexForms(bytes: Uint8Array): readonly string[] {
  return [true, false].map((isUpper) => Array.from(bytes, (byte) => hexOf(byte, isUpper)).join(""));
}

function hexOf(byte: number, isUpper: boolean): string {
  const digits = byte.toString(16).padStart(2, "0");
  return isUpper ? digits.toUpperCase() : digits;
}

/**
 * The characters that hold bits of the value alone, wherever it stands in what was encoded; and the last ones, too, for
 * when it stands at the end. A longer form is found before a shorter one.
 */
function base64Forms(bytes: Uint8Array): readonly string[] {
  const forms = [0, 1, 2].flatMap((before) => {
    const shifted = new Uint8Array(before + bytes.length);
    shifted.set(bytes, before);
    const whole = shifted.toBase64();
    const from = Math.ceil(before * 8 / 6);
    const whollyOurs = Math.floor(shifted.length * 8 / 6);
    return [whole.slice(from, whollyOurs), whole.replace(/=+$/, "").slice(from), whole.slice(from)];
  });
  return [...forms, ...forms.map((form) => form.replaceAll("+", "-").replaceAll("/", "_"))];
}

/**
 * A form, and what is left of it if a mark beside it can lend it its bracket: with `]abcdefgh` secret, `abcdefgh` behind
 * a mark would be that secret again. Undefined if too little is left, or if the form holds a mark itself.
 */
function cores(form: string): readonly string[] | undefined {
  if (form.includes("[redacted") || form.includes("[withheld")) return undefined;
  const found = [form];
  for (let core = form;;) {
    const close = core.indexOf("]");
    const open = core.lastIndexOf("[");
    if (close >= 0 && "[redacted]".endsWith(core.slice(0, close + 1))) core = core.slice(close + 1);
    else if (open >= 0 && isMarkBegin(core.slice(open))) core = core.slice(0, open);
    else return found;
    if (core.length < redactBounds.formCharactersMin) return undefined;
    found.push(core);
  }
}

function isMarkBegin(text: string): boolean {
  return "[redacted".startsWith(text) || "[withheld".startsWith(text);
}
