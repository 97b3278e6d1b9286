/**
 * The door at which secrets are taken out: what comes in is cleaned once, before an entry, a view or a person has it
 * (design.md section 8). What cannot be cleaned is withheld, never passed on (DM-47).
 */
import { type Failure, reworded } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import type { Attachment, ToolContent, ToolResultEnvelope as Envelope } from "../../schemas/tool.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import type { SessionMessage } from "../../schemas/message.ts";
import type { CollectedAnswer, CollectedCall } from "../model/collect.ts";
import { KnownSecrets } from "../redact/known_secrets.ts";
import { type MarkPlace, markPlaces } from "../redact/mark_places.ts";
import type { View } from "../redact/marks.ts";
import { createRedactor, type Redactor, type RedactorOptions } from "../redact/redactor.ts";

/** A result without its secrets, once for each of its readers. */
export interface CleanResult {
  readonly model: Envelope;
  readonly operator: Envelope;
  /** What is kept as a whole. */
  readonly durable: Envelope;
  readonly debug: Envelope;
}

/** What a door's redactor may be given: the key for fingerprints, and the time, so that it cannot take for ever. */
export type DoorOptions = Pick<RedactorOptions, "hmacKey" | "now">;

/** Makes the redactor of a runtime: its bounds are those of the border, so that what may come in can be looked through. */
export function createDoorRedactor(
  known: KnownSecrets = new KnownSecrets(),
  options: DoorOptions = {},
): Redactor {
  const bounds = {
    depthMax: limits.jsonDepthMax + 8,
    itemsMax: limits.jsonNodesMax,
    stringCharactersMax: limits.mcpMessageBytesMax,
  };
  return createRedactor({ known, bounds, ...options });
}

/** The result for each reader; undefined if it must be withheld. Without secrets all are the very same object. */
export function cleanResult(redactor: Redactor, envelope: Envelope): CleanResult | undefined {
  const durable = cleanEnvelope(redactor, envelope, "durable");
  if (durable === undefined) return undefined;
  if (durable === envelope) {
    return { model: envelope, operator: envelope, durable: envelope, debug: envelope };
  }
  const model = cleanEnvelope(redactor, envelope, "model");
  const operator = cleanEnvelope(redactor, envelope, "operator");
  const debug = cleanEnvelope(redactor, envelope, "debug");
  if (model === undefined || operator === undefined || debug === undefined) return undefined;
  return { durable, model, operator, debug };
}

/** An envelope is looked through piece by piece: most results are one text, and most texts hold no secret. */
function cleanEnvelope(redactor: Redactor, envelope: Envelope, view: View): Envelope | undefined {
  const content = cleanAll(envelope.content, (piece) => cleanPiece(redactor, piece, view));
  const attachments = cleanAll(envelope.attachments, (one) => cleanAttachment(redactor, one, view));
  if (content === undefined || attachments === undefined) return undefined;
  const isSame = content === envelope.content && attachments === envelope.attachments;
  return isSame ? envelope : { ...envelope, content: [...content], attachments: [...attachments] };
}

/** Changes of a session's state without secrets; undefined if one must be withheld. */
export function cleanChanges(
  redactor: Redactor,
  changes: readonly JsonObject[],
): readonly JsonObject[] | undefined {
  return cleanAll(changes, (change) => {
    const { value, isWithheld } = redactor.json(change, "model");
    return isWithheld ? undefined : value as JsonObject;
  });
}

/** The very same list if nothing in it changed; undefined if a part must be withheld. */
function cleanAll<T>(list: readonly T[], clean: (one: T) => T | undefined): readonly T[] | undefined {
  let changed: T[] | undefined;
  for (const [index, one] of list.entries()) {
    const other = clean(one);
    if (other === undefined) return undefined;
    if (other === one) continue;
    changed ??= [...list];
    changed[index] = other;
  }
  return changed ?? list;
}

function cleanPiece(redactor: Redactor, piece: ToolContent, view: View): ToolContent | undefined {
  switch (piece.type) {
    case "text": {
      const { value, findings, isWithheld } = redactor.text(piece.text, view);
      if (isWithheld) return undefined;
      return findings.length === 0 ? piece : { type: "text", text: value };
    }
    case "structured": {
      const { value, findings, isWithheld } = redactor.json(piece.value, view);
      if (isWithheld) return undefined;
      return findings.length === 0 ? piece : { type: "structured", value: value as Json };
    }
    case "error": {
      const clean = cleanFailure(redactor, piece.failure);
      return clean === piece.failure ? piece : { type: "error", failure: clean };
    }
  }
}

function cleanAttachment(redactor: Redactor, attachment: Attachment, view: View): Attachment | undefined {
  const { value, findings, isWithheld } = redactor.text(attachment.name, view);
  if (isWithheld) return undefined;
  return findings.length === 0 ? attachment : { ...attachment, name: value };
}

/**
 * An answer of a model as the journal and the model's own history have it; undefined if it must be withheld. A call whose
 * arguments hold a secret is marked. A secret of the host must never have got to a model: that call is refused. Anything
 * else that looks like one is the model's own, as a password that it made up: it is taken out here, and the call is made
 * with what the model wrote, which `raw` holds by the call's place.
 */
export function cleanAnswer(redactor: Redactor, answer: CollectedAnswer): CleanAnswer | undefined {
  const text = redactor.text(answer.text, "model");
  const metadata = redactor.json(answer.metadata, "model");
  if (text.isWithheld || metadata.isWithheld) return undefined;
  const raw = new Map<number, JsonObject>();
  const calls = answer.calls.map((call, index) => {
    const clean = cleanCall(redactor, call);
    if (clean !== call && "arguments" in clean && "arguments" in call) raw.set(index, call.arguments);
    return clean;
  });
  const told = text.findings.length === 0
    ? []
    : markPlaces(text.value, cleanText(redactor, answer.text, "debug"));
  const marks = told.slice(0, limits.resultMarksMax);
  const clean = { ...answer, text: text.value, metadata: metadata.value as JsonObject, calls };
  return { answer: { ...clean, ...(marks.length === 0 ? {} : { marks }) }, raw };
}

/** One call without its secrets. */
type CleanCall = CollectedCall & { readonly hadSecret?: true };

/** An answer without its secrets, and the arguments that held some, by the place of their call. */
export interface CleanAnswer {
  readonly answer: Omit<CollectedAnswer, "calls"> & {
    readonly calls: readonly CleanCall[];
    /** What other views say at the marks of the text. */
    readonly marks?: readonly MarkPlace[];
  };
  readonly raw: ReadonlyMap<number, JsonObject>;
}

function cleanCall(redactor: Redactor, call: CollectedCall): CleanCall {
  const given = "arguments" in call ? call.arguments : call.argumentsText;
  const { value, findings, isWithheld } = redactor.json(given, "model");
  if (!isWithheld && findings.length === 0) return call;
  const { callId, name } = call;
  const isOfHost = findings.some(({ kind }) => kind === "known");
  if (isWithheld || isOfHost || !("arguments" in call)) {
    return { callId, name, argumentsText: JSON.stringify(value), hadSecret: true };
  }
  return { callId, name, arguments: value as JsonObject, hadSecret: true };
}

/** A failure whose message came from outside. Its code is ours. */
export function cleanFailure(redactor: Redactor, why: Failure): Failure {
  const { value, findings, isWithheld } = redactor.text(why.message, "operator");
  return findings.length === 0 && !isWithheld ? why : reworded(why, value);
}

/** True for a text that holds a secret, or that cannot be looked through. */
export function mayBeSecret(redactor: Redactor, text: string): boolean {
  const { findings, isWithheld } = redactor.text(text, "durable");
  return isWithheld || findings.length > 0;
}

/** True for a text that holds a secret which the host knows by its value, or that cannot be looked through. */
export function holdsKnownSecret(redactor: Redactor, text: string): boolean {
  const { findings, isWithheld } = redactor.text(text, "durable");
  return isWithheld || findings.some(({ kind }) => kind === "known");
}

/** A text that came from outside, for one kind of reader. */
export function cleanText(redactor: Redactor, text: string, view: View): string {
  return redactor.text(text, view).value;
}

/**
 * A message to a session, before its entry: whoever acts on it has the clean one, live and in replay. A host's call whose
 * arguments hold a secret is marked, and refused: nobody keeps what was taken out.
 */
export function cleanMessage(redactor: Redactor, message: SessionMessage): SessionMessage {
  if ("text" in message) return { ...message, text: cleanText(redactor, message.text, "model") };
  if (message.type !== "session.call" && message.type !== "session.invoke") return message;
  const { value, findings, isWithheld } = redactor.json(message.call.arguments, "model");
  if (!isWithheld && findings.length === 0) return message;
  const clean = isWithheld ? {} : value as JsonObject;
  return { ...message, call: { tool: message.call.tool, arguments: clean, hadSecret: true } };
}
