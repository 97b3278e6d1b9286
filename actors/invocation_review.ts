/** The look at a command before its call is judged: what is asked, and what its answer means (DM-91, DM-94). */
import { CommandReview } from "../schemas/command_review.ts";
import type { PortDone, PortFailed, PortRequestOf } from "../schemas/effect.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { InvocationContext } from "./invocation_context.ts";
import { entryIn, momentOf } from "./invocation_rules.ts";
import { judgedNote } from "./judgement.ts";

/** True for a call whose command is looked at before anybody judges it. */
export function needsReview(context: InvocationContext): boolean {
  return entryIn(context).definition.review !== undefined;
}

/** The look: it starts nothing, so it may be repeated. */
export function reviewCall({ request, at }: InvocationContext): PortRequestOf<"command.review"> {
  if (request.entry === undefined) throw new Error("Cannot look at a call without its entry");
  return {
    port: "command.review",
    effect: "idempotent",
    args: {
      invocation: request.ordinal,
      entry: request.entry,
      arguments: request.arguments ?? {},
      ...(request.hadSecret === undefined ? {} : { redacted: true as const }),
    },
    deadlineAtMs: at + limits.commandReviewMs,
  };
}

/** What was found. */
export function reviewIn(done: PortDone): CommandReview {
  return CommandReview.parse(done.value);
}

/** A command that nobody could look at is not run, whatever policy would say of it. */
export function reviewFailed(context: InvocationContext, failed: PortFailed): {
  readonly failed: Pick<InvocationContext, "failure" | "at"> & Partial<Pick<InvocationContext, "epoch">>;
  readonly note: Outgoing;
} {
  const check = {
    check: "review",
    verdict: "deny",
    by: "review",
    why: `The command could not be looked at: ${failed.failure.code}`,
  } as const;
  return {
    failed: { failure: failed.failure, ...momentOf(failed) },
    note: judgedNote(context.request, "deny", [check]),
  };
}
