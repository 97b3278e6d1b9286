/** A program opens a call in the turn that runs: the session passes it on, or refuses it if there is none (CM-61). */
import { replyTo } from "./outbox.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { SessionContext, SessionEvent } from "./session_context.ts";
import { expect } from "./session_rules.ts";
import type { TurnEvent } from "./turn_context.ts";
import { notRunning } from "./turn_invoke.ts";

/** What is passed on to the turn, or said instead. */
export interface InvokePass {
  readonly event?: TurnEvent;
  readonly posts: readonly Outgoing[];
}

/** Passes the call on while a turn runs and the session is not being ended. */
export function passOn({ current, closing, isClosed }: SessionContext, event: SessionEvent): InvokePass {
  const asked = expect(event, "session.invoke");
  if (current === null || closing !== undefined || isClosed === true) {
    const reply = replyTo(asked, "failed", { failure: { ...notRunning } });
    return { posts: reply === undefined ? [] : [reply] };
  }
  const { program, call, command = null, at } = asked;
  return { event: { type: "turn.invoke", program, call, command, at }, posts: [] };
}
