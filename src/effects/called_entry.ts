/** The catalog entry that a call means: the one of its turn's sealed catalog, and no other (DM-6, DM-8, DM-11). */
import { mismatchOf } from "../../actors/library.ts";
import type { CatalogEntry, ResolvedCatalog } from "../../schemas/catalog.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { ToolCall, ToolCallOptions } from "./tool_call.ts";

type Found = { readonly entry: CatalogEntry; readonly catalog: ResolvedCatalog } | {
  readonly refusal: Failure;
};

/** The exact entry that the request carries, if it belongs to the catalog that it names and may be called. */
export function calledEntry(call: ToolCall, catalogOf: ToolCallOptions["catalogOf"]): Found {
  const wanted = call.request.args.entry;
  const catalog = catalogOf(wanted.catalog);
  if (catalog === undefined) return { refusal: mismatch(wanted.name, "its catalog is not known here") };
  const entry = catalog.entries.find((one) => one.canonicalName === wanted.name);
  if (entry === undefined) return { refusal: mismatch(wanted.name, "it is not in the catalog of its turn") };
  const other = mismatchOf(wanted, entry, catalog);
  if (other !== undefined) return { refusal: mismatch(wanted.name, other) };
  if (!entry.enabled) {
    return { refusal: mismatch(wanted.name, "it is not enabled in the catalog of its turn") };
  }
  return { entry, catalog };
}

function mismatch(name: string, why: string): Failure {
  return failure("catalog_mismatch", `Cannot call "${name}": ${why}`);
}
