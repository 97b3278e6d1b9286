/** One root actor in memory: its machine, its pending ports, its mailbox. Used alike by cranks, recovery and replay. */
import { type AnyActor, type AnyActorLogic, type AnyMachineSnapshot, createActor } from "xstate";
import type { PortDone, PortFailed, PortOutcome } from "../../schemas/effect.ts";
import type { CreatedBody, InputBody } from "../../schemas/entry.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { IntentId, RootAddress, RootKind } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import type { CrankDesk, CrankRecord, PortRecord } from "./desk.ts";
import type { Mail } from "./mail.ts";

/** What begins a crank, as it stands or will stand in the journal. */
export interface Beginning {
  readonly kind: "created" | "input" | "outcome";
  readonly seq: number;
  readonly at: number;
  /** The runtime that writes it, or wrote it. */
  readonly epoch: number;
  readonly body: Json;
}

/** What a root's persisted snapshot must look like again after a restore (K20). */
export interface StateShape {
  readonly status: string;
  readonly children: number;
  readonly open: readonly IntentId[];
}

/** A root actor that is awake. */
export class LiveRoot {
  readonly address: RootAddress;
  readonly kind: RootKind;
  readonly ports = new Map<IntentId, PortRecord>();
  readonly mailbox: Mail[] = [];
  /** Attempts of open intents beyond the first, as the journal's `attempt` notes say. */
  readonly attempts = new Map<IntentId, number>();
  /** Catalogs that its machine may look up: see `hold.ts`. */
  readonly shelved = new Set<string>();
  /** Last sequence number given out; entries up to here may still be on their way to the disk. */
  seq = 0;
  snapshotSeq = 0;
  /** Units that are not durable yet, and those among them that carry a person's answer (K9). */
  unwritten = 0;
  undurableAnswers = 0;
  /** True while a row `open/<root>` stands in the store. */
  hasOpenRow = false;
  /** A held root keeps its mail: it is being rebuilt, or its supervisor has not let it go on. */
  held = false;
  /** True while the root stands in the kernel's ready queue. */
  isReady = false;
  lastActiveAt = 0;
  readonly #desk: CrankDesk;
  readonly #machine: AnyActorLogic;
  #actor: AnyActor | undefined;
  #error: unknown;

  constructor(address: RootAddress, kind: RootKind, machine: AnyActorLogic, desk: CrankDesk) {
    this.address = address;
    this.kind = kind;
    this.#machine = machine;
    this.#desk = desk;
  }

  /**
   * Runs one crank to its end: the machine takes what `beginning` says, and everything it asks and posts is returned.
   * A fault of the machine is in the record, never thrown (K23).
   */
  deliver(beginning: Beginning): CrankRecord {
    this.#desk.begin(this.ports, beginning.seq);
    try {
      this.#hand(beginning);
    } catch (error) {
      this.#error ??= error;
    }
    const record = this.#desk.end();
    record.fault ??= this.#fault();
    return record;
  }

  /** Puts the machine into a persisted state. Ports register under their old ids and ask nothing (K2). */
  restore(persisted: Json): CrankRecord {
    this.ports.clear();
    this.#desk.begin(this.ports, 0);
    try {
      this.#start({ snapshot: persisted });
    } catch (error) {
      this.#error ??= error;
    }
    const record = this.#desk.end();
    record.fault ??= this.#fault();
    return record;
  }

  /** The state as it is persisted. Linear in the machine's context, so taken only where it is stored or hashed. */
  persisted(): Json {
    return this.#require().getPersistedSnapshot() as unknown as Json;
  }

  /** What the state looks like from outside. */
  shape(): StateShape {
    const snapshot = this.#snapshot();
    return {
      status: snapshot.status,
      children: Object.keys(snapshot.children).length,
      open: [...this.ports.keys()],
    };
  }

  /** True if the machine rests: where snapshots are taken and a root may be passivated. */
  get rests(): boolean {
    return this.#snapshot().hasTag("rest") || this.#snapshot().status === "done";
  }

  /** The machine's state value. */
  get state(): unknown {
    return this.#snapshot().value;
  }

  /** The actor itself, to be looked at only. */
  get actor(): AnyActor {
    return this.#require();
  }

  #hand(beginning: Beginning): void {
    switch (beginning.kind) {
      case "created":
        return this.#start({ input: (beginning.body as unknown as CreatedBody).input });
      case "input": {
        const { message, command, sender } = beginning.body as unknown as InputBody;
        const { at, seq, epoch } = beginning;
        const stamp = { at, seq, epoch, command, sender };
        return this.#require().send({ ...message, ...stamp });
      }
      case "outcome":
        return this.#settle(beginning.body as unknown as PortOutcome, beginning);
    }
  }

  #settle(outcome: PortOutcome, { at, epoch }: Pick<Beginning, "at" | "epoch">): void {
    const port = this.ports.get(outcome.id);
    if (port === undefined) throw new Error(`Cannot settle ${outcome.id}: no port waits for it`);
    this.ports.delete(outcome.id);
    this.attempts.delete(outcome.id);
    if (outcome.status === "ok") {
      const done: PortDone = { value: outcome.value ?? null, at, epoch, intent: outcome.id };
      port.ref.send({ type: "port.settled", done });
      return;
    }
    const why: Failure = outcome.failure ?? failure("tool_failed", "The effect failed without a reason");
    const failed: PortFailed = { status: outcome.status, failure: why, at, epoch, intent: outcome.id };
    port.ref.send({ type: "port.failed", failed });
  }

  #start(options: { readonly input: Json } | { readonly snapshot: Json }): void {
    const actor = createActor(this.#machine, options as never);
    // K23: without an error observer XState would throw globally and take the process with it.
    actor.subscribe({ error: (error: unknown) => this.#error ??= error ?? new Error("The machine failed") });
    this.#actor = actor;
    actor.start();
  }

  #fault(): Failure | undefined {
    const status = this.#actor?.getSnapshot().status as string | undefined;
    if (this.#error === undefined && (status === "active" || status === "done")) return undefined;
    const reason = this.#error instanceof Error
      ? this.#error.message
      : `its machine is ${status ?? "not started"}`;
    // F15: a machine that goes round without end is broken off by its own bound; XState's error has no class.
    const code = /^Infinite loop/.test(reason) ? "runaway_actor" : "crank_failed";
    return failure(code, `Cannot handle the message: ${reason}`);
  }

  #snapshot(): AnyMachineSnapshot {
    return this.#require().getSnapshot() as AnyMachineSnapshot;
  }

  #require(): AnyActor {
    if (this.#actor === undefined) throw new Error(`Cannot use "${this.address}": it was not started`);
    return this.#actor;
  }
}
