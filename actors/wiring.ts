/** Gives every machine the port and the outbox of one desk; string sources stay, so that snapshots restore. */
import type { AnyActorLogic, AnyStateMachine } from "xstate";
import type { RootKind } from "../schemas/ids.ts";
import type { Outgoing } from "../schemas/message.ts";
import { auditMachine } from "./audit.ts";
import { catalogMachine } from "./catalog.ts";
import { compileMachine, type Meter } from "./compiled.ts";
import { invocationMachine } from "./invocation.ts";
import { connectionMachine } from "./connection.ts";
import { createPort, type Desk } from "./port.ts";
import { questionMachine } from "./question.ts";
import { scheduleMachine } from "./schedule.ts";
import { sessionMachine } from "./session.ts";
import { supervisorMachine } from "./supervisor.ts";
import { taskMachine } from "./task.ts";
import { turnMachine } from "./turn.ts";

/** A desk that also takes what machines post. */
export interface Outbox {
  post(outgoing: Outgoing): void;
}

/** The root machines of one runtime, by kind of root. */
export type WiredMachines = { readonly [K in RootKind]: AnyStateMachine };

/** Wires every machine to `desk`. Done once per runtime: providing a machine is not cheap. */
export function wireMachines(desk: Desk & Outbox): WiredMachines {
  const port = createPort(desk);
  const post = (_: unknown, params: Outgoing) => desk.post(params);
  const invocation = invocationMachine.provide({ actors: { port }, actions: { post } });
  const turn = turnMachine.provide({ actors: { port, invocation }, actions: { post } });
  const question = questionMachine.provide({ actors: { port } });
  return {
    session: sessionMachine.provide({ actors: { port, turn, question }, actions: { post } }),
    catalog: catalogMachine.provide({ actors: { port }, actions: { post } }),
    connection: connectionMachine.provide({ actors: { port, question }, actions: { post } }),
    schedule: scheduleMachine.provide({ actors: { port }, actions: { post } }),
    supervisor: supervisorMachine.provide({ actors: { port }, actions: { post } }),
    task: taskMachine.provide({ actors: { port }, actions: { post } }),
    audit: auditMachine.provide({ actors: { port }, actions: { post } }),
  };
}

/** The root machines as they are run. */
export type RunnableMachines = { readonly [K in RootKind]: AnyActorLogic };

/** Compiles wired machines, each with its children. Done once per runtime. `meter` counts the events of one message. */
export function compileMachines(machines: WiredMachines, meter?: Meter): RunnableMachines {
  return {
    session: compileMachine(machines.session, meter),
    catalog: compileMachine(machines.catalog, meter),
    connection: compileMachine(machines.connection, meter),
    schedule: compileMachine(machines.schedule, meter),
    supervisor: compileMachine(machines.supervisor, meter),
    task: compileMachine(machines.task, meter),
    audit: compileMachine(machines.audit, meter),
  };
}
