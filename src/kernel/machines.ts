/** The machines as they are run: compiled once for each wiring, and wired to whichever desk has a crank under way. */
import type { Desk } from "../../actors/port.ts";
import {
  compileMachines,
  type Outbox,
  type RunnableMachines,
  type WiredMachines,
  wireMachines,
} from "../../actors/wiring.ts";
import { openDesk } from "./desk.ts";

/** Where machines ask and post. */
export type PortDesk = Desk & Outbox;

/** Wires machines to a desk. Asked once in a process, so it may keep nothing that belongs to one runtime. */
export type Wiring = (desk: PortDesk) => WiredMachines;

const compiled = new WeakMap<Wiring, RunnableMachines>();

/** The machines of a wiring. Making them takes milliseconds: all runtimes and replays of a process share them. */
export function machinesOf(wire: Wiring = wireMachines): RunnableMachines {
  const known = compiled.get(wire);
  if (known !== undefined) return known;
  const machines = compileMachines(wire(openDesk), () => openDesk.mayGoOn());
  compiled.set(wire, machines);
  return machines;
}
