/** `catalog.seal`: hashes a resolved catalog, keeps it as a blob, and gives back the name by which it is known. */
import { internCatalog } from "../../actors/library.ts";
import type { CatalogEntry, ResolvedCatalog } from "../../schemas/catalog.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { Digest } from "../../schemas/ids.ts";
import { canonicalJson, type Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { canonicalBytes } from "../canonical.ts";
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
    const refusal = refuseForeign(request.args.catalog);
    if (refusal !== undefined) return { status: "failed", failure: refusal };
    const catalog = await sealEntries(request.args.catalog, shelf.digest);
    const bytes = canonicalBytes(catalog as unknown as Json);
    const hash = await shelf.digest(bytes);
    shelf.putBlob({ digest: hash, bytes });
    // What the library holds must be what a later process reads back, to the order of its keys (K5).
    internCatalog(hash, JSON.parse(new TextDecoder().decode(bytes)));
    return { status: "ok", value: { hash, epoch: catalog.epoch } };
  };
}

/** A catalog holds entries of one revision of its agent, and no others (DM-9). */
function refuseForeign({ coreRevision, entries }: ResolvedCatalog): Failure | undefined {
  const foreign = entries.find((entry) => entry.coreRevision !== coreRevision);
  if (foreign === undefined) return undefined;
  const why = `its revision is "${foreign.coreRevision}", the catalog's is "${coreRevision}"`;
  const message =
    `Cannot seal a catalog with "${foreign.canonicalName}" of another revision of the agent: ${why}`;
  return failure("catalog_mismatch", message);
}

/**
 * Hashes of entries by their canonical text: most entries of a catalog are those of the one before. Bounded; the oldest
 * go first.
 */
class KnownHashes {
  readonly #hashes = new Map<string, Digest>();
  #characters = 0;

  of(text: string): Digest | undefined {
    return this.#hashes.get(text);
  }

  keep(text: string, hash: Digest): void {
    if (this.#hashes.has(text)) return;
    this.#hashes.set(text, hash);
    this.#characters += text.length;
    for (const oldest of this.#hashes.keys()) {
      if (this.#characters <= limits.sealedTextCharactersMax) break;
      this.#hashes.delete(oldest);
      this.#characters -= oldest.length;
    }
  }
}

const known = new KnownHashes();

/** A catalog whose every entry carries its own hash: equal entries of two catalogs are known as equal by it. */
export async function sealEntries(
  catalog: ResolvedCatalog,
  digest: Seams["digest"],
): Promise<ResolvedCatalog> {
  const sealOne = async ({ hash: _, ...entry }: CatalogEntry): Promise<CatalogEntry> => {
    const text = canonicalJson(entry as unknown as Json);
    const hash = known.of(text) ?? await digest(new TextEncoder().encode(text));
    known.keep(text, hash);
    return { ...entry, hash };
  };
  return { ...catalog, entries: await Promise.all(catalog.entries.map(sealOne)) };
}
