/** The one actor logic by which a machine reaches outside, and the desk at which it asks. */
import type { ActorLogic, AnyActorRef, AnyEventObject, EventObject, Snapshot } from "xstate";
import type { PortDone, PortFailed, PortRequest } from "../schemas/effect.ts";
import type { IntentId } from "../schemas/ids.ts";

/** What a port is told: its outcome, or that nobody wants it any more. */
export type PortEvent =
  | { readonly type: "port.settled"; readonly done: PortDone }
  | { readonly type: "port.failed"; readonly failed: PortFailed }
  | { readonly type: "port.cancel" };

/** A port's state, as it is persisted: the request, the id it was booked under, and whether it was canceled. */
export type PortSnapshot = Snapshot<PortDone> & {
  readonly request: PortRequest;
  readonly id: IntentId;
  readonly cancelAsked: boolean;
};

/**
 * Where ports ask. The kernel implements it; it never throws (K4): what it dislikes it remembers, and the kernel
 * looks after `send`.
 */
export interface Desk {
  /** Books the next position of this crank for a new request (K2). */
  book(request: PortRequest): IntentId;
  /** A port started: a new one right after its booking, a restored one under the id of its snapshot. */
  register(id: IntentId, request: PortRequest, ref: AnyActorRef, cancelAsked: boolean): void;
  /** A machine asks to stop the effect; the answer comes as an outcome (K11). */
  cancel(id: IntentId): void;
  /** The port was stopped while pending. Forbidden for effects that could hurt (K11). */
  drop(id: IntentId, request: PortRequest): void;
}

type PortLogic = ActorLogic<PortSnapshot, PortEvent, PortRequest>;

function settle(snapshot: PortSnapshot, event: PortEvent | AnyEventObject, desk: Desk): PortSnapshot {
  const known = event as PortEvent;
  switch (known.type) {
    case "port.settled":
      return { ...snapshot, status: "done", output: known.done, error: undefined } as PortSnapshot;
    case "port.failed":
      return { ...snapshot, status: "error", output: undefined, error: known.failed } as PortSnapshot;
    case "port.cancel":
      if (snapshot.cancelAsked) return snapshot;
      desk.cancel(snapshot.id);
      return { ...snapshot, cancelAsked: true };
    default:
      if ((event as EventObject).type !== "xstate.stop") return snapshot;
      desk.drop(snapshot.id, snapshot.request);
      return { ...snapshot, status: "stopped", output: undefined, error: undefined } as PortSnapshot;
  }
}

/**
 * Makes the port logic for one desk. On start it registers its request, synchronously; the outcome comes as an event
 * and makes it `done` or `error`, so the machine's `onDone` / `onError` runs in the same crank. A restored port
 * registers under its old id, writes nothing and performs nothing (K2).
 */
export function createPort(desk: Desk): PortLogic {
  return {
    transition: (snapshot, event) => snapshot.status === "active" ? settle(snapshot, event, desk) : snapshot,
    getInitialSnapshot: (_scope, request) => ({
      status: "active",
      output: undefined,
      error: undefined,
      request,
      id: desk.book(request),
      cancelAsked: false,
    }),
    start: (snapshot, scope) => {
      if (snapshot.status === "active") {
        desk.register(snapshot.id, snapshot.request, scope.self, snapshot.cancelAsked);
      }
    },
    getPersistedSnapshot: (snapshot) => snapshot,
    restoreSnapshot: (persisted) => persisted as PortSnapshot,
  };
}

/** The port that machines are written against; every machine is run with a wired one (`actors/wiring.ts`). */
export const port: PortLogic = createPort({
  book: () => "1.0",
  register: () => {},
  cancel: () => {},
  drop: () => {},
});

/** What a port yielded, from the event of an invoke's `onDone`: XState types it by the port, which knows no kinds. */
export function doneOf(event: unknown): PortDone {
  return (event as { readonly output: PortDone }).output;
}

/** Why a port failed, from the event of an invoke's `onError`. */
export function failedOf(event: unknown): PortFailed {
  return (event as { readonly error: PortFailed }).error;
}
