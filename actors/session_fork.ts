/**
 * The pure rules by which the state of a session becomes that of its fork (K24). What somebody else waits for, or runs
 * elsewhere, is not taken over: prompts, replies, answers for the whole session, parts of the budget that children hold.
 */
import type { ForkClosed } from "../schemas/fork.ts";
import { connectionAddress, type RootAddress, taskAddress } from "../schemas/ids.ts";
import type { SessionServer } from "../schemas/message.ts";
import type { SessionContext } from "./session_context.ts";
import type { OwnTask } from "./session_tasks.ts";

/** A session's state as it is persisted. */
export interface SessionState {
  readonly value: unknown;
  readonly context: SessionContext;
  readonly [field: string]: unknown;
}

/** Who the fork is. */
export interface ForkIdentity {
  readonly address: RootAddress;
  readonly catalog: RootAddress;
  /** Another model than that of the agent. */
  readonly model?: string | undefined;
}

/** The state under the fork's own name. A turn that runs still does; nobody is told of its end. */
export function forkedState(state: SessionState, identity: ForkIdentity): SessionState {
  const { address, catalog, model } = identity;
  const { context } = state;
  const { current, nextServers, servers, agent, tasks, resumers } = context;
  return {
    ...state,
    context: {
      ...context,
      address,
      catalog,
      agent: model === undefined ? agent : { ...agent, model },
      // Nobody tells the connections of the original what is declared: the fork gets its own.
      servers: renamed(nextServers ?? servers, address),
      nextServers: null,
      current: current === null ? null : { ...current, command: null, replyTo: null },
      // Under addresses that no task has: nobody but the fork itself says what became of them.
      ...(tasks === undefined
        ? {}
        : { tasks: tasks.map((task) => ({ ...task, address: taskAddress(task.task, address) })) }),
      queue: [],
      grants: [],
      stops: [],
      ...(resumers === undefined ? {} : { resumers: [] }),
    },
  };
}

function renamed(servers: readonly SessionServer[], address: RootAddress): readonly SessionServer[] {
  return servers.map((server) => ({
    ...server,
    connection: connectionAddress(server.declaration.server, address),
  }));
}

/** True if a turn runs, so that the fork must end it before it can rest. */
export function hasTurn({ context }: SessionState): boolean {
  return context.current !== null;
}

/** The state at rest: like a session that was just begun, it waits for its own catalog. What was spent, is spent. */
export function restingState(state: SessionState): SessionState {
  const { context } = state;
  const { ledger, servers } = context;
  return {
    ...state,
    value: "preparing",
    context: {
      ...context,
      issued: null,
      refusal: null,
      lost: null,
      isStale: servers.length > 0,
      questions: [],
      ...(ledger === undefined ? {} : { ledger: { ...ledger, reserved: {} } }),
    },
  };
}

/** Tasks in the order in which the fork hears of their ends: those that wait first, so that none is let begin. */
export function tasksToEnd({ context }: SessionState): readonly OwnTask[] {
  const tasks = context.tasks ?? [];
  return [...tasks.filter(({ isRunning }) => !isRunning), ...tasks.filter(({ isRunning }) => isRunning)];
}

/** What is open in a session and will not be in its fork, besides its intents. */
export function closedIn({ context }: SessionState): readonly ForkClosed[] {
  const { current, turn, questions, tasks = [], queue, grants } = context;
  return [
    ...(current === null ? [] : [{ kind: "turn" as const, name: `turn/${turn}` }]),
    ...questions.map(({ id }): ForkClosed => ({ kind: "question", name: id })),
    ...tasks.map(({ address, kind }): ForkClosed => ({
      kind: kind === "agent.spawn" ? "child" : "task",
      name: address,
    })),
    ...queue.map(({ seq }): ForkClosed => ({ kind: "prompt", name: `prompt/${seq}` })),
    ...grants.map((grant): ForkClosed => {
      const rule = typeof grant === "string" ? grant : grant.scope.rule;
      return { kind: "grant", name: rule.slice(0, 300) };
    }),
  ];
}
