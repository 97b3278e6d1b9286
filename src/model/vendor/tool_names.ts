/** The names of tools as a vendor takes them: one for each of ours, and back. */
import { limits } from "../../../schemas/limits.ts";

/** What every vendor takes: Google wants a letter or `_` first, the others are content with it. */
const vendorForm = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/**
 * Names of one request: of its tools, and of what the conversation calls, which may be names that a model made up.
 * Injective: a name that had to be changed, or whose changed form is another's, ends in a hash of the whole name. Depends
 * on the set of names only, so that the same conversation is told in the same words (K12).
 */
export class ToolNames {
  readonly #toVendor = new Map<string, string>();
  readonly #toOurs = new Map<string, string>();

  constructor(names: Iterable<string>) {
    const all = [...new Set(names)];
    const unfit = all.filter((name) => !vendorForm.test(name)).sort();
    for (const name of all) if (vendorForm.test(name)) this.#give(name, name);
    for (const name of unfit) this.#give(name, this.#made(name));
  }

  /** What the vendor calls a tool of ours. */
  toVendor(name: string): string {
    return this.#toVendor.get(name) ?? name;
  }

  /** Our name of what the vendor called; a name that nobody gave stays, for the refusal that will show it. */
  toOurs(name: string): string {
    return (this.#toOurs.get(name) ?? name).slice(0, 256);
  }

  #give(ours: string, vendors: string): void {
    this.#toVendor.set(ours, vendors);
    this.#toOurs.set(vendors, ours);
  }

  #made(name: string): string {
    const plain = `${/^[A-Za-z_]/.test(name) ? "" : "_"}${name.replace(/[^A-Za-z0-9_-]/g, "_")}`;
    for (let again = 0;; again++) {
      const suffix = `_${hashHex(again === 0 ? name : `${name}#${again}`)}`;
      const made = plain.slice(0, limits.providerNameCharactersMax - suffix.length) + suffix;
      if (!this.#toOurs.has(made)) return made;
    }
  }
}

/** FNV-1a over UTF-16 units as 8 hexadecimal digits. Tells names apart; proves nothing. */
function hashHex(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}
