/** The secrets that are known by value: each with its name, where it came from, and the forms to look for (DM-49). */
import { redactBounds } from "./bounds.ts";
import { fieldLabels } from "./field_names.ts";
import { formsOf } from "./forms.ts";
import { LiteralMatcher } from "./literal_matcher.ts";

/** Where a known secret came from. */
export type SecretSource = `env:${string}` | `file:${string}` | "argument" | "bound" | "field" | "pattern";

/** What is said of a secret in place of its value. */
export interface Origin {
  readonly kind: "known" | "field" | "pattern";
  readonly name: string;
  readonly source: SecretSource;
}

/** A secret to look for. Space around the value does not belong to it. */
export interface SecretInput {
  readonly value: string;
  readonly name: string;
  readonly source: SecretSource;
}

/**
 * Whether a value is looked for from now on. Everything but `added` and `known` is a refusal:
 * `too_plain` has too few different characters, `too_common` is the name of a field or a word of ours,
 * `resembles_mark` could not be told from a mark, `full` means that the bound of the set is reached.
 */
export type Added =
  | "added"
  | "known"
  | "too_short"
  | "too_long"
  | "too_plain"
  | "too_common"
  | "resembles_mark"
  | "full";

/** A known value that stands in a text. */
export interface KnownSecret {
  readonly value: string;
  readonly origin: Origin;
}

/** Told of a known secret and where one of its forms stands. */
export type OnSecret = (secret: KnownSecret, start: number, end: number) => void;

interface OwnedForm {
  readonly form: string;
  readonly secret: KnownSecret;
}

/** Forms with the matcher that finds them. */
interface Segment {
  readonly forms: readonly OwnedForm[];
  readonly matcher: LiteralMatcher;
}

/** Words that stand in every second text, beside the names of fields. */
const commonWords: ReadonlySet<string> = new Set(["redacted", "withheld", "undefined", "[object object]"]);
const plainName = /^[A-Za-z0-9_.-]+$/;
const plainSource = /^(?:argument|bound|field|pattern|(?:env|file):[A-Za-z0-9_.:/\\-]+)$/;

/** A bounded set of secrets. Grows only: what was a secret once stays one. */
export class KnownSecrets {
  readonly #secrets = new Map<string, KnownSecret>();
  /** Forms that are looked for, and those that were added since: each addition costs a part of all, not all. */
  readonly #segments: Segment[] = [];
  #fresh: OwnedForm[] = [];
  readonly #names = new Set<string>();
  readonly #sources = new Set<string>();
  /** Beginnings of forms that a mark may end with. */
  readonly #heads = new Set<string>();
  #formCharacters = 0;

  /** How many there are. */
  get size(): number {
    return this.#secrets.size;
  }

  /** Adds a value, or says why it cannot be looked for. */
  add({ value: given, name, source }: SecretInput, kind: Origin["kind"] = "known"): Added {
    const value = given.trim();
    if (this.#secrets.has(value)) return "known";
    const refusal = refusalOf(value);
    if (refusal !== undefined) return refusal;
    if (this.#secrets.size >= redactBounds.secretsMax) return "full";
    const forms = formsOf(value);
    if (forms === undefined) return "resembles_mark";
    const characters = forms.reduce((sum, { length }) => sum + length, 0);
    if (this.#formCharacters + characters > redactBounds.formCharactersMax) return "full";
    this.#formCharacters += characters;
    const secret = { value, origin: { kind, ...this.#labels(name, source) } };
    this.#secrets.set(value, secret);
    for (const form of forms) {
      this.#fresh.push({ form, secret });
      const close = form.indexOf("]");
      if (close > 0) this.#heads.add(form.slice(0, close + 1));
    }
    return "added";
  }

  /**
   * Tells `onSecret` of every place where a form ends, in no order. Returns where the longest form begins that the end
   * of the text may have begun; the length of the text if there is none.
   */
  scan(text: string, onSecret: OnSecret): number {
    let openFrom = text.length;
    for (const { matcher, forms } of this.#built()) {
      const from = matcher.scan(text, (form, start, end) => {
        const owned = forms[form];
        if (owned !== undefined) onSecret(owned.secret, start, end);
      });
      openFrom = Math.min(openFrom, from);
    }
    return openFrom;
  }

  /** True if any form of any secret stands in the text. */
  isIn(text: string): boolean {
    return this.#built().some(({ matcher }) => matcher.isIn(text));
  }

  /** True if the end of the text could become a secret with what comes behind it. */
  mayEndInto(text: string): boolean {
    for (const head of this.#heads) if (text.endsWith(head)) return true;
    return false;
  }

  /** True if a secret has this name and source; names and sources of a mark that says others are not ours. */
  isLabel(name: string, source: string | undefined): boolean {
    return this.#names.has(name) && (source === undefined || this.#sources.has(source));
  }

  /** Builds what is fresh, together with those before it that are not larger: few matchers, and each form built seldom. */
  #built(): readonly Segment[] {
    if (this.#fresh.length === 0) return this.#segments;
    let forms: readonly OwnedForm[] = this.#fresh;
    for (let last = this.#segments.at(-1); last !== undefined; last = this.#segments.at(-1)) {
      if (last.forms.length > forms.length * 2) break;
      this.#segments.pop();
      forms = [...last.forms, ...forms];
    }
    this.#segments.push({
      forms,
      matcher: new LiteralMatcher(forms.map(({ form }) => form), { isFolded: false }),
    });
    this.#fresh = [];
    return this.#segments;
  }

  /** Name and source as they may stand in a mark: short, and without anything that could end it. */
  #labels(name: string, source: SecretSource): { readonly name: string; readonly source: SecretSource } {
    const { nameCharactersMax, sourceCharactersMax } = redactBounds;
    const isPlain = name.length <= nameCharactersMax && plainName.test(name);
    const isPlainSource = source.length <= sourceCharactersMax && plainSource.test(source);
    const labels = {
      name: isPlain ? name : "secret",
      source: isPlainSource ? source : source.startsWith("file:") ? "file:unnamed" : "bound",
    } as const;
    this.#names.add(labels.name);
    this.#sources.add(labels.source);
    return labels;
  }
}

function refusalOf(value: string): Added | undefined {
  if (value.length < redactBounds.secretCharactersMin) return "too_short";
  if (value.length > redactBounds.secretCharactersMax) return "too_long";
  if (bitsPerCharacter(value) < redactBounds.secretBitsMin) return "too_plain";
  const folded = value.toLowerCase();
  if (fieldLabels.has(folded.replace(/[_\-. ]/g, "")) || commonWords.has(folded)) return "too_common";
  return undefined;
}

/** Shannon's entropy of a text by how often each of its characters stands in it. */
export function bitsPerCharacter(text: string): number {
  const counts = new Map<string, number>();
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  let bits = 0;
  for (const count of counts.values()) bits -= count / text.length * Math.log2(count / text.length);
  return bits;
}
