/** The fields in which two values differ, for people and for programs. */
import type { Json } from "../schemas/json.ts";
import { isSameJson } from "./canonical.ts";

/** Most fields of one pair of values that are told. */
const fieldsMax = 64;

/** One field that is not what it was. Undefined where there is, or was, nothing. */
export interface FieldDrift {
  /** Keys and indexes, joined by dots; "" for the whole value. */
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
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
