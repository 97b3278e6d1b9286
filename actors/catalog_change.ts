/** What became of the tools between two catalogs of a session: what the journal says of it (AR-14). */
import type { CatalogEntry, ResolvedCatalog } from "../schemas/catalog.ts";
import type { JsonObject } from "../schemas/json.ts";
import type { Outgoing } from "../schemas/message.ts";

/** Most tools of each kind of change that one note names; the numbers tell of all. */
const namedMax = 100;

/** One tool whose entry is not what it was: the hashes say which two catalogs' entries to look at. */
interface Changed {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

/** The tools that differ between two catalogs, by full name, in canonical order. */
export interface CatalogChange {
  readonly added: readonly CatalogEntry[];
  readonly removed: readonly CatalogEntry[];
  readonly changed: readonly Changed[];
}

/** Compares two sealed catalogs by the hashes of their entries. */
export function changeBetween(before: ResolvedCatalog | undefined, after: ResolvedCatalog): CatalogChange {
  const then = new Map((before?.entries ?? []).map((entry) => [entry.canonicalName, entry]));
  const now = new Set(after.entries.map(({ canonicalName }) => canonicalName));
  return {
    added: after.entries.filter(({ canonicalName }) => !then.has(canonicalName)),
    removed: [...then.values()].filter(({ canonicalName }) => !now.has(canonicalName)),
    changed: after.entries.flatMap(({ canonicalName: name, hash = "" }) => {
      const known = then.get(name);
      const was = known?.hash ?? "";
      return known === undefined || was === hash ? [] : [{ name, from: was, to: hash }];
    }),
  };
}

/** The note of a new catalog: which tools came, went and changed; undefined if none did. */
export function changeNote(
  epoch: number,
  before: ResolvedCatalog | undefined,
  after: ResolvedCatalog,
): Outgoing | undefined {
  const { added, removed, changed } = changeBetween(before, after);
  if (added.length + removed.length + changed.length === 0) return undefined;
  const body: JsonObject = {
    epoch,
    counts: { added: added.length, removed: removed.length, changed: changed.length },
    ...(added.length === 0 ? {} : { added: added.slice(0, namedMax).map(named) }),
    ...(removed.length === 0 ? {} : { removed: removed.slice(0, namedMax).map(named) }),
    ...(changed.length === 0 ? {} : { changed: changed.slice(0, namedMax).map((one) => ({ ...one })) }),
  };
  return { kind: "note", type: "catalog.changed", body };
}

function named({ canonicalName, hash = "" }: CatalogEntry): JsonObject {
  return { name: canonicalName, hash };
}
