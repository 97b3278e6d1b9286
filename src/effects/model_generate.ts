/** `model.generate`: one request to a provider, its stream collected into one answer. */
import { expose, noWishes } from "../../actors/exposure.ts";
import { ordinalOf } from "../../actors/turn_rules.ts";
import type { ResolvedCatalog } from "../../schemas/catalog.ts";
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { ModelAnswer, type ModelMessage, type ModelRequest } from "../../schemas/model.ts";
import type { ToolSpec } from "../../schemas/tool.ts";
import type { Admission } from "../model/admission.ts";
import { basicSchema } from "../model/basic_schema.ts";
import { AnswerCollector, type Collected } from "../model/collect.ts";
import { ModelError, type ModelProvider, splitModel } from "../model/provider.ts";
import type { Redactor } from "../redact/redactor.ts";
import type { Seams } from "../seams.ts";
import { admitted } from "./admitted.ts";
import { type CleanAnswer, cleanAnswer, cleanFailure } from "./clean.ts";
import { compactedBody, compactedNote, type Dropped } from "./compaction.ts";
import { type Ended, runUntil } from "./deadline.ts";
import { exposedBody, exposedNote, type ExposureFold, exposureKey } from "./exposure_fold.ts";
import { LiveAnswer } from "./live_answer.ts";
import { ModelPatience } from "./model_patience.ts";
import type { Performance, Performer, PerformerResult } from "./performer.ts";
import type { RawArguments, RawCall } from "./raw_arguments.ts";
import { withOutput } from "./output_order.ts";
import { requestMessages } from "./request_messages.ts";
import { withImages } from "./shown_images.ts";
import type { Round, RoundPrepare } from "./round_prepare.ts";

/** Options of {@linkcode createModelGenerate}. */
export interface ModelGenerateOptions {
  /**
   * The provider of a name, the part of a model string before the slash, or all of it. `root` is the session that asks: each agent
   * may have its own script; `model` is the whole string. Undefined if there is none.
   */
  readonly providerOf: (
    name: string,
    root: RootAddress,
    model: string,
  ) => ModelProvider | undefined | Promise<ModelProvider | undefined>;
  /** The conversation up to and with what an intent adds to it. */
  readonly transcript: (root: RootAddress, intent: string) => Promise<readonly ModelMessage[]>;
  /** What a session's exposure depends on, once its transcript was read; without it nothing is known of wishes. */
  readonly exposureOf?: (root: RootAddress) => ExposureFold | undefined;
  /** The form that a session's answers must have, once its transcript was read. */
  readonly outputOf?: (root: RootAddress) => JsonObject | undefined;
  /** Reads the images of prompts. */
  readonly readBlob?: (digest: string) => Promise<Uint8Array>;
  /** What a session's latest request was made shorter by, once its transcript was read. */
  readonly droppedOf?: (root: RootAddress) => readonly Dropped[];
  /** The sealed catalog of a hash; undefined if there is none. */
  readonly catalogOf: (hash: string) => ResolvedCatalog | undefined;
  /** Lets a program prepare the rounds of a catalog that says so; without it such a round fails. */
  readonly prepare?: RoundPrepare;
  /** Takes secrets out of answers, streamed text and failures. */
  readonly redactor: Redactor;
  /** Where arguments go that held secrets. */
  readonly rawArguments: RawArguments;
  readonly seams: Seams;
  /** The gates before the providers; without it everybody asks at once. */
  readonly admission?: Admission | undefined;
}

type Call = Performance<"model.generate">;

/**
 * Performs one `model.generate`. A model call changes nothing outside (AR-26), so whatever goes wrong is `failed`, and
 * `canceled` if nobody waits for it any more; the failure says whether trying again can help.
 */
export function createModelGenerate(options: ModelGenerateOptions): Performer<"model.generate"> {
  const { admission, providerOf } = options;
  if (admission === undefined) return (call) => perform(call, options, 0);
  return (call) => {
    const { root, id, request: { args: { model } } } = call;
    return admitted(
      { admission, root, id, model, providerOf },
      call,
      (waitedMs) => perform(call, options, waitedMs),
    );
  };
}

async function perform(
  call: Call,
  options: ModelGenerateOptions,
  waitedMs: number,
): Promise<PerformerResult> {
  const { clock } = options.seams;
  const ownDeadlineMs = call.request.deadlineAtMs ?? clock.now() - waitedMs + limits.modelCallDurationMs;
  const deadlineAtMs = ownDeadlineMs + waitedMs;
  const patience = new ModelPatience(clock, deadlineAtMs);
  const ended = await runUntil(
    { clock, deadlineAtMs, extendedTo: () => patience.untilMs, signal: call.signal },
    (signal) => generate(call, options, { signal, patience }),
  );
  const result = resultOf(ended, options.seams);
  return result.status === "ok"
    ? result
    : { ...result, failure: cleanFailure(options.redactor, result.failure) };
}

/** How long an answer is wanted. */
export interface Waited {
  readonly signal: AbortSignal;
  readonly patience: ModelPatience;
}

async function generate(
  call: Call,
  options: ModelGenerateOptions,
  { signal, patience }: Waited,
): Promise<PerformerResult> {
  const { args } = call.request;
  const [name, model] = splitModel(args.model);
  const provider = await options.providerOf(name, call.root, args.model);
  if (provider === undefined) {
    return failed(
      failure("model_unknown", `No provider serves the model "${args.model}": correct the agent's model`),
    );
  }
  patience.known(provider);
  const catalog = options.catalogOf(args.catalog.hash);
  if (catalog === undefined) {
    return failed(failure("catalog_unavailable", "The catalog of this turn is not known here"));
  }
  const messages = requestMessages(await options.transcript(call.root, call.id));
  // Nobody waits any more, and what was read may say more than the call was asked with (I8).
  if (signal.aborted) return failed(givenUpMeanwhile);
  noteDropped(call, options);
  const told = provider.capabilities.toolCalling ? toolsOf(call, catalog, options) : [];
  const tools = easedSpecs(told, args);
  const round = await preparedRound({ call, messages, tools, signal }, catalog, options);
  if ("failure" in round) return failed(round.failure);
  const bare: ModelRequest = {
    model,
    messages: [...round.messages],
    tools: [...round.tools],
    toolChoice: args.toolChoice,
    maxOutputTokens: args.maxOutputTokens,
    ...(args.attempt === undefined ? {} : { attempt: args.attempt }),
  };
  const { capabilities } = provider;
  const request = await withImages(withOutput(bare, options.outputOf?.(call.root), capabilities), {
    turn: args.turn,
    model: args.model,
    capabilities,
    readBlob: options.readBlob,
  });
  if ("failure" in request) return failed(request.failure);
  const events = provider.generate(request, signal);
  const collected = await collect(call, events, { signal, patience, redactor: options.redactor });
  if (!collected.ok) return failed(collected.failure);
  const clean = cleanAnswer(options.redactor, collected.answer);
  if (clean === undefined) return failed(withheld);
  if (!ModelAnswer.safeParse(clean.answer).success) return failed(outOfBounds);
  // An answer that nobody waits for any more must not push away what belongs to a later one.
  if (!signal.aborted) options.rawArguments.keep(call.root, rawCalls(args.step, clean));
  return { status: "ok", value: clean.answer as unknown as Json };
}

/** The round as a program has prepared it, if the turn's catalog says that one does. */
async function preparedRound(
  round: Omit<Round, "program">,
  { preparedBy: program }: ResolvedCatalog,
  { prepare }: ModelGenerateOptions,
): ReturnType<RoundPrepare> {
  if (program === undefined) return round;
  if (prepare !== undefined) return await prepare({ ...round, program });
  return { failure: failure("program_unavailable", `Nobody reaches the program "${program}" from here`) };
}

/** What the model is no longer told of stands in the journal. */
function noteDropped(
  { id: intent, root, note, request: { args } }: Call,
  options: ModelGenerateOptions,
): void {
  const dropped = args.compact === true ? options.droppedOf?.(root) ?? [] : [];
  if (dropped.length === 0) return;
  note?.(compactedNote, compactedBody({ intent, turn: args.turn, step: args.step, dropped }));
}

const givenUpMeanwhile = failure("turn_canceled", "The model call was given up before the model was asked");

const outOfBounds = failure(
  "model_answer_invalid",
  "The model's answer has a name, an id or a count that is out of bounds",
);

function rawCalls(step: number, { answer, raw }: CleanAnswer): readonly RawCall[] {
  return answer.calls.flatMap((call, index) => {
    const written = raw.get(index);
    if (written === undefined || !("arguments" in call)) return [];
    return [{ ordinal: ordinalOf(step, index), name: call.name, raw: written, shown: call.arguments }];
  });
}

/**
 * What the model is told of in this step, and the note that says so if it is not what the step before was told. Chosen
 * from what the journal holds up to this intent, so that a replay, or a second attempt, chooses the same.
 */
function toolsOf(
  call: Call,
  catalog: ResolvedCatalog,
  { exposureOf }: ModelGenerateOptions,
): readonly ToolSpec[] {
  const known = exposureOf?.(call.root);
  if (known === undefined) return expose(catalog, noWishes).specs;
  const exposure = expose(catalog, known.wishes, known.budget);
  const { turn, step, catalog: { hash } } = call.request.args;
  if (known.told !== exposureKey(hash, exposure)) {
    call.note?.(exposedNote, exposedBody({ intent: call.id, turn, step, catalog: hash, exposure }));
  }
  return exposure.specs;
}

/** Those that the model takes, in the words in which it does. */
function easedSpecs(
  specs: readonly ToolSpec[],
  { hidden = [], simplified = [] }: Call["request"]["args"],
): readonly ToolSpec[] {
  if (hidden.length === 0 && simplified.length === 0) return specs;
  return specs.filter(({ name }) => !hidden.includes(name)).map((spec) =>
    simplified.includes(spec.name)
      ? { ...spec, inputSchema: basicSchema(spec.inputSchema as JsonObject) }
      : spec
  );
}

const withheld = failure(
  "redaction_failed",
  "The model's answer could not be made safe to show and was withheld",
);

/** Reads the stream until it is done; reports what is said as it comes, nothing after the call was given up. */
async function collect(
  call: Call,
  events: ReturnType<ModelProvider["generate"]>,
  { signal, patience, redactor }: Waited & { readonly redactor: Redactor },
): Promise<Collected> {
  const collector = new AnswerCollector();
  const live = new LiveAnswer(redactor, (event) => call.report({ type: "model", event }));
  for await (const event of events) {
    // Leaving the loop closes the stream.
    if (signal.aborted) break;
    patience.heard();
    live.take(event);
    const problem = collector.take(event);
    if (problem !== undefined) return { ok: false, failure: problem };
    if (collector.isDone()) break;
  }
  return collector.finish();
}

/** How a model call ended, whatever it was for. */
export function resultOf(ended: Ended<PerformerResult>, seams: Seams): PerformerResult {
  switch (ended.type) {
    case "done":
      return ended.value;
    case "late":
      return failed(retryableFailure("model_timed_out", "The model did not answer in time"));
    case "canceled":
      return { status: "canceled", failure: failure("turn_canceled", "The model call was canceled") };
    case "threw":
      return failed(failureOf(ended.error, seams));
  }
}

/** A provider's own failure keeps its code. Any other error is a fault, and its text may hold a secret. */
function failureOf(error: unknown, seams: Seams): Failure {
  if (error instanceof ModelError) return error.failure;
  const kind = error instanceof Error ? error.name : typeof error;
  seams.log({ level: "error", event: "model.threw", detail: { kind } });
  return failure("model_failed", "The model's provider broke off unexpectedly");
}

function failed(problem: Failure): PerformerResult {
  return { status: "failed", failure: problem };
}
