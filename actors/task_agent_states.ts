/**
 * The states of a task that runs a child agent, as part of the task machine.
 *
 *   asking -> making -> (queued ->) working -> closing -> ended; working -> resting -> queued
 *
 * No port is pending while the child works: its answer, like its end, comes by letter, whatever restarts meanwhile (F31).
 */
import type { TaskContext } from "./task.ts";
import * as agent from "./task_agent.ts";
import { patience } from "./task_agent_close.ts";

/** Ended from outside, or lost. */
const endable = {
  "task.cancel": { target: "closing", actions: "noteClose" },
  "task.close": { target: "closing", actions: "noteClose" },
  "child.lost": { guard: "isFromChild", target: "ended", actions: "noteLost" },
  "session.closed": { guard: "isFromChild", target: "ended", actions: "noteClosed" },
} as const;

/** What a child that waits for its place does; of the other kinds it knows nothing. */
export const waitingChild = {
  "task.send": { actions: ["answerSend", "keepPrompt"] },
  "task.close": { target: "closing", actions: "noteClose" },
  "child.lost": { guard: "isFromChild", target: "ended", actions: "noteLost" },
} as const;

/** The states of a task of a child. */
export const agentStates = {
  asking: { // The session counts its children, and may refuse one more.
    tags: "rest",
    on: {
      "task.accepted": { target: "making", actions: "noteAccepted" },
      "task.refused": { target: "ended", actions: "noteRefused" },
      // The word of the turn about the budget may come behind that of the session about the place.
      "task.admitted": { actions: "noteChildAdmitted" },
      "task.send": { actions: ["answerSend", "keepPrompt"] },
      "task.cancel": { target: "ended", actions: ["noteClose", "noteUnbegun"] },
      "task.close": { target: "ended", actions: ["noteClose", "noteUnbegun"] },
    },
  },
  making: {
    invoke: {
      id: "open",
      src: "port",
      input: ({ context }: { readonly context: TaskContext }) => agent.open(context),
      onDone: [
        { guard: "isClosing", target: "closing", actions: "noteMade" },
        { guard: "isAdmitted", target: "working", actions: "noteMade" },
        { target: "queued", actions: ["noteMade", "record"] },
      ],
      onError: { target: "ended", actions: ["noteFailed", "noteUnopened"] },
    },
    on: {
      "task.admitted": { actions: "noteChildAdmitted" },
      "task.send": { actions: ["answerSend", "keepPrompt"] },
      "task.cancel": { actions: "noteClose" },
      "task.close": { actions: "noteClose" },
    },
  },
  working: {
    tags: "rest",
    entry: ["sendPrompts", "record"],
    on: {
      ...endable,
      "task.send": { actions: "sendNow" },
      "session.answered": [
        { guard: "isMoreAwaited", actions: ["noteAnswered", "record"] },
        { guard: "isOneAnswer", target: "closing", actions: ["noteAnswered", "noteOver"] },
        { guard: "isFromChild", target: "resting", actions: "noteAnswered" },
      ],
    },
  },
  resting: {
    tags: "rest",
    entry: ["noteResting", "record", "tellRested"],
    on: {
      ...endable,
      "task.send": {
        target: "queued",
        actions: ["answerSend", "keepPrompt", "noteWaiting", "record", "tellResumed"],
      },
    },
  },
  closing: {
    entry: ["closeChild", "record"],
    invoke: {
      id: "patience",
      src: "port",
      input: ({ context }: { readonly context: TaskContext }) => patience(context),
      onDone: [
        { guard: "isForced", target: "ended", actions: "noteUnclosed" },
        { target: "closing", reenter: true, actions: "noteForced" },
      ],
      onError: { target: "ended", actions: "noteUnclosed" },
    },
    on: {
      "session.closing": { guard: "isFromChild", actions: ["noteAcknowledged", "record"] },
      "session.closed": { guard: "isFromChild", target: "ended", actions: "noteClosed" },
      "session.answered": { guard: "isFromChild", actions: "noteAnswered" },
      "child.lost": { guard: "isFromChild", target: "ended", actions: "noteLost" },
      "task.cancel": [
        { guard: "isStricter", target: "closing", reenter: true, actions: "noteClose" },
        { actions: "noteClose" },
      ],
      "task.close": [
        { guard: "isStricter", target: "closing", reenter: true, actions: "noteClose" },
        { actions: "noteClose" },
      ],
    },
  },
} as const;
