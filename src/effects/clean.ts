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
import type { View } from "../redact/marks.ts";
import { createRedactor, type Redactor } from "../redact/redactor.ts";

/** A result without its secrets, once for each of its readers. */
export interface CleanResult {
  readonly model: Envelope;
  readonly operator: Envelope;
  /** What is kept as a whole. */
  readonly durable: Envelope;
}

/** Makes the redactor of a runtime: its bounds are those of the border, so that what may come in can be looked through. */
export function createDoorRedactor(known: KnownSecrets = new KnownSecrets(), hmacKey?: Uint8Array): Redactor {
  const bounds = {
    depthMax: limits.jsonDepthMax + 8,
    itemsMax: limits.jsonNodesMax,
    stringCharactersMax: limits.mcpMessageBytesMax,
  };
  return createRedactor({ known, bounds, ...(hmacKey === undefined ? {} : { hmacKey }) });
}

/** The result for each reader; undefined if it must be withheld. Without secrets all are the very same object. */
export function cleanResult(redactor: Redactor, envelope: Envelope): CleanResult | undefined {
  const durable = cleanEnvelope(redactor, envelope, "durable");
  if (durable === undefined) return undefined;
  if (durable === envelope) return { model: envelope, operator: envelope, durable: envelope };
  const model = cleanEnvelope(redactor, envelope, "model");
  const operator = cleanEnvelope(redactor, envelope, "operator");
  return model === undefined || operator === undefined ? undefined : { durable, model, operator };
}

/** An envelope is looked through piece by piece: most results are one text, and most texts hold no secret. */
function cleanEnvelope(redactor: Redactor, envelope: Envelope, view: View): Envelope | undefined {
  const content = cleanAll(envelope.content, (piece) => cleanPiece(redactor, piece, view));
  const attachments = cleanAll(envelope.attachments, (one) => cleanAttachment(redactor, one, view));
  if (content === undefined || attachments === undefined) return undefined;
  const isSame = content === envelope.content && attachments === envelope.attachments;
  return isSame ? envelope : { ...envelope, content: [...content], attachments: [...attachments] };
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
 * An answer of a model as the journal and the model's own history have it; undefined if it must be withheld. Arguments
 * are searched for what is certainly a secret: a known value, or a key of a known kind. Such a call is marked, and
 * refused by its invocation: with a mark in the place of the secret it would say another thing.
 */
export function cleanAnswer(redactor: Redactor, answer: CollectedAnswer): CleanAnswer | undefined {
  const text = redactor.text(answer.text, "model");
  const metadata = redactor.json(answer.metadata, "model");
  if (text.isWithheld || metadata.isWithheld) return undefined;
  const calls = answer.calls.map((call) => cleanCall(redactor, call));
  return { ...answer, text: text.value, metadata: metadata.value as JsonObject, calls };
}

/** An answer without its secrets. */
export interface CleanAnswer extends Omit<CollectedAnswer, "calls"> {
  readonly calls: readonly (CollectedCall & { readonly hadSecret?: true })[];
}

function cleanCall(redactor: Redactor, call: CollectedCall): CollectedCall & { readonly hadSecret?: true } {
  const given = "arguments" in call ? call.arguments : call.argumentsText;
  const { value, findings, isWithheld } = redactor.json(given, "model");
  if (!isWithheld && !findings.some(({ kind }) => kind !== "field")) return call;
  const { callId, name } = call;
  return { callId, name, argumentsText: JSON.stringify(value), hadSecret: true };
}

/** A failure whose message came from outside. Its code is ours. */
export function cleanFailure(redactor: Redactor, why: Failure): Failure {
  const { value, findings, isWithheld } = redactor.text(why.message, "operator");
  return findings.length === 0 && !isWithheld ? why : reworded(why, value);
}

/** A text that came from outside, for one kind of reader. */
export function cleanText(redactor: Redactor, text: string, view: View): string {
  return redactor.text(text, view).value;
}

/** A message to a session, before its entry: whoever acts on it has the clean one, live and in replay. */
export function cleanMessage(redactor: Redactor, message: SessionMessage): SessionMessage {
  if ("text" in message) return { ...message, text: cleanText(redactor, message.text, "model") };
  if (message.type !== "session.call") return message;
  const { value, findings, isWithheld } = redactor.json(message.call.arguments, "model");
  if (!isWithheld && !findings.some(({ kind }) => kind !== "field")) return message;
  const clean = isWithheld ? {} : value as JsonObject;
  return { ...message, call: { tool: message.call.tool, arguments: clean, hadSecret: true } };
}
