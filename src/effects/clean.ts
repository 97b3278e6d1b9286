/**
 * The door at which secrets are taken out: what comes in is cleaned once, before an entry, a view or a person has it
 * (design.md section 8). What cannot be cleaned is withheld, never passed on (DM-47).
 */
import { type Failure, failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { ToolResultEnvelope as Envelope } from "../../schemas/tool.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { CollectedAnswer, CollectedCall } from "../model/collect.ts";
import { KnownSecrets } from "../redact/known_secrets.ts";
import type { View } from "../redact/marks.ts";
import { createRedactor, type Redaction, type Redactor } from "../redact/redactor.ts";

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
  const first = redactor.json(envelope, "durable");
  if (first.isWithheld) return undefined;
  if (first.findings.length === 0) return { model: envelope, operator: envelope, durable: envelope };
  const [durable, model, operator] = [
    envelopeIn(first),
    envelopeIn(redactor.json(envelope, "model")),
    envelopeIn(redactor.json(envelope, "operator")),
  ];
  if (durable === undefined || model === undefined || operator === undefined) return undefined;
  return { durable, model, operator };
}

function envelopeIn({ value, isWithheld }: Redaction<unknown>): Envelope | undefined {
  return isWithheld ? undefined : Envelope.safeParse(value).data;
}

/**
 * An answer of a model as the journal and the model's own history have it; undefined if it must be withheld. Arguments
 * are searched for what is certainly a secret: a known value, or a key of a known kind. Such a call is marked, and
 * refused by its invocation: with a mark in the place of the secret it would say another thing.
 */
export function cleanAnswer(redactor: Redactor, answer: CollectedAnswer): CleanAnswer | undefined {
  const { text, metadata } = answer;
  const said = redactor.json({ text, metadata }, "model");
  if (said.isWithheld) return undefined;
  const calls = answer.calls.map((call) => cleanCall(redactor, call));
  return { ...answer, ...said.value as { readonly text: string; readonly metadata: JsonObject }, calls };
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
  return findings.length === 0 && !isWithheld
    ? why
    : { ...failure(why.code, value), retryable: why.retryable };
}

/** A text that came from outside, for one kind of reader. */
export function cleanText(redactor: Redactor, text: string, view: View): string {
  return redactor.text(text, view).value;
}
