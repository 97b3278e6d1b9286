/** The desk of one runtime: what machines ask and post while one crank runs. Never throws (K4). */
import type { AnyActorRef } from "xstate";
import type { Desk } from "../../actors/port.ts";
import type { Outbox } from "../../actors/wiring.ts";
import type { PortRequest } from "../../schemas/effect.ts";
import { type Failure, failure, type FailureCode } from "../../schemas/failure.ts";
import type { IntentId } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { Outgoing } from "../../schemas/message.ts";

/** A pending port of a root: what it asked, and the actor that waits for the outcome. */
export interface PortRecord {
  readonly id: IntentId;
  readonly request: PortRequest;
  ref: AnyActorRef;
  cancelAsked: boolean;
  /** Set once the kernel will not start it any more: canceled or dropped before it began. */
  withdrawn: boolean;
}

/** A request booked in this crank. Only those that started and were not dropped become intents; gaps in n are normal. */
export interface Ask {
  readonly n: number;
  readonly id: IntentId;
  readonly request: PortRequest;
  record: PortRecord | undefined;
  dropped: boolean;
}

/** One thing that a crank wrote, in the order in which the machine did it. */
export type Write =
  | { readonly kind: "ask"; readonly ask: Ask }
  | { readonly kind: "post"; readonly outgoing: Outgoing };

/** A port that was stopped while its outcome was waited for. */
export interface Drop {
  readonly id: IntentId;
  readonly request: PortRequest;
  readonly record: PortRecord | undefined;
}

/** All that one crank asked and posted. */
export interface CrankRecord {
  readonly seq: number;
  readonly writes: Write[];
  readonly cancels: IntentId[];
  readonly drops: Drop[];
  asked: number;
  posted: number;
  /** Events that actors took. */
  taken: number;
  fault: Failure | undefined;
}

/** True if two ports have one name under one parent. */
function isNamesake(left: AnyActorRef, right: AnyActorRef): boolean {
  return left.id === right.id && left._parent === right._parent;
}

/** The desk whose crank is under way. A crank runs to its end without a pause, so there is one at most. */
let underWay: CrankDesk | undefined;

/** Where the machines of a runtime ask and post; one crank at a time uses it. */
export class CrankDesk implements Desk, Outbox {
  #crank: CrankRecord | undefined;
  #ports: Map<IntentId, PortRecord> | undefined;
  /** Requests by id, for asks whose port starts later in the same crank. */
  #booked = new Map<IntentId, Ask>();

  /** Opens the desk for one crank of the root that owns `ports`. `seq` 0: a restore, where nothing may be booked. */
  begin(ports: Map<IntentId, PortRecord>, seq: number): void {
    underWay = this;
    this.#ports = ports;
    this.#crank = {
      seq,
      writes: [],
      cancels: [],
      drops: [],
      asked: 0,
      posted: 0,
      taken: 0,
      fault: undefined,
    };
    this.#booked.clear();
  }

  /** Closes the desk and returns what was asked and posted. */
  end(): CrankRecord {
    const crank = this.#crank;
    underWay = undefined;
    this.#crank = undefined;
    this.#ports = undefined;
    if (crank === undefined) throw new Error("Cannot end a crank that did not begin");
    return crank;
  }

  /** True if an actor may take one more event of this crank. From the first refusal on, none is taken any more (F15). */
  mayGoOn(): boolean {
    const crank = this.#crank;
    if (crank === undefined || ++crank.taken <= limits.crankEventsMax) return true;
    this.#fault(`One message made more than ${limits.crankEventsMax} events`, "runaway_actor");
    return false;
  }

  book(request: PortRequest): IntentId {
    const crank = this.#crank;
    if (crank === undefined) return "1.0"; // A machine started outside a crank asks nobody.
    const n = crank.asked++;
    const id = `${crank.seq}.${n}`;
    if (crank.seq === 0) {
      this.#fault("A restored machine asked something new: its snapshot does not fit", "crank_failed");
    }
    if (n >= limits.crankAsksMax) this.#fault(`One message made more than ${limits.crankAsksMax} requests`);
    const ask: Ask = { n, id, request, record: undefined, dropped: false };
    this.#booked.set(id, ask);
    crank.writes.push({ kind: "ask", ask });
    return id;
  }

  register(id: IntentId, request: PortRequest, ref: AnyActorRef, cancelAsked: boolean): void {
    const record: PortRecord = { id, request, ref, cancelAsked, withdrawn: false };
    // K6: the machine would lose sight of the first of two children of one name.
    for (const other of this.#ports?.values() ?? []) {
      if (other.id !== id && isNamesake(other.ref, ref)) {
        this.#fault(`Two children are called "${ref.id}"`, "crank_failed");
      }
    }
    this.#ports?.set(id, record);
    const ask = this.#booked.get(id);
    if (ask !== undefined) ask.record = record;
    else if (this.#crank !== undefined && this.#crank.seq !== 0) {
      this.#fault(`Port ${id} came back within a crank`, "crank_failed");
    }
  }

  cancel(id: IntentId): void {
    const record = this.#ports?.get(id);
    if (record !== undefined) record.cancelAsked = true;
    this.#crank?.cancels.push(id);
  }

  drop(id: IntentId, request: PortRequest): void {
    const record = this.#ports?.get(id);
    this.#ports?.delete(id);
    const ask = this.#booked.get(id);
    if (ask !== undefined) ask.dropped = true;
    else this.#crank?.drops.push({ id, request, record });
  }

  post(outgoing: Outgoing): void {
    const crank = this.#crank;
    if (crank === undefined) return;
    crank.writes.push({ kind: "post", outgoing });
    if (++crank.posted > limits.crankAsksMax) {
      this.#fault(`One message made more than ${limits.crankAsksMax} messages`);
    }
  }

  #fault(message: string, code: FailureCode = "crank_limit_exceeded"): void {
    if (this.#crank !== undefined) this.#crank.fault ??= failure(code, message);
  }
}

/** The desk that all machines of a process are wired to: stands for the one that is open, and asks nobody else. */
export const openDesk: Desk & Outbox & Pick<CrankDesk, "mayGoOn"> = {
  book: (request) => underWay?.book(request) ?? "1.0",
  register: (id, request, ref, cancelAsked) => underWay?.register(id, request, ref, cancelAsked),
  cancel: (id) => underWay?.cancel(id),
  drop: (id, request) => underWay?.drop(id, request),
  post: (outgoing) => underWay?.post(outgoing),
  mayGoOn: () => underWay?.mayGoOn() ?? true,
};
