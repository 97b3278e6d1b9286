/**
 * One tool call, from proposal to outcome.
 *
 *   proposed -> validating -> (reviewing) -> authorizing -> (awaitingApproval) -> binding -> running
 *   running -> one final state per outcome
 *   running -> backingOff -> running; running -> uncertain -> verifying | needsOperator | backingOff
 *   running | backingOff -> needsOperator where an earlier attempt is in doubt
 *   running -> replying -> (asking | sampling -> replying ->) binding -> running: its server wants something first,
 *     of a person or of the model, which is a round of the same attempt
 *   running -> awaitingTask, which ends as running does, where the server carries the call out as a task
 *
 * Keeps I5: `running` is reached only through `validating` and `authorizing`, and, where a person is asked, through
 * a granted `awaitingApproval`. Keeps K11: `running` is left only by the port's own outcome. Once an attempt may have
 * been applied, no later attempt's failure ends the call: only a success, a look-up or an operator does.
 */
import { assign, enqueueActions, sendParent, sendTo, setup } from "xstate";
import { limits } from "../schemas/limits.ts";
import { approvalInquiry, uncertainInquiry } from "./inquiry.ts";
import type {
  InvocationContext,
  InvocationEnding,
  InvocationEvent,
  InvocationInput,
} from "./invocation_context.ts";
import { post } from "./outbox.ts";
import { doneOf, failedOf, port } from "./port.ts";
import { decide } from "./decision.ts";
import { needsReview, reviewCall, reviewFailed, reviewIn } from "./invocation_review.ts";
import * as rounds from "./invocation_rounds.ts";
import { requestInquiry } from "./round_inquiry.ts";
import { roundStates } from "./round_states.ts";
import * as rules from "./invocation_rules.ts";
import * as tasks from "./invocation_task.ts";
import { taskStates } from "./task_states.ts";

/** The behaviour of one tool call. Stops at 1,000 microsteps (K8). */
export const invocationMachine = setup({
  types: {
    context: {} as InvocationContext,
    events: {} as InvocationEvent,
    input: {} as InvocationInput,
    output: {} as InvocationEnding,
  },
  actors: { port },
  guards: {
    isUnknownTool: ({ context }) => rules.entryOfRequest(context.request) === undefined,
    hasFailure: ({ context }) => context.failure !== null,
    needsReview: ({ context }) => needsReview(context),
    isDenied: ({ context }) => context.verdict === "deny",
    needsApproval: ({ context }) => context.verdict === "ask",
    isGranted: ({ event }) =>
      event.type === "question.decided" &&
      (event.decision === "allow" || event.decision === "always_allow_for_session"),
    isAsked: ({ event }) => rounds.isAsked(doneOf(event)),
    isRoundAnswered: ({ context }) => rounds.isAnswered(context),
    wantsModel: ({ context }) => rounds.wantsModel(context),
    isTask: ({ event }) => tasks.taskIn(doneOf(event)) !== undefined,
    isDoubtfulTask: ({ context }) => tasks.isDoubtfulTask(context),
    returnedError: ({ event }) => rules.isErrorReturn(doneOf(event)),
    wasCanceled: ({ context, event }) =>
      failedOf(event).status === "canceled" || rounds.hasLeft(context, failedOf(event)),
    isUncertain: ({ context, event }) => rules.isUncertain(context, failedOf(event)),
    hasTimedOut: ({ event }) => failedOf(event).status === "timed_out",
    mayRetry: ({ context, event }) =>
      rules.isRetryable(context, failedOf(event)) && rules.hasAttemptLeft(context),
    isDoubtful: ({ context }) => context.isDoubtful,
    canVerify: ({ context }) => rules.mechanismOf(context) === "verify",
    mayRepeatByKey: ({ context }) => rules.mechanismOf(context) === "key" && rules.hasAttemptLeft(context),
    isVerifiedApplied: ({ event }) => rules.isApplied(doneOf(event)),
    mayRepeat: ({ context }) => rules.hasAttemptLeft(context),
    choseRunAgain: ({ event }) => event.type === "question.decided" && event.decision === "run_again",
    choseApplied: ({ event }) => event.type === "question.decided" && event.decision === "mark_applied",
    choseNotApplied: ({ event }) =>
      event.type === "question.decided" && event.decision === "mark_not_applied",
  },
  actions: {
    post,
    refuseUnknown: assign({ failure: ({ context }) => rules.unknownTool(context.request) }),
    recordRefusal: enqueueActions(({ context, enqueue }) => {
      enqueue({ type: "post", params: rules.refusalNote(context) });
    }),
    validate: assign({ failure: ({ context }) => rules.validate(context.request) }),
    noteReview: assign(({ event }) => ({
      review: reviewIn(doneOf(event)),
      ...rules.momentOf(doneOf(event)),
    })),
    refuseUnreviewed: enqueueActions(({ context, event, enqueue }) => {
      const { failed, note } = reviewFailed(context, failedOf(event));
      enqueue.assign(failed);
      enqueue({ type: "post", params: note });
    }),
    authorize: enqueueActions(({ context, enqueue }) => {
      const { decided, notes } = decide(context);
      enqueue.assign(decided);
      for (const params of notes) enqueue({ type: "post", params });
    }),
    bind: assign({ deadlineAtMs: ({ context }) => rules.deadlineOf(context) }),
    openQuestion: sendParent(({ context }) => approvalInquiry(context)),
    openUncertain: sendParent(({ context }) => uncertainInquiry(context)),
    withdrawQuestion: sendParent(({ self }) => ({ type: "question.withdraw", ordinal: self.id })),
    noteTime: assign(({ event }) => rules.momentOf(event)),
    refuseByDecision: assign({ failure: ({ event }) => rules.refusalOf(event) }),
    noteCancel: assign(({ event }) => ({ cancelAsked: true, at: event.at })),
    cancelPort: sendTo("effect", { type: "port.cancel" }),
    noteTask: assign(({ context, event }) => tasks.becameTask(context, doneOf(event))),
    noteReturn: assign(({ context, event }) => ({
      ...rules.momentOf(doneOf(event)),
      outcomeOf: doneOf(event).intent,
      ...rules.returned(doneOf(event)),
      firstIntent: context.firstIntent ?? doneOf(event).intent,
      failure: null,
    })),
    noteFailure: assign(({ context, event }) => ({
      ...rules.momentOf(failedOf(event)),
      failure: failedOf(event).failure,
      firstIntent: context.firstIntent ?? failedOf(event).intent,
    })),
    notePause: enqueueActions(({ context, enqueue, event }) => {
      rounds.act(enqueue, rounds.paused(context, doneOf(event)));
    }),
    noteAnswer: enqueueActions(({ context, enqueue, event }) => {
      rounds.act(enqueue, rounds.answered(context, event));
    }),
    noteSample: enqueueActions(({ context, enqueue, event }) => {
      rounds.act(enqueue, rounds.sampled(context, event));
    }),
    giveUpRound: enqueueActions(({ context, enqueue }) => rounds.act(enqueue, rounds.givenUp(context))),
    openRequest: sendParent(({ context }) => requestInquiry(context)),
    noteDoubt: assign({ isDoubtful: true }),
    nextAttempt: enqueueActions(({ context, enqueue, event }) => {
      const by = event.type === "question.decided" ? "operator" : undefined;
      enqueue({ type: "post", params: rules.retryNote(context, by) });
      enqueue.assign({ attempt: context.attempt + 1, failure: null, ...rounds.roundsForAttempt(context) });
    }),
    noteLost: assign(({ event }) => rules.momentOf(failedOf(event))),
    noteLookUp: assign(({ event }) => rules.momentOf(doneOf(event))),
    noteVerified: assign(({ event }) => ({ via: "verify" as const, ...rules.momentOf(doneOf(event)) })),
    noteOperator: assign(({ event }) => ({ via: "operator" as const, ...rules.momentOf(event) })),
    noteApplied: assign({ isDoubtful: false, failure: null }),
    noteNotApplied: assign({ isDoubtful: false, failure: () => rules.notApplied() }),
    noteAbandoned: assign({ failure: () => rules.abandoned() }),
    noteCanceled: assign({ failure: () => rules.canceled() }),
  },
}).createMachine({
  id: "invocation",
  initial: "proposed",
  context: ({ input }) => ({
    ...input,
    attempt: 1,
    cancelAsked: false,
    verdict: "undecided",
    reason: "",
    rule: "",
    failure: null,
    deadlineAtMs: 0,
    isDoubtful: false,
    firstIntent: null,
    outcomeOf: null,
    isError: false,
    via: null,
  }),
  output: ({ context, event }) => rules.resultOf(context, (event as { readonly output?: unknown }).output),
  options: { maxIterations: limits.machineIterationsMax },
  states: {
    proposed: {
      always: [
        { guard: "isUnknownTool", target: "notFound", actions: ["refuseUnknown", "recordRefusal"] },
        { target: "validating" },
      ],
    },
    validating: {
      entry: "validate",
      always: [
        { guard: "hasFailure", target: "invalid", actions: "recordRefusal" },
        { guard: "needsReview", target: "reviewing" },
        { target: "authorizing" },
      ],
    },
    reviewing: {
      invoke: {
        id: "review",
        src: "port",
        input: ({ context }) => reviewCall(context),
        onDone: { target: "authorizing", actions: "noteReview" },
        onError: { target: "denied", actions: "refuseUnreviewed" },
      },
      on: { "invocation.cancel": { target: "canceled", actions: ["noteCancel", "noteCanceled"] } },
    },
    authorizing: {
      entry: "authorize",
      always: [
        { guard: "isDenied", target: "denied" },
        { guard: "needsApproval", target: "awaitingApproval" },
        { target: "binding" },
      ],
    },
    awaitingApproval: {
      entry: "openQuestion",
      on: {
        "question.decided": [
          { guard: "isGranted", target: "binding", actions: "noteTime" },
          { target: "denied", actions: ["noteTime", "refuseByDecision"] },
        ],
        "invocation.cancel": {
          target: "canceled",
          actions: ["withdrawQuestion", "noteCancel", "noteCanceled"],
        },
      },
    },
    binding: { entry: "bind", always: { target: "running" } },
    running: {
      invoke: {
        id: "effect",
        src: "port",
        input: ({ context }) => rounds.roundCall(context),
        onDone: [
          { guard: "isAsked", target: "replying", actions: "notePause" },
          { guard: "isTask", target: "awaitingTask", actions: "noteTask" },
          { guard: "returnedError", target: "completedWithError", actions: "noteReturn" },
          { target: "succeeded", actions: "noteReturn" },
        ],
        onError: [
          { guard: "isUncertain", target: "uncertain", actions: ["noteFailure", "noteDoubt"] },
          { guard: "mayRetry", target: "backingOff", actions: "noteFailure" },
          { guard: "isDoubtful", target: "needsOperator", actions: "noteFailure" },
          { guard: "wasCanceled", target: "canceled", actions: "noteFailure" },
          { guard: "hasTimedOut", target: "timedOut", actions: "noteFailure" },
          { target: "failed", actions: "noteFailure" },
        ],
      },
      on: { "invocation.cancel": { actions: ["noteCancel", "cancelPort"] } },
    },
    ...roundStates,
    ...taskStates,
    backingOff: {
      invoke: {
        id: "timer",
        src: "port",
        input: ({ context }) => rules.backOff(context),
        onDone: {
          target: "running",
          actions: ["nextAttempt", assign(({ event }) => rules.momentOf(doneOf(event))), "bind"],
        },
        onError: [{ guard: "isDoubtful", target: "needsOperator" }, { target: "failed" }],
      },
      on: {
        "invocation.cancel": [
          { guard: "isDoubtful", target: "needsOperator", actions: "noteCancel" },
          { target: "canceled", actions: ["noteCancel", "noteCanceled"] },
        ],
      },
    },
    uncertain: {
      always: [
        { guard: "canVerify", target: "verifying" },
        { guard: "mayRepeatByKey", target: "backingOff" },
        { target: "needsOperator" },
      ],
    },
    verifying: {
      invoke: {
        id: "verify",
        src: "port",
        input: ({ context }) => rules.verifyCall(context),
        onDone: [
          { guard: "isVerifiedApplied", target: "succeeded", actions: ["noteVerified", "noteApplied"] },
          { guard: "mayRepeat", target: "backingOff", actions: ["noteLookUp", "noteNotApplied"] },
          { target: "failed", actions: ["noteVerified", "noteNotApplied"] },
        ],
        onError: { target: "needsOperator", actions: "noteLost" },
      },
      on: { "invocation.cancel": { actions: "noteCancel" } },
    },
    needsOperator: {
      entry: "openUncertain",
      on: {
        "question.decided": [
          { guard: "choseRunAgain", target: "binding", actions: ["nextAttempt", "noteTime"] },
          { guard: "choseApplied", target: "succeeded", actions: ["noteOperator", "noteApplied"] },
          { guard: "choseNotApplied", target: "failed", actions: ["noteOperator", "noteNotApplied"] },
          { target: "unknown", actions: ["noteOperator", "noteAbandoned"] },
        ],
        "invocation.cancel": {
          target: "unknown",
          actions: ["withdrawQuestion", "noteCancel", "noteAbandoned"],
        },
      },
    },
    succeeded: { type: "final", output: "succeeded" },
    completedWithError: { type: "final", output: "completed_with_error" },
    failed: { type: "final", output: "failed" },
    denied: { type: "final", output: "denied" },
    invalid: { type: "final", output: "invalid" },
    notFound: { type: "final", output: "not_found" },
    timedOut: { type: "final", output: "timed_out" },
    canceled: { type: "final", output: "canceled" },
    unknown: { type: "final", output: "unknown" },
  },
});
