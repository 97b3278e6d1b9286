/**
 * The pure rules by which a session is stopped: one call, its turn, the turn with every task, or all for good. A cancel
 * is answered once nothing of what it named runs any more; cancels that come together share what they stop.
 */
import type { CancelReport, CancelScope, GoingOn, Stopped } from "../schemas/cancel.ts";
import { failure } from "../schemas/failure.ts";
import type { Json } from "../schemas/json.ts";
import { limits } from "../schemas/limits.ts";
import type { CommandRef, Outgoing } from "../schemas/message.ts";
import type { SessionContext, SessionEvent } from "./session_context.ts";
import { dropPrompt } from "./session_prompts.ts";
import { ended, expect, isTurnDone } from "./session_rules.ts";
import { isOwn, type OwnTask } from "./session_tasks.ts";
import type { TurnEvent, TurnResult } from "./turn_context.ts";

/** One cancel that waits for what it stops. */
export interface Stop {
  /** Null if no command brought it: then nobody is answered. */
  readonly command: CommandRef | null;
  readonly scope: CancelScope;
  /** Addresses of what has not ended. */
  readonly awaits: readonly string[];
  readonly stopped: readonly Stopped[];
  readonly undecided: readonly GoingOn[];
  readonly notFound: readonly string[];
}

/** What a session does about cancels in one step. */
export interface StopStep {
  readonly changes: Partial<Pick<SessionContext, "stops" | "tasks" | "queue" | "stoppedTurn" | "isClosed">>;
  readonly posts: readonly Outgoing[];
  /** What the turn that runs learns. */
  readonly told?: TurnEvent;
}

/** What a step about cancels needs of a machine's queue of actions. */
interface Queue {
  (action: { readonly type: "post"; readonly params: Outgoing }): void;
  assign(changes: StopStep["changes"]): void;
  sendTo(id: string, event: TurnEvent): void;
}

/** Does what a step about cancels says, all in one commit. */
export function act(enqueue: Queue, { turn }: SessionContext, { changes, posts, told }: StopStep): void {
  for (const params of posts) enqueue({ type: "post", params });
  enqueue.assign(changes);
  if (told !== undefined) enqueue.sendTo(`turn/${turn}`, told);
}

/** True if one call is meant: whatever else goes on is left alone. */
export function isOfCall(event: SessionEvent): boolean {
  return expect(event, "session.cancel").scope === "call";
}

/** Somebody wants an end. What has not begun ends at once, the rest is asked to; the answer waits for all of it. */
export function asked(context: SessionContext, event: SessionEvent): StopStep {
  const { command = null, scope = "turn", prompts } = expect(event, "session.cancel");
  const stop: Stop = { command, scope, awaits: [], stopped: [], undecided: [], notFound: [] };
  if ((context.stops ?? []).length >= limits.cancelsWaitingMax) return refused(command);
  if (scope === "call") return callAsked(context, event, stop);
  const isInTurn = context.current !== null;
  const drop = dropped(context, { scope, isInTurn, isAll: scope === "session" || prompts === "all" });
  const isWide = scope === "subtree" || scope === "session";
  const tasks = context.tasks ?? [];
  const isNothing = !isInTurn && drop.stopped.length === 0;
  const own: Stop = {
    ...stop,
    awaits: [
      ...(isInTurn ? [turnName(context)] : []),
      ...(isWide ? tasks.map(({ address }) => address) : []),
    ],
    stopped: drop.stopped,
    notFound: scope === "turn" && isNothing ? ["turn"] : [],
  };
  const changes = {
    queue: drop.queue,
    ...(isWide ? { tasks: tasks.map((task) => ({ ...task, isStopping: true })) } : {}),
    ...(isWide && isInTurn ? { stoppedTurn: context.turn } : {}),
    ...(scope === "session" ? { isClosed: true } : {}),
  };
  const step = answer({ ...context, ...changes, stops: [...context.stops ?? [], own] });
  return {
    changes: { ...changes, ...step.changes },
    posts: [...drop.posts, ...(isWide ? endings(tasks) : []), ...step.posts],
    ...(isInTurn ? { told: { type: "turn.cancel", at: atOf(event) } } : {}),
  };
}

/** Tasks end in the reverse order of their births (F32); who was asked already is not asked again. */
function endings(tasks: readonly OwnTask[]): readonly Outgoing[] {
  return tasks.filter(({ isStopping }) => isStopping !== true).reverse().map(endOf);
}

function endOf({ address }: Pick<OwnTask, "address">): Outgoing {
  const reason = "Its session was canceled with all its tasks";
  return { kind: "message", to: address, message: { type: "task.cancel", reason } };
}

function callAsked(context: SessionContext, event: SessionEvent, stop: Stop): StopStep {
  const { call: ordinal = "" } = expect(event, "session.cancel");
  if (context.current === null) {
    const own = { ...stop, notFound: [ordinal] };
    return answer({ ...context, stops: [...context.stops ?? [], own] });
  }
  const own = { ...stop, awaits: [callName(context, ordinal)] };
  const told: TurnEvent = { type: "turn.cancel_call", ordinal, at: atOf(event) };
  return { changes: { stops: [...context.stops ?? [], own] }, posts: [], told };
}

function refused(command: CommandRef | null): StopStep {
  if (command === null) return { changes: {}, posts: [] };
  const why = failure(
    "cancels_waiting",
    `${limits.cancelsWaitingMax} cancels wait already for what they stop: wait for their answers`,
  );
  return {
    changes: {},
    posts: [{ kind: "reply", command, status: "failed", value: { failure: { ...why } } }],
  };
}

interface Drop {
  readonly queue: SessionContext["queue"];
  readonly stopped: readonly Stopped[];
  readonly posts: readonly Outgoing[];
}

/** Prompts that end before they become a turn: the one that was about to, or all, as in a session that ends. */
function dropped(
  context: SessionContext,
  { scope, isInTurn, isAll }: {
    readonly scope: CancelScope;
    readonly isInTurn: boolean;
    readonly isAll: boolean;
  },
): Drop {
  const count = isAll ? context.queue.length : isInTurn ? 0 : 1;
  const gone = context.queue.slice(0, count);
  const closing = scope === "session" ? { ...context, isClosed: true } : context;
  return {
    queue: context.queue.slice(count),
    stopped: gone.map(({ seq }) => ({ kind: "prompt", address: `prompt/${seq}`, ended: "canceled" })),
    posts: gone.flatMap((prompt) => dropPrompt({ ...closing, queue: [prompt] })),
  };
}

/** A task that is born into a stop, or by what a stopped turn left behind: it ends before it begins. */
export function isBornInStop(context: SessionContext, event: SessionEvent): boolean {
  if (event.type !== "task.opened" || !isOwn(context, event.sender)) return false;
  if (context.isClosed === true) return true;
  if (context.current === null) return context.stoppedTurn === context.turn;
  return (context.stops ?? []).some((stop) => isWideIn(context, stop));
}

function isWideIn(context: SessionContext, { scope, awaits }: Stop): boolean {
  return scope !== "turn" && scope !== "call" && awaits.includes(turnName(context));
}

/** Ends a task that was born too late, and lets the stops wait for it. */
export function endNewborn(context: SessionContext, event: SessionEvent): StopStep {
  const { task, kind, sender: address = "" } = expect(event, "task.opened");
  const stops = (context.stops ?? []).map((stop) =>
    isWideIn(context, stop) ? { ...stop, awaits: [...stop.awaits, address] } : stop
  );
  const born: OwnTask = { task, address, kind, isRunning: false, isStopping: true };
  return { changes: { stops, tasks: [...context.tasks ?? [], born] }, posts: [endOf(born)] };
}

/** Something ended: whoever waits for it learns how, and is answered if it was the last. */
export function noteEnd(context: SessionContext, event: SessionEvent): StopStep {
  const end = endIn(context, event);
  if (end === undefined || (context.stops ?? []).length === 0) return { changes: {}, posts: [] };
  const turn = turnName(context);
  const stops = (context.stops ?? []).map((stop): Stop => {
    const isAwaited = stop.awaits.includes(end.address);
    const isPart = end.kind === "call" && stop.scope !== "call" && stop.awaits.includes(turn);
    if (!isAwaited && !isPart) return stop;
    const awaits = stop.awaits.filter((address) => address !== end.address);
    if (end.ended === null) return { ...stop, awaits, notFound: [...stop.notFound, ordinalIn(end.address)] };
    return { ...stop, awaits, stopped: [...stop.stopped, { ...end, ended: end.ended }] };
  });
  return answer({ ...context, stops });
}

type End = Omit<Stopped, "ended"> & { readonly ended: string | null };

function endIn(context: SessionContext, event: SessionEvent): End | undefined {
  if (event.type === "task.ended") {
    const { sender: address = "", title: label, status } = event;
    return { kind: "task", address, label, ended: status };
  }
  if (event.type === "turn.call_stopped") {
    const { ordinal, name, outcome } = event;
    return { kind: "call", address: callName(context, ordinal), ...labeled(name), ended: outcome };
  }
  if (!isTurnDone(event)) return undefined;
  const { turn, outcome } = ended(event).output as TurnResult;
  return { kind: "turn", address: `turn/${turn}`, ended: outcome };
}

/** What is left of a turn, or of a call, waits for a person: the answer says so rather than wait as well. */
export function noteUndecided(context: SessionContext, event: SessionEvent): StopStep {
  const { calls, isAll } = expect(event, "turn.undecided");
  const turn = turnName(context);
  const named = calls.map(({ ordinal, name }): GoingOn => ({
    kind: "call",
    address: callName(context, ordinal),
    ...labeled(name),
  }));
  const stops = (context.stops ?? []).map((stop): Stop => {
    const isTurns = isAll && stop.awaits.includes(turn);
    const own = isTurns ? named : named.filter(({ address }) => stop.awaits.includes(address));
    if (own.length === 0) return stop;
    const gone = new Set([...own.map(({ address }) => address), ...(isTurns ? [turn] : [])]);
    return {
      ...stop,
      awaits: stop.awaits.filter((address) => !gone.has(address)),
      undecided: [...stop.undecided, ...own, ...(isTurns ? [{ kind: "turn" as const, address: turn }] : [])],
    };
  });
  return answer({ ...context, stops });
}

/** Answers the stops that wait for nothing any more. */
function answer(context: SessionContext): StopStep {
  const over = (context.stops ?? []).filter(({ awaits }) => awaits.length === 0);
  const posts = over.flatMap((stop): readonly Outgoing[] => {
    if (stop.command === null) return [];
    const value = reportOf(context, stop) as unknown as Json;
    return [{ kind: "reply", command: stop.command, status: "ok", value }];
  });
  return { changes: { stops: (context.stops ?? []).filter((stop) => !over.includes(stop)) }, posts };
}

function reportOf(context: SessionContext, { scope, stopped, undecided, notFound }: Stop): CancelReport {
  const tasks = (context.tasks ?? []).filter(({ isStopping }) => isStopping !== true);
  const waiting = context.queue.map(({ seq }): GoingOn => ({ kind: "prompt", address: `prompt/${seq}` }));
  const goesOn = tasks.map(({ address, kind }): GoingOn => ({ kind: "task", address, label: kind }));
  return {
    result: stopped.length + undecided.length === 0 ? "nothing_to_cancel" : "stopped",
    scope,
    stopped: [...stopped],
    undecided: [...undecided],
    goesOn: scope === "call" ? [] : [...goesOn, ...waiting],
    notFound: [...notFound],
  };
}

function atOf(event: SessionEvent): number {
  return "at" in event ? event.at : 0;
}

function labeled(name: string): { readonly label?: string } {
  return name === "" ? {} : { label: name.slice(0, 256) };
}

function turnName({ turn }: Pick<SessionContext, "turn">): string {
  return `turn/${turn}`;
}

function callName({ turn }: Pick<SessionContext, "turn">, ordinal: string): string {
  return `turn/${turn}/${ordinal}`;
}

function ordinalIn(call: string): string {
  return call.replace(/^turn\/\d+\//, "");
}
