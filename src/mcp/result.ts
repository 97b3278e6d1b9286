/** Reads what a server answered to `tools/call` into the one envelope of all tools (DM-69, DM-70). */
import { failure } from "../../schemas/failure.ts";
import type { ToolContent, ToolResultEnvelope } from "../../schemas/tool.ts";
import { errorEnvelope } from "../tools/tool.ts";
import { asJsonObject, isRecord } from "./json_bounds.ts";
import { oneLine } from "./plain_text.ts";

/** Blocks of one result that are read; of the rest only the number is given. */
const blocksMax = 10_000;
const uriCharactersMax = 500;
const wordCharactersMax = 100;

/**
 * The envelope of a raw `CallToolResult`. Structured content wins; otherwise the blocks become one text, in their order;
 * a result without content becomes `{ "status": "empty" }`. A result that says `isError` keeps its text before all else:
 * it is what explains the error, and structured content beside it may be of any shape. What is no result at all is an
 * `mcp_protocol_error`. Takes whatever JSON there is; never throws; linear in its size.
 */
export function readResult(raw: unknown): ToolResultEnvelope {
  if (!isRecord(raw)) return unreadable("it is no object");
  const { content, structuredContent: structured } = raw;
  const isStructured = structured !== undefined && structured !== null;
  if (content !== undefined && content !== null && !Array.isArray(content)) {
    return unreadable("its content is no list");
  }
  if (!Array.isArray(content) && !isStructured) return unreadable("it has no content");
  const isError = raw["isError"] === true;
  const text = textOf(Array.isArray(content) ? content : []);
  if (isStructured && !(isError && text !== "")) {
    const read = isRecord(structured) ? asJsonObject(structured) : { problem: "it is no object" };
    if ("json" in read) return envelope({ type: "structured", value: read.json }, isError);
    if (text === "") return unreadable(`its structured content cannot be kept: ${read.problem}`);
  }
  const piece: ToolContent = text === ""
    ? { type: "structured", value: { status: "empty" } }
    : { type: "text", text };
  return envelope(piece, isError);
}

function envelope(piece: ToolContent, isError: boolean): ToolResultEnvelope {
  return { ok: !isError, content: [piece], isError, attachments: [] };
}

function unreadable(problem: string): ToolResultEnvelope {
  return errorEnvelope(
    failure("mcp_protocol_error", `The server ran the tool, but its result cannot be read: ${problem}`),
  );
}

function textOf(blocks: readonly unknown[]): string {
  const texts = blocks.slice(0, blocksMax).map(textOfBlock);
  if (blocks.length > blocksMax) texts.push(`[${amount(blocks.length - blocksMax)} more blocks]`);
  return texts.join("\n");
}

function textOfBlock(block: unknown): string {
  if (!isRecord(block)) return "[content that cannot be read]";
  switch (block["type"]) {
    case "text":
      return typeof block["text"] === "string" ? block["text"] : "[text that cannot be read]";
    case "image":
    case "audio":
      return `[${block["type"]}${word(block["mimeType"])}${sizeOf(block["data"])}]`;
    case "resource_link": {
      const title = word(block["title"] ?? block["name"]);
      return `[resource link${uriOf(block["uri"])}${title === "" ? "" : `:${title}`}]`;
    }
    case "resource":
      return textOfResource(block["resource"]);
    default:
      return `[content of an unknown type${word(block["type"])}]`;
  }
}

/** The text of an embedded resource is what was asked for; of anything else only the description is given. */
function textOfResource(resource: unknown): string {
  if (!isRecord(resource)) return "[resource that cannot be read]";
  const { text, uri, mimeType, blob } = resource;
  if (typeof text === "string") return text;
  const kind = word(mimeType);
  return `[resource${uriOf(uri)}${kind === "" ? "" : `:${kind}`}${sizeOf(blob)}]`;
}

function word(value: unknown): string {
  return typeof value === "string" && value !== "" ? ` ${oneLine(value, wordCharactersMax)}` : "";
}

function uriOf(value: unknown): string {
  return typeof value === "string" && value !== "" ? ` ${oneLine(value, uriCharactersMax)}` : "";
}

/** The size of what Base64 stands for, as told by the length of its text. */
function sizeOf(base64: unknown): string {
  if (typeof base64 !== "string") return "";
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return `, ${amount(Math.max(0, Math.floor((base64.length * 3) / 4) - padding))} bytes`;
}

/** A number with a comma at every thousand. */
function amount(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ",");
}
