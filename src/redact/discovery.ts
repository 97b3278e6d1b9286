/** Secrets that show themselves: a value found under a sensitive name is known from then on (DM-50). */
import { KnownSecrets } from "./known_secrets.ts";
import type { Span } from "./span_finder.ts";
import { basicPassword } from "./structured_secrets.ts";
import { isDistinct, isPlaceholder, isWordOfCode } from "./value_looks.ts";

/** Thrown if more is found than can be remembered: then nothing may be shown. */
export class DiscoveryFullError extends Error {
  override readonly name = "DiscoveryFullError";
}

const schemes = /^(?:bearer|basic|token|digest|negotiate|apikey|bot)\s+/i;
const partsMax = 50;

/** Remembers what was found. Grows only. */
export class Discovery {
  readonly secrets: KnownSecrets = new KnownSecrets();

  /** Remembers what stands in running text, if it is more than a word there. Returns whether anything was new. */
  addSpan(text: string, { start, end, origin }: Span): boolean {
    if (origin.kind === "known") return false;
    let isNew = false;
    for (const value of readings(text.slice(start, end))) {
      if (origin.kind === "field" && !isDistinct(value)) continue;
      isNew = this.#add(value, origin.name, origin.kind) || isNew;
    }
    return isNew;
  }

  /** Remembers the value of a sensitive field, unless it is a stand-in or a word such as `required`. */
  addField(value: string, label: string): void {
    if (isPlaceholder(value)) return;
    for (const reading of readings(value)) if (!isWordOfCode(reading)) this.#add(reading, label, "field");
  }

  /** Remembers what stands within the value of a sensitive field; the words of its descriptions are none. */
  addWithinField(value: string, label: string): void {
    if (isDistinct(value) && !/\s/.test(value)) this.addField(value, label);
  }

  #add(value: string, name: string, kind: "field" | "pattern"): boolean {
    const added = this.secrets.add({ value, name, source: kind }, kind);
    if (added === "full") throw new DiscoveryFullError("Cannot remember more secrets of one value");
    return added === "added";
  }
}

/** A value, and what it says behind its scheme, in its cookies, or before it was encoded. */
function readings(value: string): ReadonlySet<string> {
  const found = new Set([value]);
  if (value.length > 8_192) return found;
  const scheme = schemes.exec(value)?.[0];
  const bare = scheme === undefined ? value : value.slice(scheme.length).trim();
  found.add(bare);
  const password = /^[A-Za-z0-9+/]+=*$/.test(bare) && scheme !== undefined ? basicPassword(bare) : undefined;
  if (password !== undefined) found.add(password);
  if (value.includes("; ") && value.includes("=")) {
    for (const part of value.split("; ", partsMax)) found.add(part.slice(part.indexOf("=") + 1));
  }
  for (const one of [...found]) {
    if (one.includes("%")) addIfReadable(found, () => decodeURIComponent(one));
    if (one.includes("\\")) addIfReadable(found, () => String(JSON.parse(`"${one}"`)));
  }
  return found;
}

function addIfReadable(found: Set<string>, read: () => string): void {
  try {
    found.add(read());
  } catch {
    // It only looked encoded.
  }
}
