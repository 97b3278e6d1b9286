/**
 * One turn: model and tools by turns, until the model answers without calls.
 *
 *   binding -> affording -> generating -> (waiting | changing -> affording ->) planning -> staging -> affording ...
 *   generating -> awaitingProvider | awaitingPerson -> affording, once asking at once has not helped
 *   generating -> completed | failed | canceled; affording -> failed where the budget is used up
 *   binding -> planning -> staging -> completed | canceled, for the one call of a host
 *
 * Takes the exact catalog entry of every call from the turn's frozen catalog: the only name look-up there is (DM-6).
 * Its context holds positions in the journal, never the conversation.
 */
import { assign, enqueueActions, sendParent, sendTo, setup } from "xstate";
import { limits } from "../schemas/limits.ts";
import { openLedger } from "./budget.ts";
import { invocationMachine } from "./invocation.ts";
import type { InvocationEnding } from "./invocation_context.ts";
import { post } from "./outbox.ts";
import * as output from "./output.ts";
import { doneOf, failedOf, port } from "./port.ts";
import { refusalsAfter, stuckNotes } from "./stuck.ts";
import { timeOf, type TurnContext, type TurnEvent, type TurnInput, type TurnResult } from "./turn_context.ts";
import * as budget from "./turn_budget.ts";
import { invoke, refusedNote, refuseInvoke } from "./turn_invoke.ts";
import { modelStates } from "./turn_model_states.ts";
import * as cancel from "./turn_cancel.ts";
import * as ending from "./turn_ending.ts";
import * as model from "./turn_model.ts";
import * as notices from "./turn_notices.ts";
import * as rules from "./turn_rules.ts";
import * as cut from "./turn_truncated.ts";
import * as schema from "./turn_schema.ts";
import * as waiting from "./turn_wait.ts";

function endingOf(event: unknown): InvocationEnding {
  return (event as { readonly output: InvocationEnding }).output;
}

/** The behaviour of one turn. Stops at 1,000 microsteps (K8). */
export const turnMachine = setup({
  types: {
    context: {} as TurnContext,
    events: {} as TurnEvent,
    input: {} as TurnInput,
    output: {} as TurnResult,
  },
  actors: { port, invocation: invocationMachine },
  guards: {
    isGiven: ({ context }) => context.given !== undefined,
    isGivenDone: ({ context }) => context.given !== undefined && context.live.length === 0,
    hasNoCalls: ({ event }) => rules.answerOf(doneOf(event)).calls.length === 0,
    isCutOff: ({ context, event }) => cut.isCutOff(context, doneOf(event)),
    mayRepair: ({ context, event }) => output.mayRepair(context, doneOf(event)),
    isMisfit: ({ context, event }) => output.outputProblems(context, doneOf(event)).length > 0,
    isLastRound: ({ context }) => context.step + 1 >= context.roundsMax,
    mayRetry: ({ context, event }) => model.mayRetryModel(context, failedOf(event).failure),
    mayCompact: ({ context, event }) => model.mayCompact(context, failedOf(event).failure),
    mayEase: ({ context, event }) => schema.mayEase(context, failedOf(event).failure),
    mayChange: ({ context, event }) => model.mayChangeModel(context, failedOf(event).failure),
    mayWait: ({ context, event }) => waiting.waitAfterFailure(context, failedOf(event)) !== undefined,
    mayWaitForTime: ({ context, event }) =>
      waiting.waitAfterFailure(context, failedOf(event))?.strategy === "automatic",
    isStageDone: ({ context }) => context.live.length === 0,
    isSpent: ({ context }) => budget.modelRefusal(context) !== undefined,
    isCanceledStage: ({ context }) =>
      context.live.length === 0 && context.cancelAsked && !budget.isSpent(context),
    isExpiredStage: ({ context }) => context.live.length === 0 && budget.isSpent(context),
    hasNextStage: ({ context }) => context.live.length === 0 && rules.hasNextStage(context),
  },
  actions: {
    post,
    startClock: enqueueActions(({ context, enqueue }) => {
      const input = budget.wallTimer(context);
      if (input !== undefined) enqueue.spawnChild("port", { id: "wall", input });
    }),
    expire: enqueueActions(({ context, enqueue, event }) => {
      enqueue.stopChild("wall");
      enqueue.assign(budget.expired(context, event));
    }),
    noteSpent: assign(({ context }) => ({ failure: budget.modelRefusal(context) ?? null })),
    noteAsk: assign(({ context }) => budget.withAsk(context)),
    noteAnswer: assign(({ context, event }) => {
      const { at, epoch, intent: answer } = doneOf(event);
      return { at, epoch, answer, ...model.answered(context), ...budget.withAnswer(context, doneOf(event)) };
    }),
    goOn: assign(({ context, event }) => cut.goOn(context, doneOf(event))),
    repair: assign(({ context, event }) => output.repair(context, doneOf(event))),
    noteMisfit: assign(({ context, event }) => ({ failure: output.outputFailure(context, doneOf(event)) })),
    noteText: assign(({ context, event }) => ({ text: cut.wholeText(context, doneOf(event)) })),
    takeGiven: assign(({ context }) => ({ calls: rules.givenCalls(context) })),
    takeCalls: assign(({ context, event }) => ({
      calls: rules.answerOf(doneOf(event)).calls,
      ...(context.cutOff === undefined ? {} : { cutOff: null }),
    })),
    refuseRound: assign({ failure: ({ context }) => rules.roundLimit(context.roundsMax) }),
    noteModelFailure: assign(({ context, event }) => ({
      at: failedOf(event).at,
      failure: model.failureOf(context, failedOf(event).failure),
    })),
    compact: assign(({ context }) => model.compacted(context)),
    nextAttempt: enqueueActions(({ context, enqueue, event }) => {
      enqueue({ type: "post", params: model.retryNote(context) });
      enqueue.assign({ attempt: context.attempt + 1, at: doneOf(event).at, failure: null });
    }),
    easeTool: enqueueActions(({ context, enqueue, event }) => {
      const { failure: why, at } = failedOf(event);
      enqueue({ type: "post", params: schema.easedNote(context, why) });
      enqueue.assign({ at, ...schema.eased(context, why) });
    }),
    changeModel: enqueueActions(({ context, enqueue }) => {
      enqueue({ type: "post", params: model.changeNote(context) });
      enqueue.assign({ fallback: context.fallback + 1, attempt: 1, failure: null });
    }),
    noteWait: assign(({ context, event }) => ({
      wait: waiting.waitAfterFailure(context, failedOf(event)) ?? null,
    })),
    tellWait: enqueueActions(({ context, enqueue, self }) => {
      enqueue({ type: "post", params: waiting.waitNote(context) });
      waiting.tell(enqueue, self, waiting.waitReport(context));
    }),
    tellWaitEnd: enqueueActions(({ context, enqueue, event, self }) => {
      const by = waiting.endOf(event);
      enqueue({ type: "post", params: waiting.endNote(context, by) });
      if (by === "timer") waiting.tell(enqueue, self, { type: "turn.went_on" });
    }),
    nextWait: assign(({ context, event }) => waiting.afterTime(context, doneOf(event).at)),
    resume: assign(({ context, event }) => waiting.afterResume(context, timeOf(context, event))),
    loseWait: assign(({ context }) => waiting.afterLoss(context)),
    noteTime: assign(({ context, event }) => ({ at: timeOf(context, event) })),
    noteCanceled: assign({ failure: () => rules.canceled() }),
    plan: assign(({ context }) => ({ plan: rules.plan(context), stage: 0, results: [], live: [] })),
    startStage: enqueueActions(({ context, enqueue }) => {
      const { ledger, requests, refused, notes } = budget.afford(context, rules.stageRequests(context));
      for (const params of notes) enqueue({ type: "post", params });
      for (const request of requests) {
        enqueue.spawnChild("invocation", {
          id: request.ordinal,
          input: rules.invocationInput(context, request),
        });
      }
      enqueue.assign({
        ledger,
        results: [...context.results, ...refused],
        live: requests.map((request) => request.ordinal),
        bound: rules.boundWith(context.bound, requests),
      });
    }),
    openCall: enqueueActions(({ context, enqueue, event }) => {
      const { changes, request, posts } = invoke(context, event);
      for (const params of posts) enqueue({ type: "post", params });
      if (request !== undefined) {
        const input = rules.invocationInput(context, request);
        enqueue.spawnChild("invocation", {
          id: request.ordinal,
          input: { ...input, at: timeOf(context, event) },
        });
      }
      enqueue.assign(changes);
    }),
    refuseCall: enqueueActions(({ enqueue, event }) => {
      for (const params of refuseInvoke(event)) enqueue({ type: "post", params });
    }),
    mergeState: enqueueActions(({ context, enqueue }) => {
      for (const params of rules.stateNotes(context)) enqueue({ type: "post", params });
    }),
    nextStage: assign(({ context }) => ({ stage: context.stage + 1 })),
    settleCall: enqueueActions(({ context, enqueue, event, self }) => {
      const { at, epoch, spent, ...result } = endingOf(event);
      enqueue.stopChild(result.ordinal);
      for (const params of refusedNote(context, result)) enqueue({ type: "post", params });
      cancel.act({ enqueue, self }, at, cancel.callEnded(context, result));
      enqueue.assign({
        at: Math.max(context.at, at),
        epoch: Math.max(context.epoch ?? 0, epoch ?? 0),
        results: [...context.results, result],
        ...notices.toldWith(context, result.told),
        ...budget.withEnding(context, result, spent),
        refused: rules.refusedWith(context, result),
        doubts: rules.doubtsAfter(context, result),
        ...ending.unsettledWith(context, result),
        live: context.live.filter((ordinal) => ordinal !== result.ordinal),
      });
    }),
    cancelCalls: enqueueActions(({ context, enqueue, event, self }) =>
      cancel.act({ enqueue, self }, timeOf(context, event), cancel.cancelAll(context))
    ),
    cancelCall: enqueueActions(({ context, enqueue, event, self }) =>
      cancel.act({ enqueue, self }, timeOf(context, event), cancel.cancelCall(context, event))
    ),
    noteQuestion: enqueueActions(({ context, enqueue, event, self }) =>
      cancel.act({ enqueue, self }, timeOf(context, event), cancel.questionOpened(context, event))
    ),
    noteDecision: assign(({ context, event }) => cancel.decided(context, event)),
    forwardDecision: sendTo(
      ({ event }) => (event as { readonly ordinal: string }).ordinal,
      ({ event }) => rules.decisionEvent(event),
    ),
    noteGrant: assign(({ context, event }) => ({ grants: rules.grantsAfter(context.grants, event) })),
    noteNotice: assign(({ context, event }) => notices.noticed(context, event)),
    keepLedger: enqueueActions(({ context, enqueue, event }) => {
      const { ledger, posts } = budget.withChildren(context, event);
      for (const params of posts) enqueue({ type: "post", params });
      enqueue.assign({ ledger });
    }),
    reportUp: sendParent(({ event }) => event),
    answerStep: enqueueActions(({ context, enqueue }) => {
      const refusals = refusalsAfter(context);
      for (const params of stuckNotes(context, refusals)) enqueue({ type: "post", params });
      const append = [...rules.history(context, refusals), ...context.notices ?? []];
      enqueue.assign({
        append,
        notices: [],
        needed: ending.neededBy(context.results),
        refusals,
        step: context.step + 1,
        calls: [],
        opened: [],
        plan: null,
        results: [],
      });
    }),
  },
}).createMachine({
  id: "turn",
  initial: "binding",
  options: { maxIterations: limits.machineIterationsMax },
  context: ({ input }) => ({
    ...input,
    epoch: input.epoch ?? 0,
    ledger: openLedger(input.budget),
    startedAt: input.at,
    refusals: 0,
    step: 0,
    attempt: 1,
    fallback: 0,
    calls: [],
    bound: {},
    plan: null,
    stage: 0,
    live: [],
    results: [],
    refused: [],
    cancelAsked: false,
    answer: null,
    text: "",
    failure: null,
  }),
  output: ({ context, event }) => rules.turnResult(context, (event as { readonly output?: unknown }).output),
  on: {
    "turn.revoked": { actions: "noteGrant" },
    "turn.notice": { actions: "noteNotice" },
    "turn.child_begun": { actions: "keepLedger" },
    "turn.child_ended": { actions: "keepLedger" },
    "xstate.done.actor.wall": { target: ".failed", actions: "expire" },
    "xstate.error.actor.wall": { target: ".failed", actions: "expire" },
    "turn.cancel_call": { actions: "cancelCall" },
    "turn.invoke": { actions: "refuseCall" },
  },
  states: {
    binding: {
      entry: [{ type: "post", params: ({ context }) => rules.boundNote(context) }, "startClock"],
      always: [
        { guard: "isGiven", target: "planning", actions: "takeGiven" },
        { target: "affording" },
      ],
    },
    ...modelStates,
    planning: {
      entry: ["plan", { type: "post", params: ({ context }) => rules.planNote(context) }],
      always: { target: "staging" },
    },
    staging: {
      entry: "startStage",
      always: [
        { guard: "isCanceledStage", target: "canceled", actions: ["mergeState", "noteCanceled"] },
        { guard: "isExpiredStage", target: "failed", actions: "mergeState" },
        { guard: "hasNextStage", target: "advancing" },
        { guard: "isGivenDone", target: "completed", actions: "mergeState" },
        { guard: "isStageDone", target: "answering" },
      ],
      on: {
        "xstate.done.actor.wall": { actions: ["expire", "cancelCalls"] },
        "xstate.error.actor.wall": { actions: ["expire", "cancelCalls"] },
        "xstate.done.actor.*": { actions: "settleCall" },
        "turn.cancel": { actions: ["noteTime", "cancelCalls"] },
        "turn.invoke": { actions: "openCall" },
        "turn.decided": { actions: ["noteGrant", "noteDecision", "forwardDecision"] },
        "question.open": { actions: ["reportUp", "noteQuestion"] },
        "question.withdraw": { actions: "reportUp" },
      },
    },
    advancing: { entry: ["mergeState", "nextStage"], always: { target: "staging" } },
    answering: { entry: ["mergeState", "answerStep"], always: { target: "affording" } },
    completed: { type: "final", output: "completed" },
    failed: { type: "final", output: "failed" },
    canceled: { type: "final", output: "canceled" },
  },
});
