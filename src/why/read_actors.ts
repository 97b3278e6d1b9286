/** Reads the actors of a root in memory: a live one, or one that was rebuilt from its journal. Changes nothing. */
import type { AnyActorRef, AnyMachineSnapshot } from "xstate";
import type { PortSnapshot } from "../../actors/port.ts";
import { intentKey, type RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { LiveRoot } from "../kernel/live_root.ts";
import { peek, peekList, peekText } from "../peek.ts";
import { QuestionKind } from "../../schemas/question.ts";
import { TurnWait } from "../../schemas/recovery.ts";
import {
  type ActorState,
  addressCharactersMax,
  type LiveState,
  type Wait,
  wordsCharactersMax,
} from "./actor_state.ts";
import { lateTargetsOf, takesOf, targetsOf } from "./moves.ts";
import { reasonOf } from "./wait_reason.ts";
import { wordsOf } from "./words.ts";

/** An actor that runs a machine, and where it stands below its root. */
export interface FoundActor {
  readonly address: string;
  readonly snapshot: AnyMachineSnapshot;
}

/** Every actor of a root that runs a machine: the root first, then those below it in the order in which they began. */
export function* actorsOf(root: LiveRoot): Iterable<FoundActor> {
  yield* below(root.actor, root.address);
}

function* below(actor: AnyActorRef, address: string): Iterable<FoundActor> {
  const snapshot: unknown = actor.getSnapshot();
  if (!isOfMachine(snapshot)) return;
  yield { address: address.slice(0, addressCharactersMax), snapshot };
  for (const [name, child] of childrenOf(snapshot)) yield* below(child, `${address}/${name}`);
}

function childrenOf(snapshot: AnyMachineSnapshot): readonly (readonly [name: string, child: AnyActorRef])[] {
  return Object.entries(snapshot.children as { readonly [name: string]: AnyActorRef });
}

function isOfMachine(snapshot: unknown): snapshot is AnyMachineSnapshot {
  return typeof snapshot === "object" && snapshot !== null && "machine" in snapshot;
}

/** The state of an actor, as one word. */
export function stateOf({ value, status }: AnyMachineSnapshot): string {
  return typeof value === "string" ? value : value === undefined ? status : JSON.stringify(value);
}

/** The actors of a root as they stand. */
export function readActors(root: LiveRoot): readonly ActorState[] {
  const found = [...actorsOf(root)];
  const context = found[0]?.snapshot.context;
  return found.map((one) => readActor(root.address, one, context));
}

/** A root that is awake, as it stands at this very moment; undefined if it sleeps. */
export function readLive(
  { roots, running }: Pick<Kernel, "roots" | "running">,
  address: RootAddress,
): LiveState | undefined {
  const root = roots.get(address);
  if (root === undefined) return undefined;
  // What an effect waits for itself only its performer knows.
  const actors = readActors(root).map((actor) => ({
    ...actor,
    waits: actor.waits.map((wait) => {
      const standing = running.get(intentKey(address, wait.id))?.standing?.();
      if (standing === undefined) return wait;
      return { ...wait, words: `${wait.words}, which ${standing}`.slice(0, wordsCharactersMax) };
    }),
  }));
  return { actors, isHeld: root.held, mail: root.mailbox.length };
}

function readActor(root: RootAddress, { address, snapshot }: FoundActor, ofRoot: unknown): ActorState {
  const { context } = snapshot;
  const state = stateOf(snapshot);
  return {
    address,
    machine: snapshot.machine.id,
    state: state.slice(0, 100),
    rests: snapshot.hasTag("rest") || snapshot.status === "done",
    waits: waitsOf(root, snapshot),
    awaits: awaitedBy(snapshot.machine.id, state, context),
    about: snapshot.machine.id === "question" ? askedBy(address.slice(root.length + 1), context, ofRoot) : [],
    takes: snapshot.status === "active" ? [...takesOf(snapshot)] : [],
    ...standing(snapshot.machine.id, state, context),
    ...restartsOf(root, snapshot.machine.id, context),
  };
}

/** What it waits for after a failure, and the word for what it waits for. */
function standing(machine: string, state: string, context: unknown): Pick<ActorState, "reason" | "wait"> {
  const wait = machine === "turn" ? TurnWait.safeParse(peek(context, "wait")).data : undefined;
  const question = QuestionKind.safeParse(peek(context, "subject", "kind")).data;
  const reason = reasonOf({ machine, state, wait, question });
  return { ...(reason === undefined ? {} : { reason }), ...(wait === undefined ? {} : { wait }) };
}

/** The calls that wait for a question: a session keeps those that would do the same as the first. */
function askedBy(name: string, context: unknown, ofRoot: unknown): string[] {
  const first = peekText(context, "subject", "invocation");
  const kept = peekList(ofRoot, "questions").find((one) => peekText(one, "id") === name);
  const others = peekList(kept, "waiting").map((ordinal) => `turn/${peekText(ofRoot, "turn")}/${ordinal}`);
  return [...new Set([first, ...others])];
}

function waitsOf(root: RootAddress, snapshot: AnyMachineSnapshot): Wait[] {
  const waits: Wait[] = [];
  for (const [name, child] of childrenOf(snapshot)) {
    const port: unknown = child.getSnapshot();
    if (!isPort(port)) continue;
    const { id, request, cancelAsked } = port;
    waits.push({
      id,
      port: request.port,
      effect: request.effect,
      ...wordsOf(request, intentKey(root, id)),
      to: targetsOf(snapshot, `xstate.done.actor.${name}`),
      lateTo: lateTargetsOf(snapshot, { name, id, request }),
      cancelAsked,
    });
  }
  return waits;
}

function isPort(snapshot: unknown): snapshot is PortSnapshot {
  return typeof snapshot === "object" && snapshot !== null && "request" in snapshot &&
    "cancelAsked" in snapshot && (snapshot as PortSnapshot).status === "active";
}

/** Roots whose message an actor waits for: where no port says so, its context does. */
function awaitedBy(machine: string, state: string, context: unknown): RootAddress[] {
  if (machine === "catalog" && state === "gathering") return peekList(context, "pending").map(String);
  if (machine === "session" && (state === "preparing" || state === "renewing")) {
    return [peekText(context, "catalog")];
  }
  if (machine === "task" && state === "queued") return [peekText(context, "owner")];
  return [];
}

function restartsOf(
  root: RootAddress,
  machine: string,
  context: unknown,
): Pick<ActorState, "restarts" | "restartPeriodMs"> {
  if (machine === "supervisor") {
    const restarts = peekList(context, "restarts").map((mark) => ({
      of: peekText(mark, "child"),
      atMs: Number(peek(mark, "at")),
    }));
    return { restarts, restartPeriodMs: Number(peek(context, "policy", "periodMs")) };
  }
  if (machine !== "connection") return { restarts: [], restartPeriodMs: 0 };
  const crashes = peekList(context, "crashes").map((atMs) => ({ of: root, atMs: Number(atMs) }));
  return { restarts: crashes, restartPeriodMs: limits.mcpCrashWindowMs };
}
