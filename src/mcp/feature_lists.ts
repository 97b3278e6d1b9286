/** Reads pages of what a server offers besides tools: each item is judged alone, and a bad one costs itself only. */
import type { Json, JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { visible } from "../tools/visible.ts";
import { isRecord } from "./json_bounds.ts";
import { oneLine, plainText } from "./plain_text.ts";

const wordCharactersMax = 200;

type Item = { readonly [key: string]: unknown };

/** One page: what a model is told of it, and where it goes on. */
export interface ListPage {
  readonly items: readonly JsonObject[];
  /** Items that cannot be used, or are too many. */
  readonly leftOut: number;
  readonly next: string | undefined;
}

/** What is listed, by the field of the answer that holds it. */
const readers = {
  resources: (item: Item) => addressed(item, "uri"),
  resourceTemplates: (item: Item) => addressed(item, "uriTemplate"),
  prompts: prompt,
} as const;

/** What is listed. */
export type Listed = keyof typeof readers;

/** Reads a page; why it is none, if it is none. */
export function readListPage(raw: unknown, listed: Listed): ListPage | { readonly problem: string } {
  const all = isRecord(raw) ? raw[listed] : undefined;
  if (!isRecord(raw) || !Array.isArray(all)) return { problem: `it has no list of ${listed}` };
  const cursor = raw["nextCursor"];
  const hasNext = typeof cursor === "string" && cursor !== "";
  if (hasNext && cursor.length > limits.mcpCursorCharactersMax) {
    return { problem: `its nextCursor has more than ${limits.mcpCursorCharactersMax} characters` };
  }
  const read = all.slice(0, limits.mcpOfferedItemsMax).flatMap((one): JsonObject[] => {
    const item = isRecord(one) ? readers[listed](one) : undefined;
    return item === undefined ? [] : [item];
  });
  return { items: read, leftOut: all.length - read.length, next: hasNext ? cursor : undefined };
}

/** An address must come back as it is: one that is too long, or shows nothing in some place, is none. */
function addressed(item: Item, field: "uri" | "uriTemplate"): JsonObject | undefined {
  const address = item[field];
  if (typeof address !== "string" || address === "" || address.length > limits.mcpUriCharactersMax) {
    return undefined;
  }
  if (visible(address) !== address) return undefined;
  const { mimeType, size } = item;
  return {
    [field === "uri" ? "uri" : "uri_template"]: address,
    ...named(item),
    ...(typeof mimeType === "string" ? { mime_type: oneLine(mimeType, wordCharactersMax) } : {}),
    ...(Number.isSafeInteger(size) ? { bytes: Number(size) } : {}),
  };
}

function prompt(item: Item): JsonObject | undefined {
  if (usableName(item) === undefined) return undefined;
  const { arguments: wanted } = item;
  const read = (Array.isArray(wanted) ? wanted : []).slice(0, limits.mcpPromptArgumentsMax)
    .flatMap((one): Json[] => {
      if (!isRecord(one) || usableName(one) === undefined) return [];
      return [{ ...named(one), required: one["required"] === true }];
    });
  return { ...named(item), ...(read.length === 0 ? {} : { arguments: read }) };
}

/** A name by which something is asked for must come back as it is. */
function usableName({ name }: Item): string | undefined {
  const isUsable = typeof name === "string" && name !== "" && name.length <= 500 && visible(name) === name;
  return isUsable ? name : undefined;
}

function named(item: Item): { [key: string]: Json } {
  const { name, title, description } = item;
  const words: { [key: string]: Json } = {};
  if (typeof name === "string") words["name"] = usableName(item) ?? oneLine(name, wordCharactersMax);
  if (typeof title === "string") words["title"] = oneLine(title, wordCharactersMax);
  if (typeof description === "string") {
    words["description"] = plainText(description, limits.mcpOfferedDescriptionCharactersMax);
  }
  return words;
}
