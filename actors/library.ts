/** Sealed catalogs and offers of servers by their hash, so that contexts and the journal carry names, not content. */
import type {
  CatalogEntry,
  CatalogSource,
  EntryRef,
  ResolvedCatalog,
  SharedSources,
} from "../schemas/catalog.ts";
import type { Digest } from "../schemas/ids.ts";

/** Values of one kind kept at once beyond those that are held; the oldest goes first. */
const shelvedMax = 1_024;

/** How many roots that are awake may look a hash up: it must not go while one of them can. */
const holders = new Map<Digest, number>();

/** Content by hash: the same hash always means the same content, so reading this memo is as pure as arithmetic. */
class Shelf<T> {
  readonly #values = new Map<Digest, T>();

  of(hash: Digest): T | undefined {
    return this.#values.get(hash);
  }

  /** The value that stands under the hash from now on: the first one that was put there. */
  put(hash: Digest, make: () => T): T {
    const value = this.#values.get(hash) ?? make();
    this.#values.delete(hash);
    this.#values.set(hash, value);
    if (this.#values.size > shelvedMax) this.#letOldestGo();
    return value;
  }

  clear(): void {
    this.#values.clear();
  }

  #letOldestGo(): void {
    for (const hash of this.#values.keys()) {
      if (holders.has(hash)) continue;
      this.#values.delete(hash);
      return;
    }
  }
}

interface IndexedCatalog {
  readonly catalog: ResolvedCatalog;
  readonly byCanonical: ReadonlyMap<string, CatalogEntry>;
  readonly byProvider: ReadonlyMap<string, CatalogEntry>;
}

const catalogs = new Shelf<IndexedCatalog>();
const offers = new Shelf<CatalogSource>();
const shared = new Shelf<SharedSources>();

/**
 * Puts a sealed catalog where machines find it; freezes it deeply (DM-5, DM-7). The kernel does so before any crank of a
 * root that knows the hash: when the seal's outcome arrives, and when a root is recovered. Returns the catalog that
 * stands under the hash from now on. The caller vouches for the hash.
 */
export function internCatalog(hash: Digest, catalog: ResolvedCatalog): ResolvedCatalog {
  return catalogs.put(hash, () => indexed(deepFreeze(catalog))).catalog;
}

/** Puts what a server offers where its catalog finds it, like {@linkcode internCatalog}. */
export function internOffer(hash: Digest, source: CatalogSource): CatalogSource {
  return offers.put(hash, () => deepFreeze(source));
}

/** Puts sources that many catalogs are made from where those find them, like {@linkcode internCatalog}. */
export function internSources(hash: Digest, sources: SharedSources): SharedSources {
  return shared.put(hash, () => deepFreeze(sources));
}

/** Keeps what stands under a hash as long as a root is awake that knows it. Each hold is ended by one release. */
export function holdHash(hash: Digest): void {
  holders.set(hash, (holders.get(hash) ?? 0) + 1);
}

/** Ends one hold. */
export function releaseHash(hash: Digest): void {
  const count = (holders.get(hash) ?? 0) - 1;
  if (count > 0) holders.set(hash, count);
  else holders.delete(hash);
}

/** Forgets everything and all holds: what a process knows that just began. */
export function emptyLibrary(): void {
  catalogs.clear();
  offers.clear();
  shared.clear();
  holders.clear();
}

/** True if something stands under the hash. */
export function isInterned(hash: Digest): boolean {
  return [catalogs, offers, shared].some((shelf) => shelf.of(hash) !== undefined);
}

/** The catalog that was sealed under a hash, if it is in memory. */
export function catalogOf(hash: Digest): ResolvedCatalog | undefined {
  return catalogs.of(hash)?.catalog;
}

/** What a server offered under a hash, if it is in memory. */
export function offerOf(hash: Digest): CatalogSource | undefined {
  return offers.of(hash);
}

/** The sources that stand under a hash, if they are in memory. */
export function sourcesOf(hash: Digest): SharedSources | undefined {
  return shared.of(hash);
}

/**
 * The very entry that a reference names, by its canonical name; undefined if its catalog has none, or another one than
 * that which was meant (DM-6, DM-8, DM-9).
 */
export function entryOf(ref: EntryRef): CatalogEntry | undefined {
  const found = catalogs.of(ref.catalog);
  const entry = found?.byCanonical.get(ref.name);
  return entry === undefined || mismatchOf(ref, entry, found?.catalog) !== undefined ? undefined : entry;
}

/** Why an entry of a catalog is not the one that a reference means; undefined if it is. */
export function mismatchOf(
  { hash }: EntryRef,
  entry: CatalogEntry,
  catalog: ResolvedCatalog | undefined,
): string | undefined {
  if (hash !== undefined && hash !== entry.hash) {
    return "its entry is not the one that the call was made with";
  }
  return entry.coreRevision === catalog?.coreRevision
    ? undefined
    : "its entry is of another revision of the agent than its catalog";
}

/** How a request names an entry of a catalog. */
export function refOf(catalog: Digest, { canonicalName: name, hash }: CatalogEntry): EntryRef {
  return { catalog, name, ...(hash === undefined ? {} : { hash }) };
}

/** The entry that a model means by a provider name; undefined if the catalog offers no such name (DM-13). */
export function entryNamed(hash: Digest, providerName: string): CatalogEntry | undefined {
  return catalogs.of(hash)?.byProvider.get(providerName);
}

function indexed(catalog: ResolvedCatalog): IndexedCatalog {
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
