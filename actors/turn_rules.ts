/** The pure rules that the turn machine consults: plans, requests, what the model is told, how a turn ended. */
import type { CatalogEntry } from "../schemas/catalog.ts";
import type { PortDone } from "../schemas/effect.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import type { CallScope, InvocationRequest, InvocationResult } from "../schemas/invocation.ts";
import type { KeptGrant } from "../schemas/grant.ts";
import { canonicalJson, type Json, type JsonObject } from "../schemas/json.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { HistoryItem, ModelAnswer, ModelCall } from "../schemas/model.ts";
import { planStages, type StagePlan } from "./batch.ts";
import { isBounded } from "./budget.ts";
import { type Doubt, doubtOf, doubtsIn, doubtsWith } from "./doubt.ts";
import type { InvocationEvent, InvocationInput } from "./invocation_context.ts";
import { catalogOf, entryNamed, entryOf, refOf } from "./library.ts";
import { withGrant } from "./policy/grant.ts";
import { requestKey } from "./policy/refusal.ts";
import { stuckHint } from "./stuck.ts";
import { settlement } from "./turn_budget.ts";
import type { TurnContext, TurnEvent, TurnResult } from "./turn_context.ts";
import { endingOf, givenResult } from "./turn_ending.ts";

/** The answer inside a `model.generate` outcome; its performer parsed it. */
export function answerOf(done: PortDone): ModelAnswer {
  return done.value as unknown as ModelAnswer;
}

/** The ordinal of call `index` of a step: `call/<step>.<index>` (K6). */
export function ordinalOf(step: number, index: number): string {
  return `call/${step}.${index}`;
}

/** What the turn is bound to from its first crank on: the journal's record of the freeze (CM-48, CM-129). */
export function boundNote(context: TurnContext): Outgoing {
  const { catalog, turn, profile, given, input } = context;
  const entries = catalogOf(catalog.hash)?.entries ?? [];
  const overrides = entries.filter(({ bindingReason }) => bindingReason !== undefined)
    .map(({ canonicalName: tool, implementation = "", bindingReason: reason = "" }) => ({
      tool,
      implementation,
      reason,
    }));
  const body: JsonObject = {
    execution: `turn/${turn}`,
    ...(input === undefined ? {} : { input }),
    catalog: catalog.hash,
    tools: entries.filter(({ enabled }) => enabled).length,
    ...(profile === undefined ? {} : { profile }),
    ...(given === undefined ? {} : { call: given.tool }),
    ...(overrides.length === 0 ? {} : { overrides }),
  };
  return { kind: "note", type: "tools.bound", body };
}

/** The call that a host makes, as the one call of a turn without a model. */
export function givenCalls({ given }: TurnContext): readonly ModelCall[] {
  if (given === undefined) return [];
  const { tool, arguments: call, hadSecret } = given;
  if (hadSecret === undefined) return [{ callId: "", name: tool, arguments: call }];
  // Nobody keeps what a host wrote: without its secret the call would say another thing, so it is refused.
  return [{ callId: "", name: tool, argumentsText: canonicalJson(call), hadSecret }];
}

/** The entry that a call means: what a model calls by its provider name; a host may also say the full name. */
function entryFor({ catalog: { hash }, given }: TurnContext, name: string): CatalogEntry | undefined {
  const full = given === undefined ? undefined : entryOf({ catalog: hash, name });
  return full ?? entryNamed(hash, name);
}

/**
 * Positions of calls that say again, under the same id of the same answer, what an earlier one said: by its id a call is
 * made once (CM-35, CM-57). Ids of other answers mean other calls: some providers count anew in every answer.
 */
export function repeatsOf(calls: readonly ModelCall[]): ReadonlyMap<number, number> {
  if (new Set(calls.map(({ callId }) => callId)).size === calls.length) return new Map();
  const first = new Map<string, number>();
  const repeats = new Map<number, number>();
  for (const [index, { callId, name, arguments: given, argumentsText }] of calls.entries()) {
    if (callId === "") continue;
    const key = canonicalJson([callId, name, given ?? null, argumentsText ?? null]);
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, index);
    else repeats.set(index, earlier);
  }
  return repeats;
}

/** Adjacent parallel-safe calls form a stage, others stand alone (CM-88). A name without an entry is never safe. */
export function plan(context: TurnContext): StagePlan {
  const repeats = repeatsOf(context.calls);
  const calls = context.calls.map((call, index) => ({
    ordinal: ordinalOf(context.step, index),
    parallelSafe: entryFor(context, call.name)?.definition.parallelSafe ?? false,
    repeatOf: repeats.get(index),
  }));
  return planStages(calls, { turn: context.turn, round: context.step });
}

/** The journaled plan: every invocation is in the journal before one of its stage starts (CM-94). */
export function planNote(context: TurnContext): Outgoing {
  return { kind: "note", type: "turn.planned", body: context.plan as unknown as Json };
}

/** True if another stage waits and nobody asked to stop. */
export function hasNextStage(context: TurnContext): boolean {
  return !context.cancelAsked && context.stage + 1 < (context.plan?.stages.length ?? 0);
}

function requestOf(context: TurnContext, call: ModelCall, ordinal: string): InvocationRequest {
  const entry = entryFor(context, call.name);
  const earlier = entry === undefined ? undefined : context.bound?.[entry.canonicalName] ?? 0;
  return {
    ordinal,
    callId: call.callId,
    name: call.name,
    ...(entry === undefined ? {} : { entry: refOf(context.catalog.hash, entry) }),
    ...(call.arguments === undefined ? {} : { arguments: call.arguments }),
    ...(call.argumentsText === undefined ? {} : { argumentsText: call.argumentsText }),
    ...(call.hadSecret === undefined ? {} : { hadSecret: call.hadSecret }),
    origin: context.given === undefined ? "model" : "host",
    scope: scopeOf(context),
    ...(earlier === undefined ? {} : { bindingAttempt: earlier + 1 }),
  };
}

function scopeOf({ turn, catalog, given, principal }: TurnContext): CallScope {
  if (given === undefined) return { turn: { number: turn, catalog: catalog.hash } };
  return principal === undefined ? {} : { principal };
}

/** How often each tool was called in this turn, with the calls of the stage that starts (CM-58). */
export function boundWith(
  bound: TurnContext["bound"],
  requests: readonly InvocationRequest[],
): NonNullable<TurnContext["bound"]> {
  const counts = { ...bound };
  for (const { entry } of requests) {
    if (entry !== undefined) counts[entry.name] = (counts[entry.name] ?? 0) + 1;
  }
  return counts;
}

/** The requests of the stage that is about to start, in the model's order. */
export function stageRequests(context: TurnContext): readonly InvocationRequest[] {
  const members = context.plan?.stages[context.stage]?.members ?? [];
  const wanted = new Set(members.map((member) => member.ordinal));
  let bound = context.bound ?? {};
  return context.calls.flatMap((call, index) => {
    const ordinal = ordinalOf(context.step, index);
    if (!wanted.has(ordinal)) return [];
    const request = requestOf({ ...context, bound }, call, ordinal);
    bound = boundWith(bound, [request]);
    return [request];
  });
}

/**
 * The merge of what a stage's calls changed of the session's state: their outcomes, in the model's order whatever the
 * order in which they ended (LC-19). One note, or none if nothing was changed. The state itself is in no machine.
 */
export function stateNotes({ plan, stage, results }: TurnContext): readonly Outgoing[] {
  const byOrdinal = new Map(results.map((result) => [result.ordinal, result]));
  const outcomes = (plan?.stages[stage]?.members ?? []).flatMap(({ ordinal }) => {
    const result = byOrdinal.get(ordinal);
    return result?.changesState === true && result.outcomeOf !== undefined ? [result.outcomeOf] : [];
  });
  return outcomes.length === 0 ? [] : [{ kind: "note", type: "state.merged", body: { outcomes } }];
}

/** What an invocation is given. */
export function invocationInput(context: TurnContext, request: InvocationRequest): InvocationInput {
  const { capabilities, mode, grants, at, epoch = 0, ledger } = context;
  return {
    request,
    capabilities,
    mode,
    grants,
    at,
    epoch,
    ...(ledger !== undefined && isBounded(ledger) && { ledger }),
    ...(wasRefused(context, request) && { wasRefused: true }),
    ...doubtOf(context, request),
  };
}

/** The name under which a call of the step at hand was made. */
export function callNamed(context: TurnContext, ordinal: string): string {
  return callOf(context, ordinal)?.name ?? "";
}

function callOf({ calls, opened = [], step }: TurnContext, ordinal: string): ModelCall | undefined {
  return [...calls, ...opened].find((_call, index) => ordinalOf(step, index) === ordinal);
}

/** True if a person refused the same call of the same tool before: in whatever step, by whatever model it is made again. */
function wasRefused({ refused }: TurnContext, request: InvocationRequest): boolean {
  if (refused.length === 0) return false;
  const key = requestKey(request);
  return key !== undefined && refused.includes(key);
}

function keyOfCall(context: TurnContext, ordinal: string): string | undefined {
  const call = callOf(context, ordinal);
  return call === undefined ? undefined : requestKey(requestOf(context, call, ordinal));
}

/** The calls of the session whose outcome nobody knows, with the one that ended so (R10). */
export function doubtsAfter(context: TurnContext, result: InvocationResult): readonly Doubt[] {
  return doubtsWith(context, result, keyOfCall(context, result.ordinal));
}

/** The calls that a person refused in this turn, with the one that ended so. */
export function refusedWith(
  context: TurnContext,
  { ordinal, failure: why }: InvocationResult,
): readonly string[] {
  if (why?.code !== "approval_denied") return context.refused;
  const key = keyOfCall(context, ordinal);
  return key === undefined || context.refused.includes(key) ? context.refused : [...context.refused, key];
}

/** What the model is told of a step, in the order in which it made its calls (CM-91). `refusals`: of the turn so far. */
export function history(context: TurnContext, refusals = 0): readonly HistoryItem[] {
  const byOrdinal = new Map(context.results.map((result) => [result.ordinal, result]));
  const repeats = repeatsOf(context.calls);
  const hint = refusals < limits.refusalsStuck ? "" : stuckHint(refusals);
  return context.calls.flatMap((_call, index) => {
    const result = byOrdinal.get(ordinalOf(context.step, repeats.get(index) ?? index));
    return result === undefined
      ? []
      : [historyItem(context, result, result.outcome === "denied" ? hint : "")];
  });
}

function historyItem({ turn }: TurnContext, result: InvocationResult, hint: string): HistoryItem {
  const { callId, name, outcomeOf } = result;
  if (outcomeOf !== undefined) return { type: "result", callId, name, outcome: outcomeOf };
  const code = result.failure === undefined ? {} : { code: result.failure.code };
  return { type: "refusal", callId, name, text: `${wordsFor(result, turn)}${hint}`, ...code };
}

/** What the model is told in words of a call that yielded no result (R9). */
function wordsFor(result: InvocationResult, turn: number): string {
  if (result.outcome === "succeeded") {
    return "It was found out that this call was applied; its result was lost";
  }
  if (result.outcome === "unknown") {
    const call = `turn/${turn}/${result.ordinal}`;
    return `The outcome of this call is unknown. Do not repeat it (outcome: unknown, call: ${call})`;
  }
  const said = result.failure?.message ?? "The call was not made";
  return `${result.outcome}: ${said}`;
}

/** The event by which an invocation learns a decision. */
export function decisionEvent(event: TurnEvent): InvocationEvent {
  if (event.type !== "turn.decided") throw new Error(`Cannot forward "${event.type}" as a decision`);
  const { decision, via, content, at, epoch } = event;
  const filled = content === undefined ? {} : { content };
  return { type: "question.decided", decision, via, ...filled, at, epoch };
}

/** The turn's grants, with what an answer added, or without what was revoked. */
export function grantsAfter(grants: readonly KeptGrant[], event: TurnEvent): readonly KeptGrant[] {
  if (event.type === "turn.revoked") return event.grants;
  if (event.type !== "turn.decided" || event.grant === undefined) return grants;
  return withGrant(grants, event.grant);
}

/** Too many rounds (CM-93). */
export function roundLimit(roundsMax: number): Failure {
  return failure(
    "provider_round_limit_exceeded",
    `The turn reached ${roundsMax} model rounds: raise limits.rounds_per_turn or split the task`,
  );
}

/** A turn that somebody stopped. */
export function canceled(): Failure {
  return failure("turn_canceled", "The turn was canceled");
}

/** How the turn ended. `outcome` is the output of the final state reached. */
export function turnResult(context: TurnContext, outcome: unknown): TurnResult {
  const { ledger, text, answer } = settlement(context);
  return {
    turn: context.turn,
    at: context.at,
    ...endingOf(context, outcome),
    steps: context.given === undefined ? (context.asked ?? context.step) + 1 : 0,
    text,
    answer,
    ledger,
    ...givenResult(context),
    ...((context.notices ?? []).length === 0 ? {} : { notices: context.notices }),
    ...((context.told ?? []).length === 0 ? {} : { told: context.told }),
    ...doubtsIn(context),
  };
}
