/**
 * Settles a tool's result: bounds it, keeps the whole of it, makes the views (station 7). Fails closed: if anything
 * in here breaks, every view is one fixed refusal, and what the tool returned goes nowhere (DM-47).
 */
import { failure, type FailureCode } from "../../schemas/failure.ts";
import type { TaskNews } from "../../schemas/ids.ts";
import type { ToolReturn } from "../../schemas/invocation.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { Provenance } from "../../schemas/provenance.ts";
import type {
  Attachment,
  ToolContent,
  ToolDefinition,
  ToolResultEnvelope as Envelope,
} from "../../schemas/tool.ts";
import type { ToolError } from "../../schemas/tool_error.ts";
import { type MarkPlace, markPlaces } from "../redact/mark_places.ts";
import { bareMark } from "../redact/marks.ts";
import type { Redactor } from "../redact/redactor.ts";
import { envelopeText } from "../tools/envelope_text.ts";
import type { ToolBlobs } from "../tools/tool.ts";
import { head, visible } from "../tools/visible.ts";
import { cleanChanges, cleanResult } from "./clean.ts";

/** Longest line for people, in characters; `ToolReturn.operator` allows 500. */
const operatorCharactersMax = 400;
/** Longest words of a tool in its error, in characters. */
const errorCharactersMax = 500;

/** What settling needs besides the result. */
export interface SettleOptions {
  readonly blobs: ToolBlobs;
  readonly redactor: Redactor;
  /** Where the tool comes from. */
  readonly source: Provenance;
  /** What the call changes of the session's state. */
  readonly changes?: readonly JsonObject[];
  /** Tasks of whose end the result tells the model. */
  readonly told?: readonly TaskNews[];
}

const withheldFailure = failure(
  "redaction_failed",
  "The tool ran, but its result could not be made safe to show and was withheld",
);

/** What all views become if a result cannot be settled. */
function withheld(source: Provenance): ToolReturn {
  const { code, message } = withheldFailure;
  return {
    isError: true,
    model: `${code}: ${message}`,
    operator: "redaction_failed: The result could not be made safe to show and was withheld",
    truncated: false,
    error: { code, message, started: true, provenance: { by: "runtime", source } },
  };
}

/**
 * The views of a result. `model` has at most the output policy's characters; where it was cut, its last line says how
 * much is missing and names the whole. The whole envelope is kept as a blob if it was cut or holds more than text.
 */
export async function settleEnvelope(
  returned: Envelope,
  definition: ToolDefinition,
  { blobs, redactor, source, changes = [], told = [] }: SettleOptions,
): Promise<ToolReturn> {
  try {
    const envelope = withOwnCodes(returned);
    const clean = cleanResult(redactor, envelope);
    const kept = cleanChanges(redactor, envelope.isError ? [] : changes);
    if (clean === undefined || kept === undefined) return withheld(source);
    const text = envelopeText(clean.model);
    const max = definition.outputPolicy.modelCharactersMax;
    const truncated = text.length > max;
    const isMore = envelope.content.some((piece) => piece.type !== "text") || envelope.attachments.length > 0;
    const full = truncated || isMore ? await keep(clean.durable, definition, blobs) : undefined;
    const shown = clean.operator === clean.model ? text : envelopeText(clean.operator);
    const places = clean.debug === clean.model ? [] : markPlaces(text, envelopeText(clean.debug));
    const model = full !== undefined && truncated ? cut(text, max, full) : { text, moved: stay };
    const marks = places.flatMap((place) => model.moved(place)).slice(0, limits.resultMarksMax);
    return {
      isError: envelope.isError,
      model: model.text,
      operator: lineOf(shown, definition),
      truncated,
      ...(full === undefined ? {} : { full }),
      ...(marks.length === 0 ? {} : { marks }),
      ...(kept.length === 0 ? {} : { changes: [...kept] }),
      ...(told.length === 0 ? {} : { told: [...told] }),
      ...(envelope.isError ? { error: errorOf(clean.operator, shown, source) } : {}),
    };
  } catch {
    return withheld(source);
  }
}

/**
 * Codes that a tool may give to its refusals. All others are the runtime's own words, on approvals, policy, or whether a
 * call was begun: a tool that uses one has failed, and nothing more (DM-48).
 */
export const codesOfTools: ReadonlySet<FailureCode> = new Set<FailureCode>([
  "arguments_invalid",
  "tool_failed",
  "too_large",
  "result_not_found",
  "session_unknown",
  "history_scope_refused",
  "path_outside_root",
  "path_invalid",
  "path_not_found",
  "path_not_file",
  "path_not_folder",
  "path_unreadable",
  "file_too_large",
  "file_not_text",
  "pattern_invalid",
  "path_protected",
  "file_not_written",
  "edit_not_found",
  "edit_ambiguous",
  "skill_unknown",
  "skill_exists",
  "skill_invalid",
  "page_not_text",
  "page_refused",
  "page_unreadable",
  "url_blocked",
  "url_credentials",
  "url_invalid",
  "url_scheme",
  "url_unresolved",
  "http_busy",
  "http_connect_failed",
  "http_connection_lost",
  "http_protocol_error",
  "http_redirect_refused",
  "http_request_invalid",
  "http_timed_out",
  "http_tls_failed",
  "response_too_large",
  "agent_depth",
  "agent_limit",
  "agent_unknown",
  "agents_off",
  "budget_exceeded",
  "child_busy",
  "child_lost",
  "child_not_found",
  "profile_unknown",
  "rights_exceeded",
  "session_closed",
  "task_limit",
  "task_lost",
  "resource_exhausted",
  "schedule_not_found",
  "schedules_full",
  "artifact_failed",
  "command_canceled",
  "command_failed",
  "command_interrupted",
  "command_output_lost",
  "command_timed_out",
  "mcp_connection_closed",
  "mcp_input_invalid",
  "mcp_input_refused",
  "mcp_message_too_large",
  "mcp_protocol_error",
  "mcp_subscription_refused",
  "mcp_rounds_exceeded",
  "task_action_unsupported",
  "task_kind_unsupported",
  "task_limit",
  "task_not_found",
  "task_scope_taken",
]);

function withOwnCodes(envelope: Envelope): Envelope {
  const isForged = (piece: ToolContent) => piece.type === "error" && !codesOfTools.has(piece.failure.code);
  if (!envelope.content.some(isForged)) return envelope;
  const content = envelope.content.map((piece): ToolContent =>
    piece.type === "error" && isForged(piece)
      ? { type: "error", failure: { ...piece.failure, code: "tool_failed" } }
      : piece
  );
  return { ...envelope, content };
}

/** Why a tool said no, for people: its own code if it gave one, and the beginning of its words. */
function errorOf(envelope: Envelope, text: string, source: Provenance): ToolError {
  const provenance = { by: "tool" as const, source };
  for (const piece of envelope.content) {
    if (piece.type !== "error") continue;
    const { code, message, retryable, classification, details } = piece.failure;
    return {
      code,
      message: head(message, errorCharactersMax),
      started: true,
      provenance,
      ...(classification === undefined ? {} : { retryable, classification }),
      ...(details === undefined ? {} : { details }),
    };
  }
  return { code: "tool_failed", message: head(text, errorCharactersMax), started: true, provenance };
}

async function keep(envelope: Envelope, definition: ToolDefinition, blobs: ToolBlobs): Promise<Attachment> {
  const bytes = new TextEncoder().encode(JSON.stringify(envelope));
  return await blobs.put(bytes, "application/json", `${definition.name}.json`);
}

/** The share of the room that goes to the end of a text: what a program says last is often what counts. */
const tailShare = 0.25;
/** A shorter end says nothing. */
const tailCharactersMin = 200;

/** A text that was cut, and where places of the whole one are in it. */
interface Cut {
  readonly text: string;
  readonly moved: (place: MarkPlace) => readonly MarkPlace[];
}

function stay(place: MarkPlace): readonly MarkPlace[] {
  return [place];
}

/**
 * The head of `text`, a line that says what is missing and names the whole, and the end, together at most `max`
 * characters. Where there is no room for an end that says something, the head and the line alone (LC-15).
 */
function cut(text: string, max: number, full: Attachment): Cut {
  const lineFor = (missing: number) =>
    `\n[cut: ${missing} more characters; the whole result is ${full.digest}]`;
  const room = max - lineFor(text.length).length;
  // A policy that leaves no room for the line gets the head alone; `truncated` says the rest.
  if (room < 0) {
    const kept = head(text, max);
    return { text: kept, moved: movedBy(kept.length, text.length, 0) };
  }
  const tailRoom = Math.floor(room * tailShare) - 1;
  const end = tailRoom < tailCharactersMin ? "" : `\n${tail(text, tailRoom)}`;
  const kept = head(text, room - end.length);
  const endLength = Math.max(end.length - 1, 0);
  const short = kept + lineFor(text.length - kept.length - endLength) + end;
  return { text: short, moved: movedBy(kept.length, text.length - endLength, text.length - short.length) };
}

/** Places in the head stay, those in the end move with it, those that were cut are gone. */
function movedBy(headEnd: number, tailStart: number, by: number): Cut["moved"] {
  return (place) => {
    if (place.at + bareMark.length <= headEnd) return [place];
    return place.at >= tailStart ? [{ ...place, at: place.at - by }] : [];
  };
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
