/**
 * One conversation: prompts become turns, one at a time; questions of its calls are its children.
 *
 *   preparing -> idle -> (renewing ->) running -> idle; preparing | renewing -> refused
 *   idle -> refusing -> idle, for a prompt that the budget does not allow
 *   of a child agent, all but renewing and running -> closing -> closed
 *
 * Servers are declared, and their connections opened, between turns only: a turn that runs keeps its catalog.
 * Holds positions in the journal, never the conversation itself.
 */
import { assign, enqueueActions, setup } from "xstate";
import { limits } from "../schemas/limits.ts";
import { post } from "./outbox.ts";
import { port } from "./port.ts";
import { questionMachine } from "./question.ts";
import * as refresh from "./refresh.ts";
import * as blocked from "./session_blocked.ts";
import * as cancel from "./session_cancel.ts";
import type { SessionContext, SessionEvent, SessionInput } from "./session_context.ts";
import * as budget from "./session_budget.ts";
import * as close from "./session_close.ts";
import { closable, closableLater, closableNow, closingStates } from "./session_closing.ts";
import { passOn } from "./session_invoke.ts";
import { sessionGuards } from "./session_guards.ts";
import * as prompts from "./session_prompts.ts";
import * as questions from "./session_questions.ts";
import * as rules from "./session_rules.ts";
import * as tasks from "./session_tasks.ts";
import * as waiting from "./session_waiting.ts";
import { noticesWith } from "./subscriptions.ts";
import { turnMachine } from "./turn.ts";

/** The behaviour of one session. Stops at 1,000 microsteps (K8). */
export const sessionMachine = setup({
  types: {
    context: {} as SessionContext,
    events: {} as SessionEvent,
    input: {} as SessionInput,
    tags: "" as "rest",
  },
  actors: { port, turn: turnMachine, question: questionMachine },
  guards: sessionGuards,
  actions: {
    post,
    noteCatalog: assign(({ event }) => rules.withCatalog(event)),
    noteRenewed: assign(({ context, event }) =>
      refresh.renewed(context, { hasFailed: rules.hasFailedServer(event), atMs: rules.timeOf(event) })
    ),
    noteStale: assign(({ event }) => refresh.madeStale(event)),
    askRenewal: enqueueActions(({ context, enqueue }) => {
      const renewal = context.renewal + 1;
      enqueue.assign({ renewal, isStaleAgain: false });
      enqueue({ type: "post", params: refresh.renewalNote(context, renewal) });
      enqueue({ type: "post", params: rules.renewCatalog(context, renewal) });
    }),
    keepServers: assign(({ event }) => ({ nextServers: rules.serversIn(event) })),
    takeServers: enqueueActions(({ context, enqueue }) => {
      if (context.nextServers === null) return;
      for (const params of rules.redeclare(context, context.nextServers)) enqueue({ type: "post", params });
      enqueue.assign(rules.withServers(context, context.nextServers));
    }),
    accept: enqueueActions(({ enqueue, event }) => {
      for (const params of rules.acknowledge(event, rules.wordFor(event))) enqueue({ type: "post", params });
    }),
    noteLost: assign(({ event }) => rules.lostIn(event)),
    refuseForGood: assign(({ context }) => ({ refusal: context.lost ?? context.refusal })),
    noteRefusal: assign(({ event }) => ({ refusal: rules.refusalIn(event) })),
    enqueuePrompt: assign(({ context, event }) => ({ queue: [...context.queue, prompts.promptOf(event)] })),
    refusePrompt: enqueueActions(({ context, enqueue, event }) => {
      for (const params of prompts.refusePrompt(context, event)) enqueue({ type: "post", params });
    }),
    refuseQueue: enqueueActions(({ context, enqueue }) => {
      for (const params of prompts.refuseQueue(context)) enqueue({ type: "post", params });
      enqueue.assign({ queue: [] });
    }),
    refuseSpent: enqueueActions(({ context, enqueue }) => {
      for (const params of prompts.refuseFirst(context, budget.promptRefusal(context))) {
        enqueue({ type: "post", params });
      }
      enqueue.assign({ queue: context.queue.slice(1) });
    }),
    startTurn: enqueueActions(({ context, enqueue, event }) => {
      const next = prompts.nextTurn(context, { at: rules.timeOf(event), epoch: rules.epochOf(event) });
      enqueue.spawnChild("turn", { id: `turn/${next.input.turn}`, input: next.input });
      enqueue.assign({
        turn: next.input.turn,
        current: next.prompt,
        queue: next.rest,
        notices: next.notices,
      });
    }),
    finishTurn: enqueueActions(({ context, enqueue, event }) => {
      const ledger = budget.afterTurn(context, event);
      for (const params of prompts.turnReplies({ ...context, ledger }, event)) {
        enqueue({ type: "post", params });
      }
      tasks.act(enqueue, context, tasks.afterTurn(context, rules.turnOf(event)));
      enqueue.stopChild(`turn/${context.turn}`);
      for (const question of context.questions) enqueue.stopChild(question.id);
      enqueue.assign({ ledger, ...waiting.over(context), ...rules.doubtsLeft(event) });
    }),
    cancel: enqueueActions(({ context, enqueue, event }) =>
      cancel.act(enqueue, context, cancel.asked(context, event))
    ),
    mindWait: enqueueActions(({ context, enqueue, event }) =>
      waiting.act(enqueue, context, waiting.heard(context, event))
    ),
    noteEnd: enqueueActions(({ context, enqueue, event }) =>
      cancel.act(enqueue, context, cancel.noteEnd(context, event))
    ),
    noteUndecided: enqueueActions(({ context, enqueue, event }) =>
      cancel.act(enqueue, context, cancel.noteUndecided(context, event))
    ),
    endNewborn: enqueueActions(({ context, enqueue, event }) =>
      cancel.act(enqueue, context, cancel.endNewborn(context, event))
    ),
    relay: enqueueActions(({ context, enqueue, event }) => {
      for (const params of rules.relay(context, event)) enqueue({ type: "post", params });
    }),
    noteAnswer: assign(({ context, event }) => ({ notices: noticesWith(context.notices, event) })),
    passCall: enqueueActions(({ context, enqueue, event }) => {
      const { event: told, posts } = passOn(context, event);
      for (const params of posts) enqueue({ type: "post", params });
      if (told !== undefined) enqueue.sendTo(`turn/${context.turn}`, told);
    }),
    cancelTurn: enqueueActions(({ context, enqueue, event }) => {
      enqueue.sendTo(`turn/${context.turn}`, { type: "turn.cancel", at: rules.timeOf(event) });
    }),
    noteClosing: assign(({ context, event }) => close.closeAsked(context, event)),
    tellClosing: enqueueActions(({ context, enqueue }) => {
      for (const params of close.tellTask(context, "session.closing")) enqueue({ type: "post", params });
    }),
    tellClosed: enqueueActions(({ context, enqueue, event }) => {
      for (const params of close.tellClosed(context, event)) enqueue({ type: "post", params });
    }),
    endOwn: enqueueActions(({ context, enqueue }) => {
      for (const params of close.endOwn(context)) enqueue({ type: "post", params });
    }),
    refuseLetter: enqueueActions(({ enqueue, event }) => {
      for (const params of close.refuseLetter(event)) enqueue({ type: "post", params });
    }),
    hearTask: enqueueActions(({ context, enqueue, event }) =>
      tasks.act(enqueue, context, tasks.heard(context, event))
    ),
    tellBlocked: enqueueActions(({ context, enqueue }) => {
      const { changes, posts } = blocked.tellBlocked(context);
      for (const params of posts) enqueue({ type: "post", params });
      enqueue.assign(changes);
    }),
    tellUnasked: enqueueActions(({ context, enqueue, event }) => {
      for (const params of blocked.tellUnasked(context, event)) enqueue({ type: "post", params });
    }),
    noteBlocked: assign(({ context, event }) => blocked.noteBlocked(context, event)),
    openQuestion: enqueueActions(({ context, enqueue, event }) =>
      questions.act(enqueue, context, questions.openQuestion(context, event))
    ),
    withdrawQuestion: enqueueActions(({ context, enqueue, event }) =>
      questions.act(enqueue, context, questions.withdrawQuestion(context, event))
    ),
    settleQuestion: enqueueActions(({ context, enqueue, event }) =>
      questions.act(enqueue, context, questions.settleQuestion(context, event))
    ),
    endStale: enqueueActions(({ context, enqueue, event }) =>
      questions.act(enqueue, context, questions.endStale(context, event))
    ),
    revoke: enqueueActions(({ context, enqueue, event }) =>
      questions.act(enqueue, context, questions.revoke(context, event))
    ),
  },
}).createMachine({
  id: "session",
  initial: "preparing",
  options: { maxIterations: limits.machineIterationsMax },
  context: ({ input }) => ({
    ...input,
    issued: null,
    refusal: null,
    nextServers: null,
    isStale: input.servers.length > 0,
    renewal: 0,
    turn: 0,
    current: null,
    queue: [],
    notices: [],
    grants: [],
    asked: 0,
    questions: [],
  }),
  on: {
    ...prompts.promptable,
    ...waiting.waitable,
    "session.cancel": { actions: "cancel" },
    "turn.call_stopped": { actions: "noteEnd" },
    "turn.undecided": { actions: "noteUndecided" },
    "session.invoke": { actions: "passCall" },
    "session.relay": { actions: "relay" },
    "session.answered": { actions: "noteAnswer" },
    "resource.updated": { actions: "noteAnswer" },
    "task.opened": [{ guard: "isBornInStop", actions: "endNewborn" }, { actions: "hearTask" }],
    "task.ended": { actions: ["hearTask", "noteEnd", "noteBlocked", "tellBlocked"] },
    "task.rested": { actions: "hearTask" },
    "task.resumed": { actions: "hearTask" },
    "task.blocked": { actions: ["noteBlocked", "tellBlocked"] },
    "task.unblocked": { actions: ["noteBlocked", "tellBlocked"] },
    "session.servers": { actions: ["keepServers", "takeServers", "accept"] },
    "session.revoke": { actions: ["revoke", "accept"] },
    "catalog.issued": { actions: ["noteCatalog", "endStale", "tellBlocked"] },
    "catalog.stale": { actions: "noteStale" },
    "child.quarantined": { guard: "isOfCatalog", actions: "noteLost" },
  },
  states: {
    preparing: {
      tags: "rest",
      on: {
        "child.quarantined": {
          guard: "isOfCatalog",
          target: "refused",
          actions: ["noteLost", "refuseForGood"],
        },
        ...closable,
        "catalog.issued": { target: "idle", actions: "noteCatalog" },
        "catalog.refused": { target: "refused", actions: "noteRefusal" },
      },
    },
    refused: {
      tags: "rest",
      entry: "refuseQueue",
      always: [
        { guard: "isClosing", target: "closing" },
        { guard: "hasNextServers", target: "idle", actions: "takeServers" },
      ],
      on: {
        ...closable,
        "session.prompt": { actions: "refusePrompt" },
        "session.call": { actions: "refusePrompt" },
        // Other servers may be what is needed: the next prompt finds out.
        "session.servers": { target: "idle", actions: ["keepServers", "takeServers", "accept"] },
        "catalog.issued": { target: "idle", actions: "noteCatalog" },
      },
    },
    idle: {
      tags: "rest",
      on: closable,
      always: [
        { guard: "isClosing", target: "closing" },
        { guard: "hasNoCatalog", target: "refused", actions: "refuseForGood" },
        { guard: "isSpent", target: "refusing" },
        { guard: "mustRenew", target: "renewing" },
        { guard: "hasPrompt", target: "running" },
      ],
    },
    refusing: { entry: "refuseSpent", always: { target: "idle" } },
    renewing: {
      entry: "askRenewal",
      on: {
        ...closableLater,
        "catalog.issued": [
          { guard: "isRenewedForNobody", target: "closing", actions: "noteCatalog" },
          { guard: "isRenewed", target: "running", actions: ["noteCatalog", "noteRenewed"] },
          { actions: "noteCatalog" },
        ],
        "catalog.refused": [
          { guard: "isRenewedForNobody", target: "closing" },
          { guard: "isRenewed", target: "refused", actions: "noteRefusal" },
          {},
        ],
        "session.servers": { actions: ["keepServers", "accept"] },
        "session.cancel": [
          { guard: "isOfCall", actions: "cancel" },
          { target: "idle", actions: ["cancel", "takeServers"] },
        ],
        // The message that broke it may have been ours.
        "child.restarted": { guard: "isOfCatalog", target: "renewing", reenter: true },
        "child.quarantined": {
          guard: "isOfCatalog",
          target: "refused",
          actions: ["noteLost", "refuseForGood"],
        },
      },
    },
    running: {
      entry: "startTurn",
      on: {
        ...closableNow,
        "session.servers": { actions: ["keepServers", "accept"] },
        "question.open": { actions: ["openQuestion", "tellBlocked"] },
        "question.withdraw": { actions: ["withdrawQuestion", "tellBlocked"] },
        "xstate.done.actor.*": [
          {
            guard: "isTurnDone",
            target: "idle",
            actions: ["finishTurn", "noteEnd", "tellBlocked", "takeServers"],
          },
          { actions: ["tellUnasked", "settleQuestion", "tellBlocked"] },
        ],
      },
    },
    ...closingStates,
  },
});
