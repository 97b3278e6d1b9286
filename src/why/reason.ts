/** Why an actor does not go on: all that is known of it, of what it waits for, and of who could move it. */
import type { RootAddress } from "../../schemas/ids.ts";
import type { TurnWait, WaitReason } from "../../schemas/recovery.ts";
import type { ActorState, Wait } from "./actor_state.ts";
import type { Escalated, Poisoned } from "./history.ts";
import { type RootView, type RootViews, sinceOf } from "./root_view.ts";
import { type Sender, sendingOf } from "./senders.ts";
import { reasonsOf } from "./wait_reason.ts";

/** A message that an actor takes, and who may send it. */
export interface Move {
  readonly message: string;
  /** Where it may lead; empty if it is only taken note of. */
  readonly to: readonly string[];
  /** True if the message only changes what the actor remembers, and that may make it go there by itself. */
  readonly byItself: boolean;
  readonly by: readonly Sender[];
  readonly command: string | undefined;
}

/** Why one actor does not go on. */
export interface Reason {
  readonly address: string;
  readonly machine: string | undefined;
  /** `quarantined` where the root is out of service; undefined if nothing can be said of it. */
  readonly state: string | undefined;
  readonly sinceMs: number | undefined;
  /** True if the root is awake in the process that owns the store. */
  readonly isLive: boolean;
  readonly rests: boolean;
  /** True while its supervisor has not let it go on after a crash. */
  readonly isHeld: boolean;
  /** Messages that wait for the root. */
  readonly mail: number;
  readonly waits: readonly Wait[];
  /** What it and those below it wait for, in words of a fixed list. */
  readonly reasons: readonly WaitReason[];
  /** Of a turn whose model failed, or of its session: what it waits for. */
  readonly wait: TurnWait | undefined;
  /** Questions about it, or of its own: a person's answer moves it. */
  readonly questions: readonly Wait[];
  /** Actors below it that have not ended. */
  readonly below: readonly Pick<ActorState, "address" | "state">[];
  /** Other roots whose message it waits for. */
  readonly awaits: readonly RootAddress[];
  readonly moves: readonly Move[];
  readonly restarts: number;
  /** Why the root is out of service. */
  readonly quarantine: { readonly reason: string; readonly escalated: Escalated | undefined } | undefined;
  /** The last message that broke the root. */
  readonly poisoned: Poisoned | undefined;
  /** Why its states are not known. */
  readonly unreadable: string | undefined;
}

/** Explains one actor of a root; undefined if the root has no such actor now. */
export async function explain(
  views: RootViews,
  view: RootView,
  { address, nowMs }: { readonly address: string; readonly nowMs: number },
): Promise<Reason | undefined> {
  const { record, actors, live, history } = view;
  const actor = actors.find((one) => one.address === address);
  const isRoot = address === record.address;
  const isOut = record.status === "quarantined";
  const own = actors.filter((one) => one.address === address || one.address.startsWith(`${address}/`));
  if (actor === undefined && !isRoot) return undefined;
  const escalated = isOut ? await views.escalationOf(record.address) : undefined;
  const reason = record.reason ?? "no reason was recorded";
  return {
    address,
    machine: actor?.machine,
    state: isOut ? "quarantined" : actor?.state,
    sinceMs: isOut ? escalated?.atMs : actor === undefined ? undefined : sinceOf(view, actor),
    isLive: live !== undefined,
    rests: actor?.rests ?? false,
    isHeld: live?.isHeld ?? false,
    mail: live?.mail ?? 0,
    waits: isOut ? [] : actor?.waits ?? [],
    reasons: isOut || live?.isHeld === true ? ["agent_unavailable"] : reasonsOf(own),
    wait: isOut ? undefined : own.find(({ wait }) => wait !== undefined)?.wait,
    questions: isOut || actor === undefined ? [] : questionsAbout(actors, record.address, actor),
    below: isOut ? [] : childrenOf(actors, address).filter(({ machine }) => machine !== "question")
      .map((one) => ({ address: one.address, state: one.state })),
    awaits: isOut ? [] : actor?.awaits ?? [],
    moves: isOut ? [] : movesOf(actor),
    restarts: await views.restartsOf(record.address, nowMs),
    quarantine: isOut ? { reason, escalated } : undefined,
    poisoned: history.poisoned,
    unreadable: isOut || actors.length > 0 ? undefined : history.unreadable,
  };
}

function questionsAbout(
  actors: readonly ActorState[],
  root: RootAddress,
  { address }: ActorState,
): readonly Wait[] {
  const own = childrenOf(actors, address);
  return actors.filter((one) => one.machine === "question")
    .filter((one) => own.includes(one) || one.about.some((call) => `${root}/${call}` === address))
    .flatMap(({ waits }) => waits);
}

function childrenOf(actors: readonly ActorState[], address: string): readonly ActorState[] {
  return actors.filter((one) => parentOf(actors, one.address) === address);
}

function movesOf(actor: ActorState | undefined): readonly Move[] {
  return (actor?.takes ?? []).map(({ message, to, byItself }) => {
    const sending = sendingOf(message);
    return { message, to, byItself, by: sending?.by ?? [], command: sending?.command };
  });
}

/** The actor that an actor is a child of; undefined for a root. Names of children hold slashes: the nearest one counts. */
export function parentOf(actors: readonly ActorState[], address: string): string | undefined {
  return actors.map((one) => one.address)
    .filter((other) => address.startsWith(`${other}/`))
    .sort((left, right) => right.length - left.length)[0];
}
