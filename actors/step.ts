/** One macrostep of a compiled machine under way, and the acts that it is made of: XState's actions as plain functions. */
import {
  type AnyActorLogic,
  type AnyActorRef,
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  type EventObject,
} from "xstate";

/** What a machine remembers. */
export type Context = Record<string, unknown>;

/** One macrostep: what it began from, and what became of it so far. `State` is where the machine stands. */
export interface Step<State = unknown> {
  readonly scope: AnyActorScope;
  readonly event: EventObject;
  at: State;
  context: Context;
  /** Children come and go in place: only an actor's latest snapshot is ever looked at. */
  children: Record<string, AnyActorRef>;
  /** True once a child came or went. */
  isMoved: boolean;
  status: AnyMachineSnapshot["status"];
  output: unknown;
  error: unknown;
}

/** One action, ready to run. */
export type Act = (step: Step) => void;

/** A function of a machine's configuration. */
export type Call = (args: unknown, params?: unknown) => unknown;

/** Thrown for a machine that uses what tables cannot hold: nested or parallel states, history, delays, raised events. */
export class NotFlatError extends Error {}

/** The parts of XState's built-in actions that are used here. */
interface Builtin {
  readonly type: string;
  readonly assignment?: unknown;
  readonly collect?: Call;
  readonly to?: unknown;
  readonly event?: unknown;
  readonly delay?: unknown;
}

/** XState's own: where an actor is in its life. */
const running = 1;
const stopped = 2;

/** Makes an act of an action as it stands in a configuration: a name, a name with parameters, or a function. */
export function actOf(machine: AnyStateMachine, action: unknown): Act {
  const parts = typeof action === "object"
    ? action as { readonly type: string; readonly params?: unknown }
    : undefined;
  const type = parts?.type ?? action;
  const found: unknown = typeof type === "string" ? machine.implementations.actions[type] : type;
  if (typeof found !== "function") throw new NotFlatError(`Cannot compile an action of "${machine.id}"`);
  if ("resolve" in found) return builtinOf(machine, found as unknown as Builtin);
  const call = found as Call;
  const params = parts?.params;
  if (typeof params !== "function") return (step) => custom(step, call, params);
  const work = params as Call;
  return (step) => custom(step, call, work({ context: step.context, event: step.event }));
}

function builtinOf(machine: AnyStateMachine, action: Builtin): Act {
  switch (action.type) {
    case "xstate.assign": {
      const merge = mergeOf(machine);
      return (step) => assignTo(step, action.assignment, merge);
    }
    case "xstate.sendTo":
      if (action.delay !== undefined) break;
      return (step) => sendTo(step, action.to, action.event);
    case "xstate.enqueueActions":
      if (action.collect === undefined) break;
      return enqueueOf(machine, action.collect);
  }
  throw new NotFlatError(`Cannot compile ${action.type} of "${machine.id}"`);
}

/** What XState gives to actions. */
function argsOf({ context, event, scope }: Step) {
  return { context, event, self: scope.self, system: scope.system };
}

function custom(step: Step, call: Call, params: unknown): void {
  const args = argsOf(step);
  perform(step.scope, () => call(args, params));
}

/** Effects of an actor that does not run yet wait until it starts. */
function perform(scope: AnyActorScope, effect: () => unknown): void {
  if (statusOf(scope.self) === running) effect();
  else scope.defer(() => void effect());
}

function statusOf(actor: AnyActorRef): number {
  return (actor as unknown as { readonly _processingStatus: number })._processingStatus;
}

function assignTo(step: Step, assignment: unknown, merge: Merge): void {
  const args = argsOf(step);
  if (typeof assignment === "function") {
    step.context = merge(step.context, (assignment as Call)(args) as Context);
    return;
  }
  const change: Context = {};
  const fields = assignment as Context;
  for (const key in fields) change[key] = valueOf(fields[key], args);
  step.context = merge(step.context, change);
}

/** A context with what an assignment changes of it. */
type Merge = (context: Context, change: Context) => Context;

/** A place of their own for the machines that run most: V8 copies fast where it meets objects of one shape. */
const merges: { readonly [machine: string]: Merge } = {
  session: (context, change) => ({ ...context, ...change }),
  turn: (context, change) => ({ ...context, ...change }),
  invocation: (context, change) => ({ ...context, ...change }),
};

function mergeOf({ id }: AnyStateMachine): Merge {
  return merges[id] ?? ((context, change) => ({ ...context, ...change }));
}

/** A value that may be computed. */
export function valueOf(mapper: unknown, args: unknown): unknown {
  return typeof mapper === "function" ? (mapper as Call)(args) : mapper;
}

function sendTo(step: Step, to: unknown, event: unknown): void {
  const { scope, children } = step;
  const args = argsOf(step);
  const sent = valueOf(event, args) as EventObject;
  const wanted = valueOf(to, args);
  let target = wanted as AnyActorRef | undefined;
  if (wanted === "#_parent") target = (scope.self as unknown as { readonly _parent: AnyActorRef })._parent;
  else if (typeof wanted === "string") target = children[wanted];
  if (target === undefined) {
    throw new Error(`Cannot send to "${String(wanted)}": "${scope.id}" has no such child`);
  }
  const receiver = target;
  perform(scope, () => scope.defer(() => receiver.send(sent)));
}

/** How a child is started. */
export interface SpawnOptions {
  readonly id?: unknown;
  readonly input?: unknown;
}

/** Starts a child: made at once, so that its ports book in order, and started when the step is over. */
export function beginChild(machine: AnyStateMachine, src: unknown, { id, input }: SpawnOptions): Act {
  const logic = machine.implementations.actors[String(src)] as AnyActorLogic | undefined;
  if (logic === undefined || typeof id !== "string") {
    throw new NotFlatError(`Cannot compile a child of "${machine.id}"`);
  }
  return (step) => {
    const { scope, context, event } = step;
    const given = valueOf(input, { context, event, self: scope.self });
    const options = { id, src, parent: scope.self, syncSnapshot: false, systemId: undefined, input: given };
    const child: AnyActorRef = createActor(logic, options as object);
    step.children[id] = child;
    step.isMoved = true;
    perform(scope, () => scope.defer(() => statusOf(child) !== stopped && child.start()));
  };
}

/** Stops the child of an id, if there is one. */
export function stop(step: Step, id: string): void {
  const child = step.children[id];
  if (child === undefined) return;
  delete step.children[id];
  step.isMoved = true;
  stopActor(step.scope, child);
}

/** Stops every child; they stay listed, as XState has it for machines that ended. */
export function stopAll({ scope, children }: Step): void {
  for (const child of Object.values(children)) stopActor(scope, child);
}

function stopActor(scope: AnyActorScope, child: AnyActorRef): void {
  perform(scope, () => {
    // A running child first takes what was sent to it; one that never ran must not start any more.
    if (statusOf(child) === running) scope.defer(() => scope.stopChild(child));
    else scope.stopChild(child);
  });
}

function enqueueOf(machine: AnyStateMachine, collect: Call): Act {
  let acts: Act[] = [];
  const merge = mergeOf(machine);
  const enqueue = Object.assign((action: unknown) => acts.push(actOf(machine, action)), {
    assign: (assignment: unknown) => acts.push((step) => assignTo(step, assignment, merge)),
    sendTo: (to: unknown, event: unknown) => acts.push((step) => sendTo(step, to, event)),
    spawnChild: (src: unknown, options: SpawnOptions) => acts.push(beginChild(machine, src, options)),
    stopChild: (id: string) => acts.push((step) => stop(step, id)),
  });
  return (step) => {
    // Begun anew each time: what was collected before a throw is nobody's.
    acts = [];
    collect({ ...argsOf(step), enqueue });
    const collected = acts;
    for (const act of collected) act(step);
  };
}
