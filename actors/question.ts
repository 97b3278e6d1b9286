/**
 * One question to a person, until it is answered, nobody answers it, or nobody needs the answer.
 *
 *   pending -> answered | expired | withdrawn; pending (uncertain only) -> waiting -> pending
 *
 * Silence never permits anything: an approval that nobody gives in time is a denial (DM-34), and a question about an
 * uncertain outcome is asked again with a new deadline, since no answer to it is harmless.
 */
import { assign, setup } from "xstate";
import type { PortRequestOf } from "../schemas/effect.ts";
import type { FormContent } from "../schemas/form.ts";
import { limits } from "../schemas/limits.ts";
import type { Principal } from "../schemas/principal.ts";
import { Answer, type Decision, offeredBy, type QuestionSubject } from "../schemas/question.ts";
import { doneOf, failedOf, port } from "./port.ts";

/** What a session gives to a question. `openMs` is how long it stays open, in milliseconds from `at`. */
export interface QuestionInput {
  readonly subject: QuestionSubject;
  /** Everything of which the subject shows a part; absent if it shows all. */
  readonly whole?: string;
  readonly openMs: number;
  readonly at: number;
}

/** What a question is told. */
export interface QuestionEvent {
  readonly type: "question.withdraw";
  readonly at: number;
}

/** How a question ended. `unavailable`: nobody is there to be asked, or the question could not be shown. */
export type QuestionEnd = "answered" | "expired" | "unavailable" | "withdrawn";

/** What a question remembers. `at` is the time of the latest event; `asked` counts how often it was asked. */
export interface QuestionContext extends QuestionInput {
  readonly asked: number;
  readonly decision: Decision;
  readonly by: Principal | null;
  readonly via: QuestionEnd;
  /** What was filled in, if a server asked. */
  readonly content?: FormContent;
  /** The runtime that the end came to; questions of earlier releases know none. */
  readonly epoch?: number;
}

/** What a session learns. `by` is set if somebody answered. */
export interface QuestionResult {
  readonly invocation: string;
  readonly decision: Decision;
  readonly by?: Principal;
  readonly via: QuestionEnd;
  readonly content?: FormContent;
  readonly at: number;
  readonly epoch: number;
}

/** Without an answer: a denial, the operator's giving up, which only a withdrawal can bring about, or nothing said. */
function unanswered(subject: QuestionSubject): Decision {
  if (subject.kind === "elicitation") return "cancel";
  return subject.kind === "uncertain" ? "abandon" : "deny";
}

/** The answer, if it is one of those that the question offers. */
function answerIn(context: QuestionContext, event: unknown): Answer | undefined {
  const answer = Answer.safeParse(doneOf(event).value).data;
  return answer !== undefined && offeredBy(context.subject).includes(answer.decision) ? answer : undefined;
}

/** A program answers for people only to say that nobody is there: what a server is told then is no person's word. */
function viaOf({ subject: { kind } }: QuestionContext, answer: Answer | undefined): QuestionEnd {
  const isOfServer = kind === "elicitation" || kind === "sampling";
  return isOfServer && answer?.by.kind === "program" ? "unavailable" : "answered";
}

function contentOf(answer: Answer | undefined): Pick<QuestionContext, "content"> {
  return answer?.content === undefined ? {} : { content: answer.content };
}

function ask({ subject, whole, at, openMs }: QuestionContext): PortRequestOf<"question.ask"> {
  const args = { subject, ...(whole === undefined ? {} : { whole }) };
  return { port: "question.ask", effect: "idempotent", args, deadlineAtMs: at + openMs };
}

function wait({ subject, at, openMs }: QuestionContext): PortRequestOf<"timer.set"> {
  const label = `ask again: ${subject.invocation}`.slice(0, 100);
  return { port: "timer.set", effect: "idempotent", args: { dueAtMs: at + openMs, jitterMs: 0, label } };
}

/** The behaviour of one question. Stops at 1,000 microsteps (K8). */
export const questionMachine = setup({
  types: {
    context: {} as QuestionContext,
    events: {} as QuestionEvent,
    input: {} as QuestionInput,
    output: {} as QuestionResult,
    tags: "" as "rest",
  },
  actors: { port },
  guards: {
    isUncertain: ({ context }) => context.subject.kind === "uncertain",
    isOffered: ({ context, event }) => answerIn(context, event) !== undefined,
    isUncertainTimedOut: ({ context, event }) =>
      context.subject.kind === "uncertain" && failedOf(event).status === "timed_out",
  },
  actions: {
    noteAnswer: assign(({ context, event }) => ({
      at: doneOf(event).at,
      epoch: doneOf(event).epoch,
      decision: answerIn(context, event)?.decision ?? unanswered(context.subject),
      by: answerIn(context, event)?.by ?? null,
      via: viaOf(context, answerIn(context, event)),
      ...contentOf(answerIn(context, event)),
    })),
    /** DM-34: any other value is a denial, whoever gave it. */
    noteOtherAnswer: assign(({ context, event }) => ({
      at: doneOf(event).at,
      epoch: doneOf(event).epoch,
      decision: unanswered(context.subject),
      by: Answer.safeParse(doneOf(event).value).data?.by ?? null,
      via: viaOf(context, Answer.safeParse(doneOf(event).value).data),
    })),
    noteFailure: assign(({ event }) => ({
      at: failedOf(event).at,
      epoch: failedOf(event).epoch,
      via: failedOf(event).status === "timed_out" ? "expired" as const : "unavailable" as const,
    })),
    noteWithdrawal: assign(({ event }) => ({ at: event.at, via: "withdrawn" as const })),
    noteTime: assign(({ event }) => ({ at: doneOf(event).at })),
    askAgain: assign(({ context }) => ({ asked: context.asked + 1 })),
  },
}).createMachine({
  id: "question",
  initial: "pending",
  options: { maxIterations: limits.machineIterationsMax },
  context: ({ input }) => ({
    ...input,
    asked: 1,
    decision: unanswered(input.subject),
    by: null,
    via: "withdrawn",
  }),
  output: ({ context }) => ({
    invocation: context.subject.invocation,
    decision: context.decision,
    ...(context.by === null ? {} : { by: context.by }),
    via: context.via,
    ...(context.content === undefined ? {} : { content: context.content }),
    at: context.at,
    epoch: context.epoch ?? 0,
  }),
  // An idempotent port may be dropped (K11): a withdrawn question is no longer shown.
  on: { "question.withdraw": { target: ".withdrawn", actions: "noteWithdrawal" } },
  states: {
    pending: {
      tags: "rest",
      invoke: {
        id: "ask",
        src: "port",
        input: ({ context }) => ask(context),
        onDone: [
          { guard: "isOffered", target: "answered", actions: "noteAnswer" },
          { guard: "isUncertain", target: "pending", reenter: true, actions: ["noteTime", "askAgain"] },
          { target: "answered", actions: "noteOtherAnswer" },
        ],
        onError: [
          {
            guard: "isUncertainTimedOut",
            target: "pending",
            reenter: true,
            actions: ["noteFailure", "askAgain"],
          },
          // Nobody there: asking again at once would spin.
          { guard: "isUncertain", target: "waiting", actions: "noteFailure" },
          { target: "expired", actions: "noteFailure" },
        ],
      },
    },
    waiting: {
      tags: "rest",
      invoke: {
        id: "timer",
        src: "port",
        input: ({ context }) => wait(context),
        onDone: { target: "pending", actions: ["noteTime", "askAgain"] },
        onError: { target: "pending", actions: ["noteFailure", "askAgain"] },
      },
    },
    answered: { type: "final" },
    expired: { type: "final" },
    withdrawn: { type: "final" },
  },
});
