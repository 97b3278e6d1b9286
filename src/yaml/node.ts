/** The tree of places that a scan leaves: what kind of value stands where. */
import type { Place } from "./error.ts";

/** What a scalar is read as. */
export type ScalarShape = "string" | "number" | "boolean" | "null";

/** One value, with the place of its first character. */
export type YamlNode =
  | { readonly kind: "scalar"; readonly place: Place; readonly shape: ScalarShape }
  | { readonly kind: "list"; readonly place: Place; readonly items: readonly YamlNode[] }
  | { readonly kind: "map"; readonly place: Place; readonly entries: ReadonlyMap<string, YamlEntry> };

/** One key of a map, with the place of the key. */
export interface YamlEntry {
  readonly place: Place;
  readonly value: YamlNode;
}

/** Keys and list positions from the root down. */
export type YamlPath = readonly (string | number)[];

/** A step down: a list has no place for a key, and a key may be missing. */
function stepInto(node: YamlNode, step: string | number): YamlEntry | undefined {
  if (node.kind === "map") return node.entries.get(String(step));
  const item = node.kind === "list" ? node.items[Number(step)] : undefined;
  return item && { place: item.place, value: item };
}

/** The entry at a path, or the nearest one above it that exists. */
export function findEntry(root: YamlNode, path: YamlPath): YamlEntry {
  let entry: YamlEntry = { place: root.place, value: root };
  for (const step of path) {
    const next = stepInto(entry.value, step);
    if (!next) return entry;
    entry = next;
  }
  return entry;
}

/** The first node that a parsed value does not agree with, in text order. */
export function findDisagreement(node: YamlNode, value: unknown): YamlNode | undefined {
  if (node.kind === "scalar") return node.shape === shapeOf(value) ? undefined : node;
  if (node.kind === "list") {
    if (!Array.isArray(value) || value.length !== node.items.length) return node;
    return firstOf(node.items, (item, index) => findDisagreement(item, value[index]));
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return node;
  const parsed = new Map<string, unknown>(Object.entries(value));
  if (parsed.size !== node.entries.size) return node;
  return firstOf(
    [...node.entries],
    ([key, entry]) => parsed.has(key) ? findDisagreement(entry.value, parsed.get(key)) : node,
  );
}

function firstOf<T, R>(items: readonly T[], find: (item: T, index: number) => R | undefined): R | undefined {
  for (const [index, item] of items.entries()) {
    const found = find(item, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

function shapeOf(value: unknown): string {
  return value === null ? "null" : typeof value;
}
