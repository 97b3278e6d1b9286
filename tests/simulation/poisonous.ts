/** The machines of the simulation: those of the runtime, with guards that break on marked texts or tell what they see. */
import type { AnyStateMachine } from "xstate";
import { type WiredMachines, wireMachines } from "../../actors/wiring.ts";
import type { InvocationResult } from "../../schemas/invocation.ts";
import type { PortDesk } from "../../src/kernel/machines.ts";
import { poisons } from "./scenario.ts";

type Guard = (args: { readonly context: never; readonly event: never }, params?: never) => boolean;

interface Parts {
  readonly actors: { readonly [name: string]: AnyStateMachine };
  readonly guards: { readonly [name: string]: Guard };
}

function partsOf(machine: AnyStateMachine): Parts {
  return machine.implementations as unknown as Parts;
}

/** The machine with one guard that first does something else. */
function guarded(
  machine: AnyStateMachine,
  name: string,
  first: (args: { readonly context: unknown; readonly event: unknown }) => void,
): AnyStateMachine {
  const own = partsOf(machine).guards[name];
  if (own === undefined) throw new Error(`Cannot wrap the guard "${name}": there is none`);
  const guard: Guard = (args, params) => {
    first(args);
    return own(args, params);
  };
  return machine.provide({ guards: { [name]: guard } } as never);
}

function withActor(machine: AnyStateMachine, name: string, actor: AnyStateMachine): AnyStateMachine {
  return machine.provide({ actors: { [name]: actor } } as never);
}

function breakOn(mark: string): (args: { readonly event: unknown }) => void {
  return ({ event }) => {
    const { text, output } = event as {
      readonly text?: string;
      readonly output?: { readonly value?: { readonly text?: string; readonly model?: string } };
    };
    const said = text ?? output?.value?.text ?? output?.value?.model;
    if (said?.startsWith(mark)) throw new Error(`This machine cannot bear "${mark}"`);
  };
}

/** Wires machines that fail on a poisonous prompt, a poisonous answer of the model and a poisonous result of a tool (K23). */
export function wirePoisonous(desk: PortDesk): WiredMachines {
  const machines = wireMachines(desk);
  const turn = partsOf(machines.session).actors["turn"] as AnyStateMachine;
  const invocation = partsOf(turn).actors["invocation"] as AnyStateMachine;
  const weakInvocation = guarded(invocation, "returnedError", breakOn(poisons.result));
  const weakTurn = withActor(
    guarded(turn, "hasNoCalls", breakOn(poisons.answer)),
    "invocation",
    weakInvocation,
  );
  return {
    ...machines,
    session: withActor(
      guarded(machines.session, "isQueueFull", breakOn(poisons.input)),
      "turn",
      weakTurn,
    ),
  };
}

/** The machines with one guard of invocations replaced: a planted bug. */
export function guardedTurn(machines: WiredMachines, name: string, guard: () => boolean): WiredMachines {
  const turn = partsOf(machines.session).actors["turn"] as AnyStateMachine;
  const invocation = partsOf(turn).actors["invocation"] as AnyStateMachine;
  const broken = invocation.provide({ guards: { [name]: guard } } as never);
  return { ...machines, session: withActor(machines.session, "turn", withActor(turn, "invocation", broken)) };
}

/** The machines with one guard of turns replaced: a planted bug. */
export function misguidedTurn(
  machines: WiredMachines,
  name: string,
  guard: (args: { readonly context: unknown }) => boolean,
): WiredMachines {
  const turn = partsOf(machines.session).actors["turn"] as AnyStateMachine;
  const broken = turn.provide({ guards: { [name]: guard } } as never);
  return { ...machines, session: withActor(machines.session, "turn", broken) };
}

/** Told how an invocation ended, as its turn sees it: `turn` counts from 1 in its session. */
export type Tell = (turn: number, result: InvocationResult) => void;

let listener: Tell | undefined;

/** Sets who is told by the machines of {@linkcode wireTelling} from now on: machines are wired once, their roots are many. */
export function tellTo(tell: Tell): void {
  listener = tell;
}

/** Wires machines that tell how every invocation ended. */
export function wireTelling(desk: PortDesk): WiredMachines {
  const machines = wireMachines(desk);
  const turn = partsOf(machines.session).actors["turn"] as AnyStateMachine;
  const talkative = guarded(turn, "isCanceledStage", ({ context }) => {
    const { turn, results } = context as {
      readonly turn: number;
      readonly results: readonly InvocationResult[];
    };
    for (const result of results) listener?.(turn, result);
  });
  return { ...machines, session: withActor(machines.session, "turn", talkative) };
}
