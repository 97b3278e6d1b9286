/** The tables of a flat machine: for every state, what each event leads to, what entering and leaving it does. */
import type { AnyMachineSnapshot, AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from "xstate";
import { type Act, actOf, beginChild, type Call, NotFlatError, type Step, stop } from "./step.ts";

/** One transition: taken if its guard passes. Without a target it only acts. */
export interface Transition {
  readonly guard: ((step: Step) => boolean) | undefined;
  readonly acts: readonly Act[];
  readonly target: State | undefined;
  /** True if it leaves its state and enters one, be it the same. */
  readonly moves: boolean;
}

/** One state. */
export interface State {
  readonly node: AnyStateNode;
  /** A snapshot of XState's own in this state: where value, tags and methods come from. */
  readonly template: AnyMachineSnapshot;
  readonly entry: readonly Act[];
  readonly exit: readonly Act[];
  always: readonly Transition[];
  /** Candidates by the exact type of an event, those of the machine itself and of wildcards included. */
  exact: ReadonlyMap<string, readonly Transition[]>;
  /** Candidates for all other types, by prefix; the longest first. */
  wild: readonly (readonly [prefix: string, transitions: readonly Transition[]])[];
}

/** A machine as tables. */
export interface Tables {
  readonly machine: AnyStateMachine;
  readonly states: ReadonlyMap<string, State>;
  readonly initial: State;
  readonly iterationsMax: number;
}

/** Makes the tables. Throws {@linkcode NotFlatError} for a machine that is not flat. */
export function tablesOf(machine: AnyStateMachine): Tables {
  const { root } = machine;
  if (root.type !== "compound" || root.entry.length + root.exit.length + root.invoke.length > 0) {
    throw new NotFlatError(`Machine "${machine.id}" has no flat states, or acts at its root`);
  }
  const nodes = Object.values(root.states) as AnyStateNode[];
  const states = new Map(nodes.map((node) => [node.key, stateOf(machine, node)]));
  for (const state of states.values()) fill(machine, states, state);
  const initial = states.get(root.initial.target?.[0]?.key ?? "");
  if (initial === undefined) throw new NotFlatError(`Machine "${machine.id}" has no initial state`);
  return { machine, states, initial, iterationsMax: machine.options?.maxIterations ?? Infinity };
}

function stateOf(machine: AnyStateMachine, node: AnyStateNode): State {
  if (node.type !== "atomic" && node.type !== "final") {
    throw new NotFlatError(`State "${node.id}" is ${node.type}`);
  }
  const acts = (actions: readonly unknown[]) => actions.map((action) => actOf(machine, action));
  const stops = node.invoke.map(({ id }): Act => (step) => stop(step, id));
  return {
    node,
    template: machine.resolveState({ value: node.key, context: {} }),
    entry: [...acts(node.entry), ...node.invoke.map((invoke) => beginChild(machine, invoke.src, invoke))],
    exit: [...acts(node.exit), ...stops],
    always: [],
    exact: new Map(),
    wild: [],
  };
}

/** The state's own candidates come before those of the machine; exact types before wildcards, long before short. */
function fill(machine: AnyStateMachine, states: ReadonlyMap<string, State>, state: State): void {
  const { node } = state;
  const { root } = machine;
  const of = (definitions: readonly AnyTransitionDefinition[] = []) =>
    definitions.map((definition) => transitionOf(machine, states, definition));
  const types = new Set([...node.transitions.keys(), ...root.transitions.keys()]);
  const exact = [...types].filter((type) => !type.endsWith("*"));
  const wild = [...types].filter((type) => type.endsWith("*")).sort((a, b) => b.length - a.length);
  state.always = of([...node.always ?? [], ...root.always ?? []]);
  state.exact = new Map(exact.map((type) => [type, of([...matching(node, type), ...matching(root, type)])]));
  state.wild = wild.map((type) => {
    const shorter = wild.filter((other) => type.startsWith(other.slice(0, -1)));
    const both = [node, root].flatMap((one) => shorter.flatMap((other) => one.transitions.get(other) ?? []));
    return [type.slice(0, -1), of(both)];
  });
}

function matching(node: AnyStateNode, type: string): readonly AnyTransitionDefinition[] {
  return [...node.transitions.keys()]
    .filter((one) => one === type || (one.endsWith("*") && type.startsWith(one.slice(0, -1))))
    .sort((a, b) => Number(b === type) - Number(a === type) || b.length - a.length)
    .flatMap((one) => node.transitions.get(one) ?? []);
}

function transitionOf(
  machine: AnyStateMachine,
  states: ReadonlyMap<string, State>,
  { target = [], guard, actions, reenter, source }: AnyTransitionDefinition,
): Transition {
  const [first, second] = target;
  if (second !== undefined) throw new NotFlatError(`A transition of "${source.id}" has several targets`);
  return {
    guard: guard === undefined ? undefined : guardOf(machine, guard),
    acts: actions.map((action) => actOf(machine, action)),
    target: first === undefined ? undefined : states.get(first.key),
    moves: first !== undefined && (reenter || first !== source),
  };
}

function guardOf(machine: AnyStateMachine, guard: unknown): (step: Step) => boolean {
  const named: unknown = typeof guard === "string" ? machine.implementations.guards[guard] : guard;
  if (typeof named !== "function" || "check" in named) {
    throw new NotFlatError(`Cannot compile a guard of "${machine.id}"`);
  }
  const check = named as Call;
  return ({ context, event }) => check({ context, event }) === true;
}
