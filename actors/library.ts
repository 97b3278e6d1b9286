/** Sealed catalogs by their hash, so that contexts and the journal carry names instead of content. */
import type { CatalogEntry, EntryRef, ResolvedCatalog } from "../schemas/catalog.ts";
import type { Digest } from "../schemas/ids.ts";

/** Catalogs kept at once beyond those that are held; the oldest goes first. */
const catalogsMax = 1_024;

/** How many roots that are awake may look a catalog up: it must not go while one of them can. */
const holders = new Map<Digest, number>();

interface Shelf {
  readonly catalog: ResolvedCatalog;
  readonly byCanonical: ReadonlyMap<string, CatalogEntry>;
  readonly byProvider: ReadonlyMap<string, CatalogEntry>;
}

/** Content by hash: the same hash always means the same catalog, so reading this memo is as pure as arithmetic. */
const shelves = new Map<Digest, Shelf>();

/**
 * Puts a sealed catalog where machines find it; freezes it deeply (DM-5, DM-7). The kernel does so before any crank of a
 * root that knows the hash: when the seal's outcome arrives, and when a root is recovered. Returns the catalog that
 * stands under the hash from now on. The caller vouches for the hash.
 */
export function internCatalog(hash: Digest, catalog: ResolvedCatalog): ResolvedCatalog {
  const known = shelves.get(hash);
  const shelf = known ?? shelve(deepFreeze(catalog));
  shelves.delete(hash);
  shelves.set(hash, shelf);
  letOldestGo();
  return shelf.catalog;
}

function letOldestGo(): void {
  if (shelves.size <= catalogsMax) return;
  for (const hash of shelves.keys()) {
    if (holders.has(hash)) continue;
    shelves.delete(hash);
    return;
  }
}

/** Keeps a catalog as long as a root is awake that knows its hash. Each hold is ended by one release. */
export function holdCatalog(hash: Digest): void {
  holders.set(hash, (holders.get(hash) ?? 0) + 1);
}

/** Ends one hold. */
export function releaseCatalog(hash: Digest): void {
  const count = (holders.get(hash) ?? 0) - 1;
  if (count > 0) holders.set(hash, count);
  else holders.delete(hash);
}

/** The catalog that was sealed under a hash, if it is in memory. */
export function catalogOf(hash: Digest): ResolvedCatalog | undefined {
  return shelves.get(hash)?.catalog;
}

/** The very entry that a reference names, by its canonical name; undefined if its catalog has none (DM-6, DM-8). */
export function entryOf(ref: EntryRef): CatalogEntry | undefined {
  return shelves.get(ref.catalog)?.byCanonical.get(ref.name);
}

/** The entry that a model means by a provider name; undefined if the catalog offers no such name (DM-13). */
export function entryNamed(hash: Digest, providerName: string): CatalogEntry | undefined {
  return shelves.get(hash)?.byProvider.get(providerName);
}

function shelve(catalog: ResolvedCatalog): Shelf {
  return {
    catalog,
    byCanonical: new Map(catalog.entries.map((entry) => [entry.canonicalName, entry])),
    byProvider: new Map(catalog.entries.map((entry) => [entry.providerName, entry])),
  };
}

function deepFreeze<T>(value: T): T {
  const waiting: unknown[] = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next !== "object" || next === null || Object.isFrozen(next)) continue;
    for (const part of Object.values(Object.freeze(next))) waiting.push(part);
  }
  return value;
}
