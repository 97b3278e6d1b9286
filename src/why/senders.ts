/** Who may send a message, and by what command a person does. */
import type { z } from "zod";
import { rootMessages } from "../../schemas/message.ts";

/** Who sends messages: a person at the command line, a program by the API, the runtime itself, or another actor. */
export type Sender =
  | "operator"
  | "program"
  | "runtime"
  | "session"
  | "catalog"
  | "connection"
  | "schedule"
  | "supervisor"
  | "task"
  | "parent"
  | "child";

/** Who may send one kind of message. */
export interface Sending {
  readonly by: readonly Sender[];
  /** The command with which a person has it sent. */
  readonly command?: string;
}

/** A message that some kind of root takes. */
export type RootMessageType = z.infer<(typeof rootMessages)[keyof typeof rootMessages]>["type"];

/** Leave one out and this does not compile. */
const ofRoots: { readonly [T in RootMessageType]: Sending } = {
  "session.prompt": {
    by: ["operator", "program", "schedule"],
    command: "troupe run AGENT PROMPT --session SESSION",
  },
  "session.call": { by: ["operator"], command: "troupe call AGENT TOOL --session SESSION" },
  "session.cancel": { by: ["operator", "program"], command: "troupe cancel SESSION" },
  "session.resume": { by: ["operator"], command: "troupe resume SESSION" },
  "session.revoke": { by: ["operator"] },
  "session.invoke": { by: ["program"] },
  "session.relay": { by: ["operator"] },
  "session.answered": { by: ["session"] },
  "session.close": { by: ["task", "program"] },
  "session.closing": { by: ["session"] },
  "session.closed": { by: ["session"] },
  "session.servers": { by: ["operator"], command: "troupe run AGENT PROMPT --session SESSION" },
  "catalog.issued": { by: ["catalog"] },
  "catalog.stale": { by: ["catalog"] },
  "catalog.refused": { by: ["catalog"] },
  "resource.updated": { by: ["connection"] },
  "catalog.change": { by: ["operator", "program"] },
  "catalog.renew": { by: ["session"] },
  "connection.offered": { by: ["connection"] },
  "connection.stale": { by: ["connection"] },
  "connection.open": { by: ["catalog", "runtime"] },
  "connection.close": { by: ["runtime"] },
  "connection.declare": { by: ["session"] },
  "connection.subscribe": { by: ["runtime"] },
  "connection.unsubscribe": { by: ["runtime"] },
  "connection.refresh": { by: ["operator"], command: "troupe catalog SESSION --refresh" },
  "schedule.delete": { by: ["operator", "session"], command: "troupe schedules delete ID" },
  "task.opened": { by: ["task"] },
  "task.ended": { by: ["task"] },
  "task.blocked": { by: ["task"] },
  "task.unblocked": { by: ["task"] },
  "task.admitted": { by: ["session"] },
  "task.cancel": { by: ["operator", "session"] },
  "task.accepted": { by: ["session"] },
  "task.refused": { by: ["session"] },
  "task.send": { by: ["session"] },
  "task.close": { by: ["session"] },
  "task.rested": { by: ["task"] },
  "task.resumed": { by: ["task"] },
  "child.lost": { by: ["runtime"] },
  "child.blocked": { by: ["session"] },
  "child.unblocked": { by: ["session"] },
  "child.unasked": { by: ["session"] },
  "child.add": { by: ["runtime"] },
  "child.remove": { by: ["runtime"] },
  "child.crashed": { by: ["runtime"] },
  "child.exited": { by: ["runtime"] },
  "child.restarted": { by: ["supervisor"] },
  "child.quarantined": { by: ["runtime", "supervisor"] },
  "token.issue": { by: ["operator"], command: "troupe token create" },
  "token.rotate": { by: ["operator"], command: "troupe token rotate ID" },
  "token.revoke": { by: ["operator"], command: "troupe token revoke ID" },
  "token.used": { by: ["runtime"] },
  "access.refused": { by: ["runtime"] },
};

/** Messages between the actors of one root. */
const inside: { readonly [type: string]: Sending } = {
  "turn.cancel": { by: ["parent"] },
  "turn.cancel_call": { by: ["parent"] },
  "turn.invoke": { by: ["parent"] },
  "turn.resume": { by: ["parent"] },
  "turn.waiting": { by: ["child"] },
  "turn.went_on": { by: ["child"] },
  "turn.call_stopped": { by: ["child"] },
  "turn.undecided": { by: ["child"] },
  "turn.decided": { by: ["parent"] },
  "turn.revoked": { by: ["parent"] },
  "turn.notice": { by: ["parent"] },
  "turn.child_begun": { by: ["parent"] },
  "turn.child_ended": { by: ["parent"] },
  "invocation.cancel": { by: ["parent"] },
  "question.decided": { by: ["parent"] },
  "question.open": { by: ["child"] },
  "question.withdraw": { by: ["parent", "child"] },
};

/** Who may send a message; undefined for one that no actor of this release takes. */
export function sendingOf(message: string): Sending | undefined {
  const all: { readonly [type: string]: Sending } = { ...inside, ...ofRoots };
  return Object.hasOwn(all, message) ? all[message] : undefined;
}
