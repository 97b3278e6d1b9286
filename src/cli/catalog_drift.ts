/** What became of the entries of a recorded catalog: field by field, for people and for programs. */
import type { CatalogEntry, ResolvedCatalog } from "../../schemas/catalog.ts";
import type { Json } from "../../schemas/json.ts";
import { isSameJson } from "../canonical.ts";

/** Most fields of one entry that are told. */
const fieldsMax = 64;

/** One field that is not what it was. Undefined where there is, or was, nothing. */
export interface FieldDrift {
  /** Keys and indexes, joined by dots. */
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

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

/** The fields in which two values differ. */
export function fieldsBetween(before: Json, after: Json): readonly FieldDrift[] {
  const fields: FieldDrift[] = [];
  compareAt({ path: "", before, after }, fields);
  return fields;
}

function compareAt({ path, before, after }: FieldDrift, fields: FieldDrift[]): void {
  if (isSameJson(before, after) || fields.length >= fieldsMax) return;
  if (!isBranch(before) || !isBranch(after) || Array.isArray(before) !== Array.isArray(after)) {
    const [was, is] = [before === undefined ? {} : { before }, after === undefined ? {} : { after }];
    fields.push({ path, ...was, ...is });
    return;
  }
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [valueAt(before, key), valueAt(after, key)];
    const step = { path: path === "" ? key : `${path}.${key}` };
    compareAt(
      { ...step, ...(was === undefined ? {} : { before: was }), ...(is === undefined ? {} : { after: is }) },
      fields,
    );
  }
}

interface Branch {
  readonly [key: string]: Json;
}

function isBranch(value: unknown): value is Branch {
  return typeof value === "object" && value !== null;
}

function valueAt(branch: Branch, key: string): Json | undefined {
  return Object.hasOwn(branch, key) ? branch[key] : undefined;
}
