/**
 * Runs a flat machine from tables made once, rather than by XState's interpreter: the same states, snapshots and
 * effects, several times as fast. Machines are written for, and tested with, XState; a property test keeps both alike.
 */
import {
  type AnyActorLogic,
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type EventObject,
  StateMachine,
} from "xstate";
import { type Call, type Context, NotFlatError, type Step as AnyStep, stopAll, valueOf } from "./step.ts";
import { type State, type Tables, tablesOf, type Transition } from "./tables.ts";

type Step = AnyStep<State>;

/** Asked before every event that an actor takes; false once one message made too many of them (F15). */
export type Meter = () => boolean;

/**
 * The logic of a machine and of its children, from tables; any that is not flat stays as it is. What `meter` refuses is
 * not taken: actors that would tell each other things for ever come to an end.
 */
export function compileMachine(source: AnyStateMachine, meter?: Meter): AnyActorLogic {
  const actors = Object.entries(source.implementations.actors as Record<string, AnyActorLogic>);
  const inner = actors.map((
    [name, logic],
  ) => [name, logic instanceof StateMachine ? compileMachine(logic, meter) : logic]);
  const machine: AnyStateMachine = source.provide({ actors: Object.fromEntries(inner) });
  try {
    return metered(logicOf(tablesOf(machine)), meter);
  } catch (error) {
    if (error instanceof NotFlatError) return metered(machine, meter);
    throw error;
  }
}

/** The logic itself, with its transitions counted: XState looks other fields up in the very machine. */
function metered(logic: AnyActorLogic, meter: Meter | undefined): AnyActorLogic {
  if (meter === undefined) return logic;
  const { transition } = logic;
  logic.transition = (snapshot, event, scope) =>
    meter() ? transition.call(logic, snapshot, event, scope) : snapshot;
  return logic;
}

function logicOf(tables: Tables): AnyActorLogic {
  const { machine } = tables;
  return {
    config: machine.config,
    transition: (snapshot, event, scope) => transition(tables, snapshot, event, scope),
    getInitialSnapshot: (scope, input) => begin(tables, input, scope),
    start: machine.start,
    getPersistedSnapshot: machine.getPersistedSnapshot,
    restoreSnapshot: machine.restoreSnapshot,
  };
}

function begin(tables: Tables, input: unknown, scope: AnyActorScope): AnyMachineSnapshot {
  const { machine, initial } = tables;
  const event: EventObject & { readonly input: unknown } = { type: "xstate.init", input };
  const step: Step = {
    scope,
    event,
    at: initial,
    context: {},
    children: {},
    isMoved: false,
    status: "active",
    output: undefined,
    error: undefined,
  };
  try {
    step.context = valueOf(machine.config.context, { input, self: scope.self }) as Context;
    enter(tables, step, initial);
    settle(tables, step);
  } catch (error) {
    step.status = "error";
    step.error = error;
  }
  return snapshotOf(step, tables);
}

function transition(
  tables: Tables,
  snapshot: AnyMachineSnapshot,
  event: EventObject,
  scope: AnyActorScope,
): AnyMachineSnapshot {
  const at = tables.states.get(String(snapshot.value));
  if (at === undefined) {
    throw new Error(`Machine "${tables.machine.id}" has no state "${String(snapshot.value)}"`);
  }
  const { context, children, status, output, error } = snapshot;
  const step: Step = { scope, event, at, context, children, isMoved: false, status, output, error };
  if (event.type === "xstate.stop") return end(tables, step, "stopped");
  const taken = select(step, candidatesFor(at, event.type));
  if (taken !== undefined) take(tables, step, taken);
  else if (event.type.startsWith("xstate.error.actor")) {
    step.error = (event as EventObject & { readonly error: unknown }).error;
    return end(tables, step, "error");
  }
  settle(tables, step);
  const isSame = step.at === at && step.context === context && !step.isMoved && step.status === status;
  return isSame ? snapshot : snapshotOf(step, tables);
}

function end(tables: Tables, step: Step, status: "stopped" | "error"): AnyMachineSnapshot {
  stopAll(step);
  step.children = {};
  step.status = status;
  return snapshotOf(step, tables);
}

function candidatesFor({ exact, wild }: State, type: string): readonly Transition[] {
  return exact.get(type) ?? wild.find(([prefix]) => type.startsWith(prefix))?.[1] ?? [];
}

function select(step: Step, transitions: readonly Transition[]): Transition | undefined {
  for (const one of transitions) if (one.guard === undefined || one.guard(step)) return one;
  return undefined;
}

/** Takes eventless transitions until none is left, or one changes nothing. */
function settle(tables: Tables, step: Step): void {
  for (let count = 1; step.status === "active"; count++) {
    if (count > tables.iterationsMax) {
      throw new Error(`Infinite loop: the machine took more than ${tables.iterationsMax} microsteps`);
    }
    const { context, at } = step;
    const taken = at.always.length === 0 ? undefined : select(step, at.always);
    if (taken === undefined) return;
    take(tables, step, taken);
    if (!taken.moves && step.context === context) return;
  }
  stopAll(step);
}

function take(tables: Tables, step: Step, { target, acts, moves }: Transition): void {
  if (moves) { for (const act of step.at.exit) act(step); }
  for (const act of acts) act(step);
  if (moves && target !== undefined) enter(tables, step, target);
}

function enter({ machine }: Tables, step: Step, state: State): void {
  step.at = state;
  for (const act of state.entry) act(step);
  const { node } = state;
  if (node.type !== "final") return;
  step.status = "done";
  const { output } = machine.root;
  if (output === undefined) return;
  const { context, event, scope } = step;
  const own = valueOf(node.output, { context, event, self: scope.self });
  const done = { type: `xstate.done.state.${node.id}`, output: own };
  step.output = (typeof output === "function")
    ? (output as Call)({ context, event: done, self: scope.self })
    : output;
}

/** A snapshot with the very fields of XState's own, in their order: it is persisted and compared as text. */
function snapshotOf(
  { at, context, children, status, output, error }: Step,
  { machine }: Tables,
): AnyMachineSnapshot {
  const { template } = at;
  const own = template as unknown as { readonly _nodes: unknown; readonly toJSON: unknown };
  return {
    status,
    output,
    error,
    machine,
    context,
    _nodes: own._nodes,
    value: template.value,
    tags: template.tags,
    children,
    historyValue: {},
    matches: template.matches,
    hasTag: template.hasTag,
    can: template.can,
    getMeta: template.getMeta,
    toJSON: own.toJSON,
  } as unknown as AnyMachineSnapshot;
}
