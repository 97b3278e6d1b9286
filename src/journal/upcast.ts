/**
 * Entries of earlier formats, made into what this release knows: one pure step for each version, applied where entries are
 * read and nowhere else. What is stored is never rewritten: its chain is over its own bytes.
 */
import { type Entry, entryVersion } from "../../schemas/entry.ts";

/** An entry of some version, with its body, as it was parsed. */
export type AnyEntry = { readonly v: number; readonly [field: string]: unknown };

/** Makes an entry of one version into one of the next. Pure: the same entry gives the same one, always. */
export type EntryUpcaster = (entry: AnyEntry) => { readonly [field: string]: unknown };

/** A format of entries, and how older ones become it. */
export interface EntryFormat {
  readonly version: number;
  /** The step from version `n` to `n + 1`, by `n`. */
  readonly upcasters: { readonly [from: number]: EntryUpcaster };
}

/** The format of this release. It is the first one, so nothing is older. */
export const entryFormat: EntryFormat = { version: entryVersion, upcasters: {} };

/** True if entries of this version can be read: it is this release's, or every step up to it is known. */
export function isKnownVersion(v: unknown, { version, upcasters }: EntryFormat = entryFormat): boolean {
  if (!Number.isSafeInteger(v) || Number(v) > version) return false;
  for (let from = Number(v); from < version; from++) if (!Object.hasOwn(upcasters, from)) return false;
  return true;
}

/** An entry as this release knows it. Its version must be known. */
export function upcastEntry(entry: AnyEntry, { version, upcasters }: EntryFormat = entryFormat): Entry {
  let current = entry;
  while (current.v < version) {
    const step = upcasters[current.v];
    if (step === undefined) throw new Error(`Cannot read an entry of version ${current.v}: no step leads on`);
    current = { ...step(current), v: current.v + 1 };
  }
  return current as unknown as Entry;
}
