/** The pure rules about a turn that waits since its model failed: what the session knows of it, and who lets it go on. */
import { failure } from "../schemas/failure.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { SessionContext, SessionEvent } from "./session_context.ts";
import { expect } from "./session_rules.ts";
import type { TurnEvent, TurnInput } from "./turn_context.ts";

/** What a session does about waits in one step. */
export interface WaitStep {
  readonly changes: Partial<Pick<SessionContext, "waiting" | "resumers">>;
  readonly posts: readonly Outgoing[];
  /** What the turn that waits learns. */
  readonly told?: TurnEvent;
}

/** What a step about waits needs of a machine's queue of actions. */
interface Queue {
  (action: { readonly type: "post"; readonly params: Outgoing }): void;
  assign(changes: WaitStep["changes"]): void;
  sendTo(id: string, event: TurnEvent): void;
}

/** Does what a step about waits says, all in one commit. */
export function act(enqueue: Queue, { turn }: SessionContext, { changes, posts, told }: WaitStep): void {
  for (const params of posts) enqueue({ type: "post", params });
  enqueue.assign(changes);
  if (told !== undefined) enqueue.sendTo(`turn/${turn}`, told);
}

/** The turn waits, or goes on by itself, or somebody wants it to. */
export function heard(context: SessionContext, event: SessionEvent): WaitStep {
  if (event.type === "turn.waiting") return { changes: { waiting: event.wait }, posts: [] };
  if (event.type === "turn.went_on") return { changes: { waiting: null }, posts: [] };
  const { command, at } = expect(event, "session.resume");
  const { waiting = null, resumers = [] } = context;
  const why = waiting === null
    ? failure("turn_not_waiting", "No turn of this session waits for its model: there is nothing to resume")
    : resumers.length >= limits.promptsQueuedMax
    ? failure("prompt_queue_full", `${resumers.length} commands wait already for the end of this turn`)
    : undefined;
  if (why !== undefined) {
    if (command === undefined) return { changes: {}, posts: [] };
    return { changes: {}, posts: [{ kind: "reply", command, status: "failed", value: { failure: why } }] };
  }
  const changes = { waiting: null, ...(command === undefined ? {} : { resumers: [...resumers, command] }) };
  return { changes, posts: [], told: { type: "turn.resume", at } };
}

/** The turn has ended, and whatever it waited for with it. */
export function over(
  { waiting, resumers }: SessionContext,
): WaitStep["changes"] & Pick<SessionContext, "current" | "questions"> {
  return {
    current: null,
    questions: [],
    ...(waiting === undefined ? {} : { waiting: null }),
    ...(resumers === undefined ? {} : { resumers: [] }),
  };
}

/** How the next turn goes on after failures. A child waits for no person: its parent would not know that it does. */
export function recoveryOf({ recovery, parent }: SessionContext): Pick<TurnInput, "recovery"> {
  if (recovery === undefined) return {};
  const isForNobody = parent !== undefined && recovery.waits === "manual";
  return { recovery: isForNobody ? { ...recovery, waits: "automatic" } : recovery };
}

const mind = { actions: "mindWait" } as const;

/** What a session hears of waits wherever it stands, as part of the session machine. */
export const waitable = { "session.resume": mind, "turn.waiting": mind, "turn.went_on": mind } as const;
