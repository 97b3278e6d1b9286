/**
 * The rounds of one call (CM-34): its server, or the tool itself, wants something first, a person is asked, one request
 * after the other, and the call goes on with the answers. Where nobody needs to be asked, or nobody wants the call any
 * more, nobody is.
 */
import type {
  CallPause,
  CallRound,
  InputRequired,
  RequestAnswer,
  Sample,
  ServerRequest,
} from "../schemas/call_pause.ts";
import type { PortDone, PortFailed, PortRequestOf } from "../schemas/effect.ts";
import type { IntentId } from "../schemas/ids.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import { fillForm } from "./form.ts";
import type { InvocationContext, InvocationEvent } from "./invocation_context.ts";
import { momentOf, toolCall } from "./invocation_rules.ts";
import { doneOf, failedOf } from "./port.ts";
import { answeredNote, toldOf } from "./round_told.ts";
import { sampleRefusal, sampleTokens, told, withSample } from "./sample_budget.ts";

/** What is remembered of a call that a server holds up: what it wants, and what of that is answered. */
export interface Pause {
  readonly wants: InputRequired;
  /** Those of the requests that are answered, in their order. */
  readonly answers: readonly RequestAnswer[];
  /** The effect that yielded it. */
  readonly intent: IntentId;
  /** True if a person let the model answer the request at hand. */
  readonly mayUseModel?: boolean;
}

/** What the machine changes in one step, and what the journal says of it. */
export interface RoundStep {
  readonly changes: Partial<InvocationContext>;
  readonly notes: readonly Outgoing[];
}

/** Why a call that was called has not ended; undefined if it has. */
export function pauseIn({ value }: PortDone): CallPause | undefined {
  return (Object(value) as { readonly pause?: CallPause }).pause;
}

/** True if a server wants something first. */
export function isAsked(done: PortDone): boolean {
  return pauseIn(done)?.type === "input_required";
}

/** True if everything that a server wants is answered: the next round may begin. */
export function isAnswered({ pause }: InvocationContext): boolean {
  return pause !== undefined && pause !== null && pause.answers.length >= pause.wants.requests.length;
}

/** True if the model is to answer next: policy lets it, or a person just did. */
export function wantsModel({ pause }: InvocationContext): boolean {
  const request = openRequestOf(pause);
  return request?.kind === "sampling" && (request.gate === "auto" || pause?.mayUseModel === true);
}

/** The pause that a call is in from now on, as far as no person is needed. */
export function paused(context: InvocationContext, done: PortDone): RoundStep {
  const wants = pauseIn(done) as InputRequired;
  const round = (context.round ?? 0) + 1;
  const begun = { ...context, round, pause: { wants, answers: [], intent: done.intent } };
  const { changes, notes } = withoutPeople(begun, context.cancelAsked ? canceledWord : undefined);
  return {
    changes: {
      ...momentOf(done),
      round,
      ...changes,
      failure: null,
      firstIntent: context.firstIntent ?? done.intent,
    },
    notes,
  };
}

/** A person answered, or nobody did; requests that need no person follow at once. */
export function answered(context: InvocationContext, event: InvocationEvent): RoundStep {
  const request = requestIn(context);
  if (event.type !== "question.decided") throw new Error(`Cannot take "${event.type}" for an answer`);
  const moment = momentOf(event);
  if (request.kind === "sampling" && event.decision === "allow") {
    return { changes: { ...moment, pause: { ...pauseOf(context), mayUseModel: true } }, notes: [] };
  }
  const content = event.content === undefined ? {} : { content: event.content };
  return withMore(context, { request, ...wordOf(event), ...content }, moment);
}

/** The model answered a server; if it did not, the server is told no, and the model that called it is told why. */
export function sampled(context: InvocationContext, event: object): RoundStep {
  const request = requestIn(context);
  if ("error" in event) {
    const { failure: { code }, ...moment } = failedOf(event);
    return counted(context, { request, action: "decline", via: code }, momentOf(moment));
  }
  const done = doneOf(event);
  const sample = done.value as Sample;
  return counted(context, { request, action: "accept", via: "model", sample }, momentOf(done));
}

/** The model was asked once more, whatever it said. */
function counted(
  context: InvocationContext,
  settled: Settled,
  moment: Partial<InvocationContext>,
): RoundStep {
  const counts = { samples: (context.samples ?? 0) + 1, spent: withSample(context, settled.sample) };
  const step = withMore({ ...context, ...counts }, settled, moment);
  return { ...step, changes: { ...counts, ...step.changes } };
}

function requestIn({ pause }: InvocationContext): ServerRequest {
  const request = openRequestOf(pause);
  if (request === undefined) throw new Error("Cannot answer a request of a server: none is open");
  return request;
}

/** What the model is asked in the name of a server: its texts alone. */
export function sampleCall(context: InvocationContext): PortRequestOf<"model.sample"> {
  const request = openRequestOf(context.pause);
  if (request?.kind !== "sampling") {
    throw new Error("Cannot ask the model for a server: no such request is open");
  }
  const { system, messages, maxOutputTokens } = request;
  const { server } = pauseOf(context).wants;
  if (server === undefined) throw new Error("Cannot ask the model for a server: no server asks");
  const args = {
    server,
    call: context.request.ordinal,
    ...(system === undefined ? {} : { system }),
    messages: [...messages],
    maxOutputTokens: sampleTokens(context, maxOutputTokens),
  };
  const deadlineAtMs = context.at + limits.modelCallDurationMs;
  return { port: "model.sample", effect: "idempotent", args, deadlineAtMs };
}

/** One request is settled, and all that follow it and need nobody. */
function withMore(
  context: InvocationContext,
  settled: Settled,
  moment: Partial<InvocationContext>,
): RoundStep {
  const first = settle(context, pauseOf(context), settled);
  const rest = withoutPeople({ ...context, ...first.changes });
  return {
    changes: { ...first.changes, ...rest.changes, ...moment },
    notes: [...first.notes, ...rest.notes],
  };
}

/** The request that waits for its answer. */
export function openRequestOf(pause: Pause | null | undefined): ServerRequest | undefined {
  return pause?.wants.requests[pause.answers.length];
}

function pauseOf({ pause }: InvocationContext): Pause {
  if (pause === undefined || pause === null) throw new Error("Cannot go on with a round: the call has none");
  return pause;
}

/** Nobody wants the call any more: its server is told so, for all that it still waits for. */
export function givenUp(context: InvocationContext): RoundStep {
  return withoutPeople(context, canceledWord);
}

/** The effect of the round at hand. */
export function roundCall(context: InvocationContext): ReturnType<typeof toolCall> {
  const call = toolCall(context);
  const round = roundOf(context);
  return call.port === "mcp.call"
    ? { ...call, args: { ...call.args, ...round } }
    : { ...call, args: { ...call.args, ...round } };
}

/** Does what a step of rounds says. */
export function act(enqueue: Queue, { changes, notes }: RoundStep): void {
  for (const params of notes) enqueue({ type: "post", params });
  enqueue.assign(changes);
}

/** What a step of rounds needs of a machine's queue of actions. */
interface Queue {
  (action: { readonly type: "post"; readonly params: Outgoing }): void;
  assign(changes: Partial<InvocationContext>): void;
}

function roundOf(
  { pause, round, cancelAsked, unheard = [] }: InvocationContext,
): { readonly round?: CallRound } {
  if (pause === undefined || pause === null || round === undefined) return {};
  const { how, state } = pause.wants;
  return {
    round: {
      round: Math.min(round, limits.mcpRoundsMax),
      how,
      ...(state === undefined ? {} : { state }),
      answers: [...pause.answers],
      ...(cancelAsked ? { isLast: true as const } : {}),
      ...(unheard.length === 0 ? {} : { told: [...unheard] }),
    },
  };
}

/**
 * What is left of the rounds for another attempt. What a server wants back is sent to it once more; a call that it held
 * open, or let wait for a page, is begun anew.
 */
export function roundsForAttempt({ pause }: InvocationContext): Partial<InvocationContext> {
  return pause?.wants.how === "retry" ? {} : { pause: null, round: 0 };
}

/** True if a call ended without a result after its server was told that nobody wants it any more. */
export function hasLeft({ cancelAsked, pause }: InvocationContext, { status }: PortFailed): boolean {
  return cancelAsked && pause !== undefined && pause !== null &&
    (status === "failed" || status === "timed_out");
}

/** How an answer came about. */
interface Word {
  readonly action: RequestAnswer["action"];
  readonly via: string;
}

const canceledWord: Word = { action: "cancel", via: "canceled" };

function wordOf(event: Extract<InvocationEvent, { readonly type: "question.decided" }>): Word {
  const { decision, via } = event;
  const action = decision === "accept" ? "accept" : decision === "decline" ? "decline" : "cancel";
  return { action, via };
}

/** Answers requests from the first open one on, as long as no person is needed, or all of them by one word. */
function withoutPeople(context: InvocationContext, all?: Word): RoundStep {
  let step: RoundStep = { changes: {}, notes: [] };
  let pause = context.pause;
  while (pause !== undefined && pause !== null) {
    const request = pause.wants.requests[pause.answers.length];
    if (request === undefined) break;
    const settled = all === undefined ? byRule(request, context) : { request, ...all };
    if (settled === undefined) break;
    const next = settle({ ...context, ...step.changes }, pause, settled);
    step = { changes: { ...step.changes, ...next.changes }, notes: [...step.notes, ...next.notes] };
    pause = next.changes.pause;
  }
  return { ...step, changes: { pause: pause ?? null, ...step.changes } };
}

interface Settled extends Word {
  readonly request: ServerRequest;
  readonly content?: RequestAnswer["content"];
  readonly sample?: Sample;
}

/** The answer that needs no person: what must not be asked, and what the host lets be answered by defaults. */
function byRule(request: ServerRequest, context: InvocationContext): Settled | undefined {
  const spent = request.kind === "sampling" ? sampleRefusal(context, request.timesMax) : undefined;
  if (spent !== undefined) return { request, action: "decline", via: spent };
  if (request.kind === "refused") return { request, action: "decline", via: request.why.code };
  if (request.kind !== "form" || request.gate !== "auto") return undefined;
  const filled = fillForm(request.fields, {});
  return "content" in filled
    ? { request, action: "accept", via: "policy", content: filled.content }
    : undefined;
}

function settle(context: InvocationContext, pause: Pause, settled: Settled): RoundStep {
  const { request, action, via, content, sample } = settled;
  const answer: RequestAnswer = {
    key: request.key,
    action,
    ...(action === "accept" && content !== undefined ? { content } : {}),
    ...(sample === undefined ? {} : { sample: told(sample) }),
  };
  const { server } = pause.wants;
  const isHeard = ["answered", "policy", "canceled", "model"].includes(via);
  const unheard = context.unheard ?? [];
  const most = limits.mcpRequestsAtOnceMax * limits.mcpRoundsMax;
  return {
    changes: {
      pause: { wants: pause.wants, answers: [...pause.answers, answer], intent: pause.intent },
      ...(via === "unavailable" || via === "expired"
        ? { unasked: server === undefined ? "tool" : "server" }
        : {}),
      ...(isHeard || unheard.length >= most ? {} : { unheard: [...unheard, toldOf(settled, server)] }),
    },
    notes: [answeredNote(context, settled, server)],
  };
}
