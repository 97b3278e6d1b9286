/**
 * Settles a tool's result: bounds it, keeps the whole of it, makes the views (station 7). Fails closed: if anything
 * in here breaks, every view is one fixed refusal, and what the tool returned goes nowhere (DM-47).
 */
import type { ToolReturn } from "../../schemas/invocation.ts";
import type { Attachment, ToolDefinition, ToolResultEnvelope as Envelope } from "../../schemas/tool.ts";
import type { Redactor } from "../redact/redactor.ts";
import { envelopeText } from "../tools/envelope_text.ts";
import type { ToolBlobs } from "../tools/tool.ts";
import { head, visible } from "../tools/visible.ts";
import { cleanResult } from "./clean.ts";

/** Longest line for people, in characters; `ToolReturn.operator` allows 500. */
const operatorCharactersMax = 400;

/** What settling needs besides the result. */
export interface SettleOptions {
  readonly blobs: ToolBlobs;
  readonly redactor: Redactor;
}

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
  { blobs, redactor }: SettleOptions,
): Promise<ToolReturn> {
  try {
    const clean = cleanResult(redactor, envelope);
    if (clean === undefined) return withheld;
    const text = envelopeText(clean.model);
    const max = definition.outputPolicy.modelCharactersMax;
    const truncated = text.length > max;
    const isMore = envelope.content.some((piece) => piece.type !== "text") || envelope.attachments.length > 0;
    const full = truncated || isMore ? await keep(clean.durable, definition, blobs) : undefined;
    const shown = clean.operator === clean.model ? text : envelopeText(clean.operator);
    return {
      isError: envelope.isError,
      model: full !== undefined && truncated ? cut(text, max, full) : text,
      operator: lineOf(shown, definition),
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

/** The share of the room that goes to the end of a text: what a program says last is often what counts. */
const tailShare = 0.25;
/** A shorter end says nothing. */
const tailCharactersMin = 200;

/**
 * The head of `text`, a line that says what is missing and names the whole, and the end, together at most `max`
 * characters. Where there is no room for an end that says something, the head and the line alone (LC-15).
 */
function cut(text: string, max: number, full: Attachment): string {
  const lineFor = (missing: number) =>
    `\n[cut: ${missing} more characters; the whole result is ${full.digest}]`;
  const room = max - lineFor(text.length).length;
  // A policy that leaves no room for the line gets the head alone; `truncated` says the rest.
  if (room < 0) return head(text, max);
  const tailRoom = Math.floor(room * tailShare) - 1;
  const end = tailRoom < tailCharactersMin ? "" : `\n${tail(text, tailRoom)}`;
  const kept = head(text, room - end.length);
  return kept + lineFor(text.length - kept.length - Math.max(end.length - 1, 0)) + end;
}

/** The last characters of a text; never half of one. */
function tail(text: string, charactersMax: number): string {
  const end = text.slice(-charactersMax);
  const first = end.charCodeAt(0);
  return first >= 0xdc00 && first <= 0xdfff ? end.slice(1) : end;
}

/** The first line that says anything, for people; acting characters are shown, not obeyed (B121). */
function lineOf(text: string, definition: ToolDefinition): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const first = head(visible(head(lines[0] ?? "[nothing]", operatorCharactersMax)), operatorCharactersMax);
  const more = lines.length > 1 ? ` (and ${lines.length - 1} more lines)` : "";
  return head(`${definition.name}: ${first}${more}`, 500);
}
