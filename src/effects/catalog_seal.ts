/** `catalog.seal`: hashes a resolved catalog, keeps it as a blob, and gives back the name by which it is known. */
import { catalogOf, internCatalog } from "../../actors/library.ts";
import { ResolvedCatalog } from "../../schemas/catalog.ts";
import type { Json } from "../../schemas/json.ts";
import { canonicalBytes } from "../canonical.ts";
import type { JournalReader } from "../journal/journal.ts";
import { StoreError } from "../journal/store.ts";
import type { BlobDraft } from "../journal/unit.ts";
import type { Seams } from "../seams.ts";
import type { Performer } from "./performer.ts";

/** Where sealed catalogs are kept. */
export interface CatalogShelf {
  readonly digest: Seams["digest"];
  readonly putBlob: (blob: BlobDraft) => void;
}

/** Performs one sealing. Sealing the same content again gives the same name and changes nothing. */
export function createCatalogSeal(shelf: CatalogShelf): Performer<"catalog.seal"> {
  return async ({ request }) => {
    const { catalog } = request.args;
    const bytes = canonicalBytes(catalog as unknown as Json);
    const hash = await shelf.digest(bytes);
    shelf.putBlob({ digest: hash, bytes });
    // What the library holds must be what a later process reads back, to the order of its keys (K5).
    internCatalog(hash, JSON.parse(new TextDecoder().decode(bytes)));
    return { status: "ok", value: { hash, epoch: catalog.epoch } };
  };
}

/**
 * Loads a sealed catalog into the library, unless it is there. A hash that names no blob is none of ours. Throws if the
 * store cannot be read.
 */
export async function loadCatalog(journal: JournalReader, hash: string): Promise<void> {
  if (catalogOf(hash) !== undefined) return;
  let bytes: Uint8Array;
  try {
    bytes = await journal.readBlob(hash);
  } catch (error) {
    // A machine that needs what is not there fails with its name. What could not be read just now is another matter:
    // without it a machine would decide otherwise than the journal says.
    if (error instanceof StoreError && error.code === "journal_corrupt") return;
    throw error;
  }
  const parsed = ResolvedCatalog.safeParse(JSON.parse(new TextDecoder().decode(bytes)));
  if (parsed.success) internCatalog(hash, parsed.data);
}
