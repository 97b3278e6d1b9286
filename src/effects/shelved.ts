/** Brings what the journal names by hash into the library: sealed catalogs, offers of MCP servers, shared sources. */
import { internCatalog, internOffer, internSources, isInterned } from "../../actors/library.ts";
import { CatalogSource, ResolvedCatalog, SharedSources } from "../../schemas/catalog.ts";
import type { JournalReader } from "../journal/journal.ts";
import { StoreError } from "../journal/store.ts";

/** Puts a blob's value under its hash, if it is a catalog, an offer or shared sources. The caller vouches for the hash. */
export function shelve(hash: string, value: unknown): void {
  const catalog = ResolvedCatalog.safeParse(value);
  if (catalog.success) return void internCatalog(hash, catalog.data);
  const offer = CatalogSource.safeParse(value);
  if (offer.success) return void internOffer(hash, offer.data);
  const shared = SharedSources.safeParse(value);
  if (shared.success) internSources(hash, shared.data);
}

/**
 * Loads what stands under a hash into the library, unless it is there. A hash that names no blob is none of ours. Throws
 * if the store cannot be read.
 */
export async function loadShelved(journal: BlobReader, hash: string): Promise<void> {
  if (isInterned(hash)) return;
  const known = loading.get(journal) ?? new Map<string, Promise<void>>();
  loading.set(journal, known);
  const under = known.get(hash) ?? load(journal, hash).finally(() => known.delete(hash));
  known.set(hash, under);
  return await under;
}

type BlobReader = Pick<JournalReader, "readBlob">;

/** What is being read of a journal: sessions of one agent have one catalog, and wake together after a restart. */
const loading = new WeakMap<BlobReader, Map<string, Promise<void>>>();

async function load(journal: BlobReader, hash: string): Promise<void> {
  let bytes: Uint8Array;
  try {
    bytes = await journal.readBlob(hash);
  } catch (error) {
    // A machine that needs what is not there fails with its name. What could not be read just now is another matter:
    // without it a machine would decide otherwise than the journal says.
    if (error instanceof StoreError && error.code === "journal_corrupt") return;
    throw error;
  }
  shelve(hash, JSON.parse(new TextDecoder().decode(bytes)));
}
