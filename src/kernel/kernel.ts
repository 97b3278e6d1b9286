/** The kernel's state, shared by its verbs: one file each for crank, dispatch, route, wake, recover, poison, replay. */
import type { StateFormats } from "../../actors/migrate.ts";
import type { RunnableMachines } from "../../actors/wiring.ts";
import type { Entry, RootRecord } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import type { messageTypes } from "../../schemas/message.ts";
import type { EffectClass } from "../../schemas/tool.ts";
import type { PerformerResult, Performers, Progress } from "../effects/performer.ts";
import type { Journal } from "../journal/journal.ts";
import type { StoreError } from "../journal/store.ts";
import type { Seams } from "../seams.ts";
import type { CrankDesk } from "./desk.ts";
import type { LiveRoot } from "./live_root.ts";
import type { Mail } from "./mail.ts";
import type { Waking } from "./waking.ts";

/** An effect that is being carried out. It belongs to the runtime, not to the root that asked (K22). */
export interface Running {
  readonly attempt: number;
  readonly effect: EffectClass;
  readonly abort: AbortController;
  /** False while it waits for a place among the re-asks (K19). */
  started: boolean;
  /** What the effect waits for itself, in words; undefined unless its performer says so. */
  standing?: (() => string) | undefined;
  /** What came before its outcome was delivered, and is no outcome. */
  readonly late: PerformerResult[];
  /** True once its outcome was delivered. */
  isOver: boolean;
  /** Set while its end is awaited after a cancel: ends the wait. */
  patience?: AbortController;
}

/** What watchers hear. `entries` only once they are durable; `progress` is provisional (K12). */
export type KernelEvent =
  | { readonly type: "entries"; readonly root: RootAddress; readonly entries: readonly Entry[] }
  | {
    readonly type: "progress";
    readonly root: RootAddress;
    readonly id: string;
    readonly progress: Progress;
  }
  | {
    readonly type: "quarantined";
    readonly root: RootAddress;
    readonly reason: string;
    /** Set to `lease_lost` for a root that goes on elsewhere. */
    readonly code?: string | undefined;
  };

/** What a command's sender waits for. */
export interface ReplyWaiter {
  readonly root: RootAddress;
  readonly resolve: (reply: StoredReply) => void;
  readonly reject: (error: unknown) => void;
}

/** A reply as it is stored under `reply/<principal>/<key>`. */
export interface StoredReply {
  readonly status: "ok" | "failed";
  readonly value: Json;
  readonly root: RootAddress;
  readonly seq: number;
  /** When it was given, in milliseconds since the epoch; replies of earlier releases do not tell. */
  readonly at?: number;
}

/** A command between its call and its durable unit. */
export interface PendingCommand {
  readonly hash: string;
  readonly root: RootAddress;
  readonly accepted: Promise<void>;
  readonly refuse: (error: unknown) => void;
}

/** Told of every entry of a root in order, as it is written: how the conversation is kept. */
export interface EntryObserver {
  observe(root: RootAddress, entries: readonly Entry[]): void;
  forget(root: RootAddress): void;
}

/** Several observers as one: each is told in their order. */
export function observersOf(...observers: readonly EntryObserver[]): EntryObserver {
  return {
    observe: (root, entries) => observers.forEach((one) => one.observe(root, entries)),
    forget: (root) => observers.forEach((one) => one.forget(root)),
  };
}

/** Everything that the kernel's verbs share. */
export interface Kernel {
  readonly seams: Seams;
  readonly journal: Journal;
  readonly desk: CrankDesk;
  readonly machines: RunnableMachines;
  /** Hash of the code of actors and schemas (K21). */
  readonly code: string;
  /** Types of the messages that each kind of root takes; undefined if machines of a test take others. */
  readonly messageTypes: typeof messageTypes | undefined;
  /** The forms of stored states (K21). */
  readonly stateFormats: StateFormats;
  /** Everything waits for the disk, not only what could hurt. */
  readonly strict: boolean;
  readonly performers: Performers;
  readonly observer: EntryObserver;
  /** Loads a sealed catalog before a machine may look it up. */
  readonly loadShelved: (hash: string) => Promise<void>;
  readonly roots: Map<RootAddress, LiveRoot>;
  readonly records: Map<RootAddress, RootRecord>;
  /** Mail of roots that are being woken or rebuilt. */
  readonly parked: Map<RootAddress, Mail[]>;
  readonly waking: Waking;
  /** Roots whose open intents this runtime has taken over: born here, or recovered. */
  readonly recovered: Set<RootAddress>;
  readonly running: Map<string, Running>;
  /** Calls that were begun early, the newest last: later attempts of theirs carry the key that they had (K3). */
  readonly earlyCalls: Set<string>;
  /** Inbox rows that are in a mailbox or in an undurable unit (K13). */
  readonly claimed: Set<string>;
  /** Looks at inbox rows that are under way; and claims that may go once these are over. */
  readonly looks: { count: number; readonly spent: Set<string> };
  /** Receivers of messages that wait for a catalog; what comes after waits behind it (K13). */
  readonly bringing: Map<RootAddress, Promise<void>>;
  /** Roots in quarantine that only this runtime keeps away from: the next one tries them again. */
  readonly avoided: Set<RootAddress>;
  readonly replyWaiters: Map<string, ReplyWaiter[]>;
  /** Rejects the creation of a root whose first crank fails. */
  readonly births: Map<RootAddress, (error: unknown) => void>;
  readonly pendingCommands: Map<string, PendingCommand>;
  /** Commands that are being looked up in the store, by their key. */
  readonly lookUps: Map<string, Promise<void>>;
  readonly watchers: Set<(event: KernelEvent) => void>;
  readonly ready: LiveRoot[];
  /** Chooses who runs next among `count` ready roots; the first in production, by seed in simulation. */
  readonly pick: (count: number) => number;
  readonly reasks: { active: number; readonly waiting: (() => void)[] };
  /** Address of the supervisor of all roots, or undefined while there is none. */
  supervisor: RootAddress | undefined;
  pumping: boolean;
  /** No crank runs before recovery has looked at every open intent (R6). */
  paused: boolean;
  stopped: StoreError | "stopped" | undefined;
  /** Aborts when the runtime has ended: whoever sleeps until something comes up need not. */
  readonly ending: AbortController;
}

/** Why the kernel refuses a request: a stable code and one line. Nothing was written. */
export class KernelError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.name = "KernelError";
    this.code = code;
  }
}

/** Tells all watchers. A watcher that throws is dropped: it must not break a crank. */
export function tell(kernel: Kernel, event: KernelEvent): void {
  for (const watcher of kernel.watchers) {
    try {
      watcher(event);
    } catch (error) {
      kernel.watchers.delete(watcher);
      kernel.seams.log({ level: "error", event: "watcher_failed", detail: { message: String(error) } });
    }
  }
}

/** Lets the observer take entries. If it cannot, it forgets the root and reads it anew: a crank must not end half done. */
export function observe(kernel: Kernel, root: RootAddress, entries: readonly Entry[]): void {
  try {
    kernel.observer.observe(root, entries);
  } catch (error) {
    kernel.observer.forget(root);
    kernel.seams.log({ level: "error", event: "observer_failed", detail: { root, message: String(error) } });
  }
}
