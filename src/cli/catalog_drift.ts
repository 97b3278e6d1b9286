/** What became of the entries of a recorded catalog: field by field, for people and for programs. */
import type { CatalogEntry, ResolvedCatalog } from "../../schemas/catalog.ts";
import type { Json } from "../../schemas/json.ts";
import { type FieldDrift, fieldsBetween } from "../field_drift.ts";

/** An entry that says something else than it did. */
export interface EntryDrift {
  readonly name: string;
  readonly fields: readonly FieldDrift[];
}

/** How two catalogs differ, by the full names of their entries. */
export interface CatalogDrift {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly EntryDrift[];
}

/** Compares the entries of two catalogs. The agent's revision alone changes none of them. */
export function driftBetween(before: ResolvedCatalog, after: ResolvedCatalog): CatalogDrift {
  const then = new Map(before.entries.map((entry) => [entry.canonicalName, entry]));
  const now = new Set(after.entries.map(({ canonicalName }) => canonicalName));
  return {
    added: after.entries.map(({ canonicalName }) => canonicalName).filter((name) => !then.has(name)),
    removed: [...then.keys()].filter((name) => !now.has(name)),
    changed: after.entries.flatMap((entry) => {
      const known = then.get(entry.canonicalName);
      const fields = known === undefined ? [] : fieldsBetween(comparable(known), comparable(entry));
      return fields.length === 0 ? [] : [{ name: entry.canonicalName, fields }];
    }),
  };
}

/** How many entries differ. */
export function driftCount({ added, removed, changed }: CatalogDrift): number {
  return added.length + removed.length + changed.length;
}

/** What an entry says of its tool: its own hash and the agent's revision follow from other fields. */
function comparable({ hash: _hash, coreRevision: _revision, ...entry }: CatalogEntry): Json {
  return entry as unknown as Json;
}
