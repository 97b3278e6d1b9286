/** How a tool call ended in the words of its typed result (DM-43): one for each outcome, and whether it was begun. */
import type { InvocationOutcome } from "../schemas/invocation.ts";

/** The status of a call that is over. */
export type ToolStatus = Exclude<InvocationOutcome, "completed_with_error">;

/**
 * The status of an ended call (DM-44). A tool that ran and said no has failed; a call that failed before its adapter was
 * told to act was not fit to be made, which is `invalid`. `unknown` stays what it is: nobody knows.
 */
export function toolStatus(outcome: InvocationOutcome, started: boolean): ToolStatus {
  if (outcome === "completed_with_error") return "failed";
  return outcome === "failed" && !started ? "invalid" : outcome;
}
