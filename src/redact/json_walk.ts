/** Looks through a JSON value: first for secrets that show themselves, then to mask all of them (DM-50, DM-52). */
import { redactBounds, type ValueBounds } from "./bounds.ts";
import { isSecretHeader, sensitivePart } from "./field_names.ts";
import type { Origin } from "./known_secrets.ts";
import { withheldMark, type WithheldReason } from "./marks.ts";
import { NotSettledError, type Sweep } from "./sweep.ts";
import { isVersion, isWorkingDirectory } from "./value_looks.ts";

/** Thrown if a value is too large to be looked through: it is withheld as a whole. */
export class TooLargeError extends Error {
  override readonly name = "TooLargeError";
}

/** A key that is not looked at for what it says of its value: an item of an array. */
const noKey = "";

type Fields = { readonly [key: string]: unknown };

/** Walks one value. What is not changed is given back itself, down to its parts. */
export class JsonWalk {
  /** True once anything was left out because it could not be looked through. */
  isWithheld = false;
  readonly #sweep: Sweep;
  readonly #bounds: ValueBounds;
  #nodes = 0;
  #characters = 0;
  /** Keys that need no other look in this round: most stand in many objects. */
  readonly #cleanKeys = new Set<string>();

  constructor(sweep: Sweep, bounds: ValueBounds) {
    this.#sweep = sweep;
    this.#bounds = bounds;
  }

  /** The value without its secrets; itself if it has none. */
  clean(value: unknown): unknown {
    this.#discover(value, 1);
    let left = value;
    for (let round = 0; round < redactBounds.roundsMax; round++) {
      this.#nodes = 0;
      this.#characters = 0;
      this.#cleanKeys.clear();
      const next = this.#cleaned(left, 1);
      if (Object.is(next, left)) return left;
      left = next;
    }
    throw new NotSettledError("Cannot make the value safe to show: its marks make secrets again and again");
  }

  #discover(value: unknown, depth: number): void {
    this.#countNode();
    const { stringCharactersMax, depthMax, itemsMax } = this.#bounds;
    if (typeof value === "string") {
      this.#countCharacters(value);
      if (value.length <= stringCharactersMax) this.#sweep.discover(value);
      return;
    }
    if (typeof value !== "object" || value === null) return;
    if (depth > Math.max(redactBounds.discoveryDepthMax, depthMax)) return;
    const max = Math.max(redactBounds.discoveryItemsMax, itemsMax);
    for (const [key, item, label] of membersOf(value, max)) {
      if (key !== noKey && !this.#cleanKeys.has(key)) {
        this.#cleanKeys.add(key);
        this.#sweep.discover(key.slice(0, stringCharactersMax));
      }
      if (label === undefined) this.#discover(item, depth + 1);
      else this.#discoverField(item, label, depth + 1);
    }
  }

  #discoverField(value: unknown, label: string, depth: number, isWithin = false): void {
    this.#countNode();
    const { discovery } = this.#sweep;
    if (typeof value === "string") {
      this.#countCharacters(value);
      if (this.#sweep.isMark(value)) return;
      if (isWithin) discovery.addWithinField(value, label);
      else discovery.addField(value, label);
    } else if (typeof value === "number") discovery.addField(String(value), label);
    else if (typeof value === "object" && value !== null && depth <= redactBounds.discoveryDepthMax) {
      // The items of a list are values of the field as well; those of an object may be anything.
      const isObject = !Array.isArray(value);
      for (const [, item] of membersOf(value, redactBounds.discoveryItemsMax)) {
        this.#discoverField(item, label, depth + 1, isWithin || isObject);
      }
    }
  }

  #cleaned(value: unknown, depth: number): unknown {
    this.#countNode();
    switch (typeof value) {
      case "string":
        return this.#cleanedText(value);
      case "number":
        return this.#cleanedNumber(value);
      case "boolean":
      case "undefined":
        return value;
      case "object":
        if (value === null) return value;
        if (depth > this.#bounds.depthMax) return this.#withhold("too_deep");
        if (Array.isArray(value)) return this.#cleanedArray(value, depth);
        return isPlain(value) ? this.#cleanedObject(value as Fields, depth) : this.#withhold("not_json");
      default:
        return this.#withhold("not_json");
    }
  }

  #cleanedText(text: string): string {
    this.#countCharacters(text);
    if (text.length > this.#bounds.stringCharactersMax) return this.#withhold("too_long");
    return this.#sweep.clean(text);
  }

  #cleanedKey(key: string): string {
    if (this.#cleanKeys.has(key)) return key;
    const cleaned = this.#cleanedText(key);
    if (cleaned === key) this.#cleanKeys.add(key);
    return cleaned;
  }

  #cleanedNumber(value: number): unknown {
    const text = String(value);
    const origin = text.length < redactBounds.formCharactersMin ? undefined : this.#sweep.originIn(text);
    return origin === undefined ? value : this.#sweep.mark(origin, text);
  }

  #cleanedArray(items: readonly unknown[], depth: number): unknown {
    const { itemsMax } = this.#bounds;
    const isCut = items.length > itemsMax;
    const kept = isCut ? items.slice(0, itemsMax - 1) : items;
    let isSame = !isCut;
    const cleaned: unknown[] = [];
    let index = 0;
    for (const [, item, label] of membersOf(kept, itemsMax)) {
      const next = label === undefined ? this.#cleaned(item, depth + 1) : this.#masked(item, label);
      if (!Object.is(next, kept[index++])) isSame = false;
      cleaned.push(next);
    }
    if (isSame) return items;
    if (isCut) cleaned.push(this.#withhold("too_many"));
    return cleaned;
  }

  #cleanedObject(fields: Fields, depth: number): unknown {
    const { itemsMax } = this.#bounds;
    const members = membersOf(fields, itemsMax + 1);
    const isCut = members.length > itemsMax;
    let isSame = !isCut;
    const cleaned = new Map<string, unknown>();
    for (const [key, item, label] of isCut ? members.slice(0, itemsMax - 1) : members) {
      const name = this.#cleanedKey(key);
      const next = label === undefined ? this.#cleaned(item, depth + 1) : this.#masked(item, label);
      if (name !== key || !Object.is(next, item)) isSame = false;
      cleaned.set(freeName(name, cleaned), next);
    }
    if (isSame) return fields;
    if (isCut) cleaned.set(freeName(withheldMark("too_many"), cleaned), this.#withhold("too_many"));
    return Object.fromEntries(cleaned);
  }

  /** The mark of a sensitive field, whatever it holds; nothing, yes and no tell nothing and stay. */
  #masked(value: unknown, label: string): unknown {
    this.#countNode();
    if (value === null || value === undefined || typeof value === "boolean" || value === "") return value;
    if (typeof value === "string" && this.#sweep.isMark(value)) return value;
    const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
    const known: Origin = this.#sweep.knownIn(text) ?? { kind: "field", name: label, source: "field" };
    return this.#sweep.mark(known, text);
  }

  #withhold(reason: WithheldReason): string {
    this.isWithheld = true;
    return withheldMark(reason);
  }

  #countNode(): void {
    if (++this.#nodes > redactBounds.nodesMax) throw new TooLargeError("The value has too many parts");
  }

  #countCharacters(text: string): void {
    this.#characters += text.length;
    if (this.#characters > redactBounds.totalCharactersMax) {
      throw new TooLargeError("The value has too many characters");
    }
  }
}

/** A key, its value, and what says that the value is a secret. */
type Member = readonly [key: string, value: unknown, label: string | undefined];

/** At most `max` members, with what the names around them say: keys, pairs of name and value, options of commands. */
function membersOf(value: object, max: number): readonly Member[] {
  if (Array.isArray(value)) return membersOfArray(value, max);
  const fields = value as Fields;
  const members: Member[] = [];
  const pairLabel = pairLabelOf(fields);
  for (const key of Object.keys(fields).slice(0, max)) {
    const item = fields[key];
    const label = sensitivePart(key) ?? (key === "value" ? pairLabel : undefined);
    const isHarmless = label !== undefined && typeof item === "string" &&
      (isWorkingDirectory(label, item) || isVersion(item));
    members.push([key, item, isHarmless ? undefined : label]);
  }
  return members;
}

/** `{name: "Authorization", value: …}`, in the ways that headers and variables are listed. */
function pairLabelOf(fields: Fields): string | undefined {
  if (!Object.hasOwn(fields, "value")) return undefined;
  for (const key of ["name", "key", "header"]) {
    const name = Object.hasOwn(fields, key) ? fields[key] : undefined;
    const label = typeof name === "string" ? sensitivePart(name) : undefined;
    if (label !== undefined) return label;
  }
  return undefined;
}

function membersOfArray(items: readonly unknown[], max: number): readonly Member[] {
  const members: Member[] = [];
  const [first] = items;
  const isHeader = items.length === 2 && typeof first === "string" && isSecretHeader(first);
  for (let index = 0; index < Math.min(items.length, max); index++) {
    const before = items[index - 1];
    const item = items[index];
    const label = index === 1 && isHeader ? sensitivePart(first) : optionLabelOf(before, item);
    members.push([noKey, item, label]);
  }
  return members;
}

/** `["--token", "x"]`: what an option says of the item behind it. */
function optionLabelOf(before: unknown, item: unknown): string | undefined {
  if (typeof before !== "string" || typeof item !== "string" || item.startsWith("--")) return undefined;
  return /^--?[A-Za-z]/.test(before) && before.length <= 66 ? sensitivePart(before) : undefined;
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A name that no other field has: two keys may have become the same mark. */
function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  if (!taken.has(name)) return name;
  for (let number = 2;; number++) {
    const free = `${name} (${number})`;
    if (!taken.has(free)) return free;
  }
}
