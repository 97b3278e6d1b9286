/**
 * One conversation: prompts become turns, one at a time; questions of its calls are its children.
 *
 *   preparing -> idle -> (renewing ->) running -> idle; preparing | renewing -> refused
 *
 * Servers are declared, and their connections opened, between turns only: a turn that runs keeps its catalog.
 * Holds positions in the journal, never the conversation itself.
 */
import { assign, enqueueActions, setup } from "xstate";
import type { AgentDefinition } from "../schemas/agent.ts";
import type { CatalogRef } from "../schemas/catalog.ts";
import type { Failure } from "../schemas/failure.ts";
import type { HostCall } from "../schemas/invocation.ts";
import { limits } from "../schemas/limits.ts";
import type { ApprovalScope, KeptGrant } from "../schemas/grant.ts";
import type { PermissionMode } from "../schemas/mode.ts";
import type { CommandRef, SessionMessage, SessionServer, Stamp } from "../schemas/message.ts";
import type { Principal } from "../schemas/principal.ts";
import type { SessionScope } from "../schemas/profile.ts";
import type { HistoryItem } from "../schemas/model.ts";
import type { InvocationReport } from "./invocation_context.ts";
import { post } from "./outbox.ts";
import { port } from "./port.ts";
import { questionMachine, type QuestionResult } from "./question.ts";
import * as refresh from "./refresh.ts";
import type { StaleState } from "./refresh.ts";
import * as prompts from "./session_prompts.ts";
import * as questions from "./session_questions.ts";
import * as rules from "./session_rules.ts";
import { noticesWith } from "./subscriptions.ts";
import { turnMachine, type TurnResult } from "./turn.ts";

/** What a session is created with. */
export interface SessionInput {
  readonly address: string;
  readonly agent: AgentDefinition;
  readonly home: string;
  readonly catalog: string;
  readonly principal: Principal;
  readonly servers: readonly SessionServer[];
  readonly mode: PermissionMode;
  readonly scope?: SessionScope | undefined;
  readonly installation?: string | undefined;
}

/** What a session is told. */
export type SessionEvent =
  | (SessionMessage & Stamp)
  | InvocationReport
  | {
    readonly type: "xstate.done.actor.turn";
    readonly output: TurnResult | QuestionResult;
    readonly actorId: string;
  };

/** A prompt, or a host's call, that waits for its turn: where it stands in the journal, and who wants the answer. */
export interface PromptRef {
  readonly seq: number;
  readonly command: CommandRef | null;
  readonly replyTo: string | null;
  /** Set if it is a call of a host, which asks no model. */
  readonly call?: HostCall | undefined;
}

/** A question that is open. What is optional is not there for uncertain outcomes, and in snapshots of earlier releases. */
export interface OpenQuestion {
  readonly id: string;
  readonly ordinal: string;
  readonly rule: string;
  /** Everybody who waits for its answer. */
  readonly waiting?: readonly string[];
  readonly tool?: string;
  readonly twin?: string;
  readonly scope?: ApprovalScope | null;
  readonly entry?: string | null;
  /** The runtime, and the count of revocations, under which it was asked. */
  readonly epoch?: number;
  readonly revocations?: number;
}

/** What a session remembers. */
export interface SessionContext extends SessionInput, StaleState {
  readonly issued: CatalogRef | null;
  readonly refusal: Failure | null;
  /** Servers that were declared while a turn ran; they hold from the next one on. */
  readonly nextServers: readonly SessionServer[] | null;
  /** True if the catalog must be renewed before the next turn: servers changed, or one of them failed. */
  readonly isStale: boolean;
  /** How often a renewal was asked for. */
  readonly renewal: number;
  readonly turn: number;
  readonly current: PromptRef | null;
  readonly queue: readonly PromptRef[];
  readonly notices: readonly HistoryItem[];
  /** Answers for the whole session. */
  readonly grants: readonly KeptGrant[];
  readonly asked: number;
  /** When questions about approvals were asked, as far as it matters for the next one (B28). */
  readonly asks?: readonly number[];
  /** How often grants were revoked. */
  readonly revocations?: number;
  readonly questions: readonly OpenQuestion[];
}

/** The behaviour of one session. Stops at 1,000 microsteps (K8). */
export const sessionMachine = setup({
  types: {
    context: {} as SessionContext,
    events: {} as SessionEvent,
    input: {} as SessionInput,
    tags: "" as "rest",
  },
  actors: { port, turn: turnMachine, question: questionMachine },
  guards: {
    hasPrompt: ({ context }) => context.queue.length > 0,
    isQueueFull: ({ context }) => context.queue.length >= limits.promptsQueuedMax,
    isTurnDone: ({ event }) => rules.isTurnDone(event),
    hasNextServers: ({ context }) => context.nextServers !== null,
    mustRenew: ({ context, event }) => refresh.mustRenew(context, rules.timeOf(event)),
    isRenewed: ({ context, event }) => rules.isRenewed(context, event),
  },
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
    acceptServers: enqueueActions(({ enqueue, event }) => {
      for (const params of rules.acknowledge(event, "declared")) enqueue({ type: "post", params });
    }),
    dropPrompt: enqueueActions(({ context, enqueue, event }) => {
      for (const params of prompts.dropPrompt(context)) enqueue({ type: "post", params });
      for (const params of rules.acknowledge(event, "canceled")) enqueue({ type: "post", params });
      enqueue.assign({ queue: context.queue.slice(1) });
    }),
    noteRefusal: assign(({ event }) => ({ refusal: rules.refusalIn(event) })),
    enqueuePrompt: assign(({ context, event }) => ({ queue: [...context.queue, prompts.promptOf(event)] })),
    refusePrompt: enqueueActions(({ context, enqueue, event }) => {
      for (const params of prompts.refusePrompt(context, event)) enqueue({ type: "post", params });
    }),
    refuseQueue: enqueueActions(({ context, enqueue }) => {
      for (const params of prompts.refuseQueue(context)) enqueue({ type: "post", params });
      enqueue.assign({ queue: [] });
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
      for (const params of prompts.turnReplies(context, event)) enqueue({ type: "post", params });
      enqueue.stopChild(`turn/${context.turn}`);
      for (const question of context.questions) enqueue.stopChild(question.id);
      enqueue.assign({ current: null, questions: [] });
    }),
    cancelTurn: enqueueActions(({ context, enqueue, event }) => {
      enqueue.sendTo(`turn/${context.turn}`, { type: "turn.cancel", at: rules.timeOf(event) });
      for (const params of rules.acknowledge(event, "canceling")) enqueue({ type: "post", params });
    }),
    refuseCancel: enqueueActions(({ enqueue, event }) => {
      for (const params of rules.acknowledge(event, "nothing_to_cancel")) enqueue({ type: "post", params });
    }),
    relay: enqueueActions(({ context, enqueue, event }) => {
      for (const params of rules.relay(context, event)) enqueue({ type: "post", params });
    }),
    noteAnswer: assign(({ context, event }) => ({ notices: noticesWith(context.notices, event) })),
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
    acceptRevocation: enqueueActions(({ enqueue, event }) => {
      for (const params of rules.acknowledge(event, "revoked")) enqueue({ type: "post", params });
    }),
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
    "session.prompt": [
      { guard: "isQueueFull", actions: "refusePrompt" },
      { actions: "enqueuePrompt" },
    ],
    "session.call": [
      { guard: "isQueueFull", actions: "refusePrompt" },
      { actions: "enqueuePrompt" },
    ],
    "session.cancel": { actions: "refuseCancel" },
    "session.relay": { actions: "relay" },
    "session.answered": { actions: "noteAnswer" },
    "resource.updated": { actions: "noteAnswer" },
    "session.servers": { actions: ["keepServers", "takeServers", "acceptServers"] },
    "session.revoke": { actions: ["revoke", "acceptRevocation"] },
    "catalog.issued": { actions: ["noteCatalog", "endStale"] },
    "catalog.stale": { actions: "noteStale" },
  },
  states: {
    preparing: {
      tags: "rest",
      on: {
        "catalog.issued": { target: "idle", actions: "noteCatalog" },
        "catalog.refused": { target: "refused", actions: "noteRefusal" },
      },
    },
    refused: {
      tags: "rest",
      entry: "refuseQueue",
      always: { guard: "hasNextServers", target: "idle", actions: "takeServers" },
      on: {
        "session.prompt": { actions: "refusePrompt" },
        "session.call": { actions: "refusePrompt" },
        // Other servers may be what is needed: the next prompt finds out.
        "session.servers": { target: "idle", actions: ["keepServers", "takeServers", "acceptServers"] },
        "catalog.issued": { target: "idle", actions: "noteCatalog" },
      },
    },
    idle: {
      tags: "rest",
      always: [
        { guard: "mustRenew", target: "renewing" },
        { guard: "hasPrompt", target: "running" },
      ],
    },
    renewing: {
      entry: "askRenewal",
      on: {
        "catalog.issued": [
          { guard: "isRenewed", target: "running", actions: ["noteCatalog", "noteRenewed"] },
          { actions: "noteCatalog" },
        ],
        "catalog.refused": [
          { guard: "isRenewed", target: "refused", actions: "noteRefusal" },
          {},
        ],
        "session.servers": { actions: ["keepServers", "acceptServers"] },
        "session.cancel": { target: "idle", actions: ["dropPrompt", "takeServers"] },
      },
    },
    running: {
      entry: "startTurn",
      on: {
        "session.cancel": { actions: "cancelTurn" },
        "session.servers": { actions: ["keepServers", "acceptServers"] },
        "question.open": { actions: "openQuestion" },
        "question.withdraw": { actions: "withdrawQuestion" },
        "xstate.done.actor.*": [
          { guard: "isTurnDone", target: "idle", actions: ["finishTurn", "takeServers"] },
          { actions: "settleQuestion" },
        ],
      },
    },
  },
});
