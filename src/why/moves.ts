/** What a machine takes in a state, and where that leads: read off its own definition, so that it is never out of date. */
import type { AnyMachineSnapshot, EventObject } from "xstate";
import type { PortDone, PortFailed, PortRequest } from "../../schemas/effect.ts";
import { failure } from "../../schemas/failure.ts";
import type { IntentId } from "../../schemas/ids.ts";
import type { Taken } from "./actor_state.ts";

type Node = AnyMachineSnapshot["_nodes"][number];
type Transitions = ReturnType<Node["transitions"]["get"]>;

/** Messages of others that an actor takes as it stands. What its ports and children yield is no message. */
export function takesOf(snapshot: AnyMachineSnapshot): readonly Taken[] {
  const messages = new Set(snapshot._nodes.flatMap((node) => [...node.transitions.keys()]));
  return [...messages]
    .filter((message) => !message.startsWith("xstate.") && message !== "")
    .map((message) => {
      const to = targetsOf(snapshot, message);
      const later = to.length > 0 || !isActedUpon(snapshot, message) ? [] : eventlessOf(snapshot);
      return { message, to: [...to, ...later], byItself: later.length > 0 };
    });
}

/** True if anything is done about a message. */
function isActedUpon(snapshot: AnyMachineSnapshot, message: string): boolean {
  return snapshot._nodes.some((node) =>
    transitionsOf(node, message).some(({ actions }) => actions.length > 0)
  );
}

/** States that an actor leaves for by itself, once what it remembers is so. */
function eventlessOf(snapshot: AnyMachineSnapshot): readonly string[] {
  const always = snapshot._nodes.flatMap((node) => node.always ?? []);
  return [...new Set(always.flatMap(({ target }) => (target ?? []).map((to) => to.key)))];
}

/** States that an event may lead to, without the one that it is in unless it is entered anew. */
export function targetsOf(snapshot: AnyMachineSnapshot, event: string): string[] {
  const targets = new Set<string>();
  // Deepest first: a parent state is asked only where the state itself does not take the event in any case.
  for (const node of [...snapshot._nodes].reverse()) {
    const own = transitionsOf(node, event);
    for (const { target } of own) for (const to of target ?? []) targets.add(to.key);
    if (own.some(({ guard }) => guard === undefined)) break;
  }
  return [...targets];
}

function transitionsOf(node: Node, event: string): NonNullable<Transitions> {
  const exact = node.transitions.get(event);
  if (exact !== undefined) return exact;
  const wild = [...node.transitions.keys()]
    .filter((one) => one.endsWith("*") && event.startsWith(one.slice(0, -1)))
    .sort((left, right) => right.length - left.length);
  return wild[0] === undefined ? [] : node.transitions.get(wild[0]) ?? [];
}

/** A port that an actor waits for, and the child by whose name it does. */
export interface OpenPort {
  readonly name: string;
  readonly id: IntentId;
  readonly request: PortRequest;
}

/**
 * States that an actor goes to when a port's time is up. Its own guards are asked, with the very outcome that comes then:
 * of an effect that could hurt either that it was not begun, or that nobody knows.
 */
export function lateTargetsOf(snapshot: AnyMachineSnapshot, { name, id, request }: OpenPort): string[] {
  const moment = { at: request.deadlineAtMs ?? 0, epoch: 1, intent: id };
  if (request.port === "timer.set") {
    const output: PortDone = { value: null, ...moment, at: request.args.dueAtMs };
    return [...new Set(reactionTo(snapshot, { type: `xstate.done.actor.${name}`, output } as EventObject))];
  }
  const statuses = request.effect === "idempotent"
    ? ["timed_out"] as const
    : ["timed_out", "unknown"] as const;
  const code = request.port === "question.ask" ? "approval_expired" : "tool_timed_out";
  return [
    ...new Set(statuses.flatMap((status) => {
      const error: PortFailed = { status, failure: failure(code, "Time is up"), ...moment };
      return reactionTo(snapshot, { type: `xstate.error.actor.${name}`, error } as EventObject);
    })),
  ];
}

/** Where the first transition leads whose guard lets the event pass; a guard that cannot be asked may do so. */
function reactionTo(snapshot: AnyMachineSnapshot, event: EventObject): string[] {
  const targets: string[] = [];
  for (const node of [...snapshot._nodes].reverse()) {
    for (const { guard, target } of transitionsOf(node, event.type)) {
      const passes = mayPass(snapshot, guard, event);
      if (passes === false) continue;
      targets.push(...(target ?? []).map((to) => to.key));
      if (passes === true) return targets;
    }
  }
  return targets;
}

function mayPass(snapshot: AnyMachineSnapshot, guard: unknown, event: EventObject): boolean | "unsure" {
  if (guard === undefined) return true;
  const check: unknown = typeof guard === "string" ? snapshot.machine.implementations.guards[guard] : guard;
  if (typeof check !== "function") return "unsure";
  try {
    return check({ context: snapshot.context, event }) === true;
  } catch {
    return "unsure";
  }
}
