/** The states in which a turn asks its model, as part of the turn machine: whether it may, the call, the wait before another. */
import * as budget from "./turn_budget.ts";
import type { TurnContext } from "./turn_context.ts";
import * as model from "./turn_model.ts";
import * as waiting from "./turn_wait.ts";

interface Given {
  readonly context: TurnContext;
}

/** A model call harms nobody, so it may be dropped (K11). */
const cancel = { target: "canceled", actions: ["noteTime", "noteCanceled"] } as const;

/** Nothing is asked that the budget does not allow; then the model is, and asked again, or another one instead. */
export const modelStates = {
  affording: {
    always: [
      { guard: "isSpent", target: "failed", actions: "noteSpent" },
      { target: "generating" },
    ],
  },
  generating: {
    entry: "noteAsk",
    invoke: {
      id: "model",
      src: "port",
      input: ({ context }: Given) => model.generate(context, budget.reservation(context)),
      onDone: [
        { guard: "isCutOff", target: "affording", actions: ["noteAnswer", "goOn"] },
        { guard: "mayRepair", target: "affording", actions: ["noteAnswer", "repair"] },
        { guard: "isMisfit", target: "failed", actions: ["noteMisfit", "noteAnswer", "noteText"] },
        { guard: "hasNoCalls", target: "completed", actions: ["noteAnswer", "noteText"] },
        { guard: "isLastRound", target: "failed", actions: ["noteAnswer", "refuseRound"] },
        { target: "planning", actions: ["noteAnswer", "takeCalls"] },
      ],
      onError: [
        { guard: "mayRetry", target: "waiting", actions: "noteModelFailure" },
        { guard: "mayCompact", target: "affording", actions: ["noteModelFailure", "compact"] },
        { guard: "mayEase", target: "affording", actions: "easeTool" },
        { guard: "mayChange", target: "changing", actions: "noteModelFailure" },
        { guard: "mayWaitForTime", target: "awaitingProvider", actions: ["noteModelFailure", "noteWait"] },
        { guard: "mayWait", target: "awaitingPerson", actions: ["noteModelFailure", "noteWait"] },
        { target: "failed", actions: "noteModelFailure" },
      ],
    },
    on: { "turn.cancel": cancel },
  },
  waiting: {
    invoke: {
      id: "timer",
      src: "port",
      input: ({ context }: Given) => model.backOff(context),
      onDone: { target: "affording", actions: "nextAttempt" },
      onError: { target: "failed" },
    },
    on: { "turn.cancel": cancel },
  },
  awaitingProvider: {
    entry: "tellWait",
    exit: "tellWaitEnd",
    invoke: {
      id: "timer",
      src: "port",
      input: ({ context }: Given) => waiting.waitTimer(context),
      onDone: { target: "affording", actions: "nextWait" },
      onError: { target: "failed", actions: "loseWait" },
    },
    on: { "turn.cancel": cancel, "turn.resume": { target: "affording", actions: "resume" } },
  },
  awaitingPerson: {
    entry: "tellWait",
    exit: "tellWaitEnd",
    on: { "turn.cancel": cancel, "turn.resume": { target: "affording", actions: "resume" } },
  },
  changing: { entry: "changeModel", always: { target: "affording" } },
} as const;
