/**
 * The rounds of one call (CM-34): its server wants something first, a person is asked, one request after the other, and
 * the call goes on with the answers. Where nobody needs to be asked, or nobody wants the call any more, nobody is.
 */
import type {
  CallPause,
  CallRound,
  InputRequired,
  RequestAnswer,
  ServerRequest,
} from "../schemas/call_pause.ts";
import type { PortDone, PortFailed } from "../schemas/effect.ts";
import type { IntentId } from "../schemas/ids.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { QuestionSubject } from "../schemas/question.ts";
import { fillForm } from "./form.ts";
import type { Opening } from "./inquiry.ts";
import type { InvocationContext, InvocationEvent } from "./invocation_context.ts";
import { entryIn, momentOf, toolCall } from "./invocation_rules.ts";

/** What is remembered of a call that a server holds up: what it wants, and what of that is answered. */
export interface Pause {
  readonly wants: InputRequired;
  /** Those of the requests that are answered, in their order. */
  readonly answers: readonly RequestAnswer[];
  /** The effect that yielded it. */
  readonly intent: IntentId;
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

/** True if a server wants something, and no person needs to be asked for it: all of it is settled by rule. */
export function isSettledAtOnce(context: InvocationContext, done: PortDone): boolean {
  return isAsked(done) && isComplete(paused(context, done).changes.pause);
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

/** True if the answer at hand is the last one that its round needs. */
export function isLastAnswer(context: InvocationContext, event: InvocationEvent): boolean {
  return isComplete(answered(context, event).changes.pause);
}

/** A person answered, or nobody did; requests that need no person follow at once. */
export function answered(context: InvocationContext, event: InvocationEvent): RoundStep {
  const { pause } = context;
  const request = pause?.wants.requests[pause.answers.length];
  if (pause === undefined || pause === null || request === undefined || event.type !== "question.decided") {
    throw new Error("Cannot answer a request of a server: none is open");
  }
  const word = wordOf(event);
  const content = event.content === undefined ? {} : { content: event.content };
  const first = settle(context, pause, { request, ...word, ...content });
  const rest = withoutPeople({ ...context, ...first.changes });
  return {
    changes: { ...first.changes, ...rest.changes, ...momentOf(event) },
    notes: [...first.notes, ...rest.notes],
  };
}

/** Nobody wants the call any more: its server is told so, for all that it still waits for. */
export function givenUp(context: InvocationContext): RoundStep {
  return withoutPeople(context, canceledWord);
}

/** The effect of the round at hand. */
export function roundCall(context: InvocationContext): ReturnType<typeof toolCall> {
  const call = toolCall(context);
  return call.port === "mcp.call" ? { ...call, args: { ...call.args, ...roundOf(context) } } : call;
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

/** What a person is asked: which server asks, in its own words, and what may be filled in. */
export function requestInquiry(context: InvocationContext): Opening {
  const { pause, request: { ordinal }, at, epoch } = context;
  const wanted = pause?.wants.requests[pause.answers.length];
  if (pause === undefined || pause === null || wanted === undefined || wanted.kind === "refused") {
    throw new Error("Cannot ask a person for a server: no request is open");
  }
  const { server, how } = pause.wants;
  const entry = entryIn(context);
  const subject: QuestionSubject = {
    kind: "elicitation",
    invocation: ordinal,
    tool: entry.canonicalName,
    title: entry.definition.title.slice(0, 200),
    risk: entry.definition.riskLevel,
    reason: `the server "${server}" asks during this call; what you answer is sent to it`,
    preview: wanted.message,
    rule: "",
    elicitation: {
      server,
      ...(wanted.kind === "form" ? { fields: wanted.fields } : { url: wanted.url }),
      ...(how === "held" ? { held: context.firstIntent ?? pause.intent } : {}),
    },
  };
  return {
    type: "question.open",
    ordinal,
    at,
    epoch,
    subject,
    whole: null,
    scope: null,
    twin: "",
    entry: null,
  };
}

function isComplete(pause: Pause | null | undefined): boolean {
  return pause !== undefined && pause !== null && pause.answers.length >= pause.wants.requests.length;
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
    const settled = all === undefined ? byRule(request) : { request, ...all };
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
}

/** The answer that needs no person: what must not be asked, and what the host lets be answered by defaults. */
function byRule(request: ServerRequest): Settled | undefined {
  if (request.kind === "refused") return { request, action: "decline", via: request.why.code };
  if (request.kind !== "form" || request.gate !== "auto") return undefined;
  const filled = fillForm(request.fields, {});
  return "content" in filled
    ? { request, action: "accept", via: "policy", content: filled.content }
    : undefined;
}

function settle(context: InvocationContext, pause: Pause, settled: Settled): RoundStep {
  const { request, action, via, content } = settled;
  const answer: RequestAnswer = {
    key: request.key,
    action,
    ...(action === "accept" && content !== undefined ? { content } : {}),
  };
  const { server } = pause.wants;
  const isHeard = via === "answered" || via === "policy" || via === "canceled";
  const unheard = context.unheard ?? [];
  const most = limits.mcpRequestsAtOnceMax * limits.mcpRoundsMax;
  return {
    changes: {
      pause: { ...pause, answers: [...pause.answers, answer] },
      ...(isHeard || unheard.length >= most ? {} : { unheard: [...unheard, toldOf(settled, server)] }),
    },
    notes: [{
      kind: "note",
      type: "elicitation.answered",
      body: {
        ordinal: context.request.ordinal,
        server,
        key: request.key,
        kind: request.kind,
        round: context.round ?? 1,
        action,
        via,
      },
    }],
  };
}

/** Why no person answered, for the model, which may have waited for an answer. */
function toldOf({ request, action, via }: Settled, server: string): string {
  const why = request.kind === "refused" ? request.why.message : reasons[via] ?? `the question was ${via}`;
  const words = `The server "${server}" wanted an answer of a person, and got "${action}": ${why}`;
  return words.slice(0, limits.mcpRequestToldCharactersMax);
}

const reasons: { readonly [via: string]: string } = {
  unavailable: "nobody is there to be asked",
  expired: "nobody answered in time",
  withdrawn: "nobody waited for the answer any more",
  limited: "too many questions were asked in a short time",
};
