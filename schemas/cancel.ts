/** Cancels: how much is to be stopped, and what the answer says of it once that has ended. */
import { z } from "zod";

/** How much is stopped: one call, the turn with all its calls, the turn and every task, or all and for good. */
export const CancelScope = z.enum(["call", "turn", "subtree", "session"]);
/** How much is stopped. */
export type CancelScope = z.infer<typeof CancelScope>;

/** What can be stopped. A prompt is a turn that has not begun. */
export const StoppableKind = z.enum(["prompt", "call", "turn", "task"]);
/** What can be stopped. */
export type StoppableKind = z.infer<typeof StoppableKind>;

const stoppable = {
  kind: StoppableKind,
  /** `prompt/<seq>`, `turn/<n>`, `turn/<n>/call/<step>.<i>`, or the address of a task. */
  address: z.string().max(256),
  /** Its tool, or its title. */
  label: z.string().max(256).exactOptional(),
};

/** Something that goes on. */
export const GoingOn = z.strictObject(stoppable);
/** Something that goes on. */
export type GoingOn = z.infer<typeof GoingOn>;

/** Something that was to be stopped, and how it ended: in the words of turns, calls and tasks. */
export const Stopped = z.strictObject({ ...stoppable, ended: z.string().max(32) });
/** Something that was to be stopped. */
export type Stopped = z.infer<typeof Stopped>;

/** The answer to a cancel. It comes when nothing of what was to be stopped runs any more. */
export const CancelReport = z.strictObject({
  result: z.enum(["stopped", "nothing_to_cancel"]),
  scope: CancelScope,
  stopped: z.array(Stopped),
  /** Nothing of it runs, but a person must say what became of it before it has ended. */
  undecided: z.array(GoingOn),
  /** What the scope leaves alone. */
  goesOn: z.array(GoingOn),
  /** What was named and is not there. */
  notFound: z.array(z.string().max(128)),
});
/** The answer to a cancel. */
export type CancelReport = z.infer<typeof CancelReport>;

/** True if all that was to be stopped was there and has ended, and it is known how. */
export function hasStoppedAll({ stopped, undecided, notFound }: CancelReport): boolean {
  const isKnown = stopped.every(({ ended }) => ended !== "unknown" && ended !== "lost");
  return isKnown && undecided.length === 0 && notFound.length === 0;
}
