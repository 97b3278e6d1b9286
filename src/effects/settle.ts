/**
 * Settles a tool's result: bounds it, keeps the whole of it, makes the views (station 7). Fails closed: if anything
 * in here breaks, every view is one fixed refusal, and what the tool returned goes nowhere (DM-47).
 */
import type { ToolReturn } from "../../schemas/invocation.ts";
import type {
  Attachment,
  ToolContent,
  ToolDefinition,
  ToolResultEnvelope as Envelope,
} from "../../schemas/tool.ts";
import type { ToolBlobs } from "../tools/tool.ts";
import { head, visible } from "../tools/visible.ts";

/** Longest line for people, in characters; `ToolReturn.operator` allows 500. */
const operatorCharactersMax = 400;

/** What all views become if a result cannot be settled. */
const withheld: ToolReturn = {
  isError: true,
  model: "redaction_failed: The tool ran, but its result could not be made safe to show and was withheld",
  operator: "redaction_failed: The result could not be made safe to show and was withheld",
  truncated: false,
};

/**
 * The views of a result. `model` has at most the output policy's characters; where it was cut, its last line says how
 * much is missing and names the whole. The whole envelope is kept as a blob if it was cut or holds more than text.
 */
export async function settleEnvelope(
  envelope: Envelope,
  definition: ToolDefinition,
  blobs: ToolBlobs,
): Promise<ToolReturn> {
  try {
    const text = textOf(envelope);
    const max = definition.outputPolicy.modelCharactersMax;
    const truncated = text.length > max;
    const isMore = envelope.content.some((piece) => piece.type !== "text") || envelope.attachments.length > 0;
    const full = truncated || isMore ? await keep(envelope, definition, blobs) : undefined;
    return {
      isError: envelope.isError,
      model: full !== undefined && truncated ? cut(text, max, full) : text,
      operator: lineOf(text, definition),
      truncated,
      ...(full === undefined ? {} : { full }),
    };
  } catch {
    return withheld;
  }
}

async function keep(envelope: Envelope, definition: ToolDefinition, blobs: ToolBlobs): Promise<Attachment> {
  const bytes = new TextEncoder().encode(JSON.stringify(envelope));
  return await blobs.put(bytes, "application/json", `${definition.name}.json`);
}

/** All pieces as one text, in their order; attachments by name and digest. */
function textOf(envelope: Envelope): string {
  return [...envelope.content.map(textOfPiece), ...envelope.attachments.map(textOfAttachment)].join("\n");
}

function textOfPiece(piece: ToolContent): string {
  switch (piece.type) {
    case "text":
      return piece.text;
    case "structured":
      return JSON.stringify(piece.value);
    case "error":
      return `${piece.failure.code}: ${piece.failure.message}`;
  }
}

function textOfAttachment({ name, mediaType, bytes, digest }: Attachment): string {
  return `[attachment ${visible(name)}: ${visible(mediaType)}, ${bytes} bytes, ${digest}]`;
}

/** The head of `text` and a line that says what is missing, together at most `max` characters. */
function cut(text: string, max: number, full: Attachment): string {
  const lineFor = (missing: number) =>
    `\n[cut: ${missing} more characters; the whole result is ${full.digest}]`;
  const room = max - lineFor(text.length).length;
  // A policy that leaves no room for the line gets the head alone; `truncated` says the rest.
  if (room < 0) return head(text, max);
  const kept = head(text, room);
  return kept + lineFor(text.length - kept.length);
}

/** The first line that says anything, for people; acting characters are shown, not obeyed (B121). */
function lineOf(text: string, definition: ToolDefinition): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const first = head(visible(head(lines[0] ?? "[nothing]", operatorCharactersMax)), operatorCharactersMax);
  const more = lines.length > 1 ? ` (and ${lines.length - 1} more lines)` : "";
  return head(`${definition.name}: ${first}${more}`, 500);
}
