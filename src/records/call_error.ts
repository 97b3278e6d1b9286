/** Why a call did not succeed, as a record, read off what the journal has of it (DM-45). */
import type { InvocationOutcome } from "../../schemas/invocation.ts";
import { ToolError } from "../../schemas/tool_error.ts";
import { peek } from "../peek.ts";

/** The record of a call that brought no result. Entries of earlier releases do not say whether it was begun. */
export function errorIn(body: unknown, outcome: InvocationOutcome): unknown {
  const { code, message, retryable, classification, details } = Object(peek(body, "failure"));
  const started = peek(body, "started") ?? outcome === "unknown";
  const classed = {
    ...(classification === undefined ? {} : { retryable, classification }),
    ...(details === undefined ? {} : { details }),
  };
  return { code, message, started, provenance: peek(body, "provenance") ?? { by: "runtime" }, ...classed };
}

/** The record of a host's call that never reached its tool; undefined if nothing was refused. */
export function refusalOf(
  { code, message }: { readonly [key: string]: unknown },
  outcome: InvocationOutcome,
): ToolError | undefined {
  const provenance = { by: whoRefuses(outcome, String(code)) };
  return ToolError.safeParse({ code, message, started: false, provenance }).data;
}

/** Who refused a call that never reached its tool. */
export function whoRefuses(outcome: InvocationOutcome, code: string): ToolError["provenance"]["by"] {
  if (outcome !== "denied") return "runtime";
  return code === "approval_denied" ? "person" : "policy";
}

/** What a person says of a call that may have happened, as an outcome. */
export const settledBy: { readonly [decision: string]: InvocationOutcome | undefined } = {
  mark_applied: "succeeded",
  mark_not_applied: "failed",
  abandon: "unknown",
};
