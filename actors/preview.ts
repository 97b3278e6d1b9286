/** What a person is shown of a call's arguments: bounded, secrets masked, nothing invisible (DM-32, DM-33). */
import type { Json, JsonObject } from "../schemas/json.ts";
import { limits } from "../schemas/limits.ts";

/** Names whose value is masked whatever it looks like, in lower case and without `_`, `-`, `.`, space. */
const secretNames = new Set(
  ("authorization proxyauthorization cookie setcookie xapikey apikey password passwd pwd passphrase secret " +
    "clientsecret token accesstoken refreshtoken idtoken bearer privatekey credential credentials connectionstring " +
    "dsn sessionid otp").split(" "),
);
/** Ends of longer names that say the same: `db_password`, `userToken`. */
const secretEnds =
  /(?:password|passwd|passphrase|secret|token|apikey|privatekey|credentials?|connectionstring)$/;

/** Control, format, private and unpaired characters, line separators, blank letters, variation selectors. */
const invisible =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u{34f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{2800}\u{3164}\u{ffa0}\p{Variation_Selector}]/gu;

/**
 * Shows arguments as one line of JSON-like text of at most 2,048 characters: at most 6 levels, 50 items a level and 500
 * characters a string, its beginning and its end; what is left out is counted. Values under secret names are masked, also in pairs such as
 * `{name: "Authorization", value: …}`; control, bidirectional,
 * zero-width and tag characters are shown as `\u{..}`, and a backslash of the text itself is doubled, so neither can
 * pose as the other.
 */
export function previewArguments(callArguments: JsonObject): string {
  const preview = new Preview(shortBounds);
  preview.show(callArguments, 1);
  return preview.text();
}

/**
 * Shows arguments whole, in the same form: nothing is left out but what is masked. Undefined if that takes more than
 * 65,536 characters: nobody could be shown it, so nobody can approve it (B18).
 */
export function showWhole(callArguments: JsonObject): string | undefined {
  const whole = new Preview(wholeBounds);
  whole.show(callArguments, 1);
  return whole.isFull ? undefined : whole.text();
}

/** True if a value under this name is masked. */
export function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[_\-. ]/g, "");
  return secretNames.has(plain) || secretEnds.test(plain);
}

/** A text with every invisible character made visible. */
export function showInvisible(text: string): string {
  return text.replace(invisible, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`);
}

interface Bounds {
  readonly characters: number;
  readonly depth: number;
  readonly items: number;
  readonly stringCharacters: number;
}

const shortBounds: Bounds = {
  characters: limits.previewCharactersMax,
  depth: limits.previewDepthMax,
  items: limits.previewItemsMax,
  stringCharacters: limits.previewStringCharactersMax,
};

/** Only the characters in all are bounded: a string that has more of them alone is not looked at to its end. */
const wholeBounds: Bounds = {
  characters: limits.approvalCharactersMax,
  depth: Infinity,
  items: Infinity,
  stringCharacters: Infinity,
};

/** Writes until there is no room; then it stops looking, so the work is bounded too. */
class Preview {
  readonly #bounds: Bounds;
  #text = "";

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  get isFull(): boolean {
    return this.#text.length > this.#bounds.characters;
  }

  text(): string {
    if (!this.isFull) return this.#text;
    const end = "… (cut)";
    return wholeCharacters(this.#text, this.#bounds.characters - end.length) + end;
  }

  show(value: Json, depth: number): void {
    if (this.isFull) return;
    if (typeof value === "string") this.#text += this.#string(value);
    else if (typeof value !== "object" || value === null) this.#text += String(value);
    else if (depth > this.#bounds.depth) this.#text += Array.isArray(value) ? "[…]" : "{…}";
    else if (Array.isArray(value)) this.#list(value, depth);
    else this.#object(value as JsonObject, depth);
  }

  #list(items: readonly Json[], depth: number): void {
    this.#text += "[";
    for (const [index, item] of items.slice(0, this.#bounds.items).entries()) {
      if (index > 0) this.#text += ", ";
      this.show(item, depth + 1);
    }
    this.#text += `${this.#leftOut(items.length)}]`;
  }

  #object(object: JsonObject, depth: number): void {
    const entries = Object.entries(object);
    const isSecretPair = [object["name"], object["key"], object["header"]].some((one) =>
      typeof one === "string" && isSecretName(one)
    );
    this.#text += "{";
    for (const [index, [name, value]] of entries.slice(0, this.#bounds.items).entries()) {
      if (this.isFull) return;
      this.#text += `${index > 0 ? ", " : ""}${this.#string(name)}: `;
      if (isSecretName(name) || (isSecretPair && name === "value")) this.#text += "[redacted]";
      else this.show(value, depth + 1);
    }
    this.#text += `${this.#leftOut(entries.length)}}`;
  }

  #leftOut(count: number): string {
    const left = count - this.#bounds.items;
    return left > 0 ? `, … ${left} more` : "";
  }

  /** A string that is too long shows how it begins and how it ends: what is hidden is hidden in the middle. */
  #string(text: string): string {
    const { stringCharacters, characters } = this.#bounds;
    if (text.length <= stringCharacters) return quoted(text.slice(0, characters + 1));
    const head = wholeCharacters(text, stringCharacters - limits.previewTailCharacters);
    const tail = lastCharacters(text, limits.previewTailCharacters);
    return `${quoted(head)}… ${text.length - head.length - tail.length} more characters …${quoted(tail)}`;
  }
}

function quoted(text: string): string {
  return `"${showInvisible(text.replace(/[\\"]/g, (one) => `\\${one}`))}"`;
}

/** The end of a text, never half a character. */
function lastCharacters(text: string, charactersMax: number): string {
  const first = text.charCodeAt(text.length - charactersMax);
  return text.slice(text.length - charactersMax + (first >= 0xdc00 && first <= 0xdfff ? 1 : 0));
}

/** The beginning of a text, never half a character. */
function wholeCharacters(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  const last = text.charCodeAt(charactersMax - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? charactersMax - 1 : charactersMax);
}
