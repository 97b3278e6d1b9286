/** Reads what a server answered to `tools/call` into the one envelope of all tools (DM-69, DM-70). */
import { failure } from "../../schemas/failure.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { checkResult } from "../../schemas/json_schema.ts";
import type { ToolContent, ToolResultEnvelope } from "../../schemas/tool.ts";
import { errorEnvelope } from "../tools/tool.ts";
import { amount, type Binaries } from "./binaries.ts";
import { asJsonObject, isRecord } from "./json_bounds.ts";
import { oneLine } from "./plain_text.ts";

/** Blocks of one result that are read; of the rest only the number is given. */
const blocksMax = 10_000;
const uriCharactersMax = 500;
const wordCharactersMax = 100;
const problemCharactersMax = 500;

/** What a result is read with. */
export interface ReadingOptions {
  /** What the tool's results are to look like, if the server has said so. */
  readonly schema?: JsonObject | undefined;
  readonly binaries: Binaries;
}

/**
 * The envelope of a raw `CallToolResult`. Structured content wins; otherwise the blocks become one text, in their order;
 * a result without content becomes `{ "status": "empty" }`. A result that says `isError` keeps its text before all else:
 * it is what explains the error, and structured content beside it may be of any shape. One that is not what the schema
 * says keeps all that it has, and is told so. What is no result at all is an `mcp_protocol_error`. Takes whatever
 * JSON there is; never throws; linear in its size.
 */
export function readResult(raw: unknown, { schema, binaries }: ReadingOptions): ToolResultEnvelope {
  if (!isRecord(raw)) return unreadable("it is no object");
  const { content, structuredContent: structured } = raw;
  const isStructured = structured !== undefined && structured !== null;
  if (content !== undefined && content !== null && !Array.isArray(content)) {
    return unreadable("its content is no list");
  }
  if (!Array.isArray(content) && !isStructured) return unreadable("it has no content");
  const isError = raw["isError"] === true;
  const text = textOf(Array.isArray(content) ? content : [], binaries);
  const expected = isError ? undefined : schema;
  const pieces: readonly ToolContent[] = text === "" ? [] : [{ type: "text", text }];
  if (isStructured && !(isError && text !== "")) {
    const read = isRecord(structured) ? asJsonObject(structured) : { problem: "it is no object" };
    if ("json" in read) return envelope(withStructured(read.json, text, expected), isError);
    if (text === "") return unreadable(`its structured content cannot be kept: ${read.problem}`);
    return envelope([...pieces, ...misfit(expected, `it cannot be kept: ${read.problem}`)], isError);
  }
  const all = pieces.length > 0 ? pieces : [{ type: "structured", value: { status: "empty" } } as const];
  return envelope([...all, ...misfit(expected, "there is none")], isError);
}

/** Structured content alone if it is what the schema says, else with all that there is beside it. */
function withStructured(value: JsonObject, text: string, schema: JsonObject | undefined): ToolContent[] {
  const piece: ToolContent = { type: "structured", value };
  const problems = schema === undefined ? [] : checkResult(schema, value);
  if (problems.length === 0) return [piece];
  // Servers are asked to give structured content as text as well: once is enough.
  const isSame = text === JSON.stringify(value) || text === "";
  const beside: readonly ToolContent[] = isSame ? [] : [{ type: "text", text }];
  return [piece, ...beside, ...misfit(schema, problems.join("; "))];
}

function misfit(schema: JsonObject | undefined, problem: string): ToolContent[] {
  if (schema === undefined) return [];
  const told = oneLine(problem, problemCharactersMax);
  return [{
    type: "text",
    text: `[The structured content is not what the server says that the tool gives: ${told}]`,
  }];
}

function envelope(content: readonly ToolContent[], isError: boolean): ToolResultEnvelope {
  return { ok: !isError, content: [...content], isError, attachments: [] };
}

/** The envelope of a result that is none. */
export function unreadable(problem: string): ToolResultEnvelope {
  return errorEnvelope(
    failure("mcp_protocol_error", `The server answered, but its result cannot be read: ${problem}`),
  );
}

/** Blocks as one text. */
export function textOf(blocks: readonly unknown[], binaries: Binaries): string {
  const texts = blocks.slice(0, blocksMax).map((block) => textOfBlock(block, binaries));
  if (blocks.length > blocksMax) texts.push(`[${amount(blocks.length - blocksMax)} more blocks]`);
  return texts.join("\n");
}

function textOfBlock(block: unknown, binaries: Binaries): string {
  if (!isRecord(block)) return "[content that cannot be read]";
  switch (block["type"]) {
    case "text":
      return typeof block["text"] === "string" ? block["text"] : "[text that cannot be read]";
    case "image":
    case "audio":
      return `[${block["type"]}${word(block["mimeType"])}${
        binaries.add(block["type"], block["data"], block["mimeType"])
      }]`;
    case "resource_link": {
      const title = word(block["title"] ?? block["name"]);
      return `[resource link${uriOf(block["uri"])}${title === "" ? "" : `:${title}`}]`;
    }
    case "resource":
      return textOfResource(block["resource"], binaries);
    default:
      return `[content of an unknown type${word(block["type"])}]`;
  }
}

/** The text of a resource is what was asked for; anything else is kept, and its description given. */
export function textOfResource(resource: unknown, binaries: Binaries): string {
  if (!isRecord(resource)) return "[resource that cannot be read]";
  const { text, uri, mimeType, blob } = resource;
  if (typeof text === "string") return text;
  const kind = word(mimeType);
  return `[resource${uriOf(uri)}${kind === "" ? "" : `:${kind}`}${binaries.add("resource", blob, mimeType)}]`;
}

/** Words of a server, with a space before them. */
export function word(value: unknown): string {
  return typeof value === "string" && value !== "" ? ` ${oneLine(value, wordCharactersMax)}` : "";
}

/** An address, with a space before it. */
export function uriOf(value: unknown): string {
  return typeof value === "string" && value !== "" ? ` ${oneLine(value, uriCharactersMax)}` : "";
}
