/** `catalog.seal`: hashes a resolved catalog, keeps it as a blob, and gives back the name by which it is known. */
import { internCatalog } from "../../actors/library.ts";
import type { CatalogEntry, ResolvedCatalog } from "../../schemas/catalog.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { Json } from "../../schemas/json.ts";
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

/** A catalog whose every entry carries its own hash: equal entries of two catalogs are known as equal by it. */
export async function sealEntries(
  catalog: ResolvedCatalog,
  digest: Seams["digest"],
): Promise<ResolvedCatalog> {
  const sealOne = async ({ hash: _, ...entry }: CatalogEntry): Promise<CatalogEntry> => ({
    ...entry,
    hash: await digest(canonicalBytes(entry as unknown as Json)),
  });
  return { ...catalog, entries: await Promise.all(catalog.entries.map(sealOne)) };
}
