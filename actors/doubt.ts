/**
 * Calls whose outcome nobody knows, as their session remembers them: the same call again waits for a person, who is told
 * of the open one (R10).
 */
import type { InvocationRequest, InvocationResult } from "../schemas/invocation.ts";
import { limits } from "../schemas/limits.ts";
import type { Authorization, Check } from "./policy/authorize.ts";
import { requestKey } from "./policy/refusal.ts";

/** A call that ended as `unknown`. */
export interface Doubt {
  /** Its tool and exact arguments: see `refusalKey`. */
  readonly key: string;
  /** `turn/<n>/call/<step>.<i>`. */
  readonly call: string;
}

/** What a turn or session knows of such calls; contexts of earlier releases know none. */
interface Doubtful {
  readonly doubts?: readonly Doubt[];
}

/** The open calls, with the one that ended so. Of many, the latest are remembered. */
export function doubtsWith(
  { doubts = [], turn }: Doubtful & { readonly turn: number },
  { ordinal, outcome }: InvocationResult,
  key: string | undefined,
): readonly Doubt[] {
  if (outcome !== "unknown" || key === undefined) return doubts;
  return [...doubts, { key, call: `turn/${turn}/${ordinal}` }].slice(-limits.doubtsRememberedMax);
}

/** The open call that this one repeats, if it does. */
export function doubtOf(
  { doubts = [] }: Doubtful,
  request: InvocationRequest,
): { readonly doubt?: string } {
  if (doubts.length === 0) return {};
  const key = requestKey(request);
  const open = key === undefined ? undefined : doubts.findLast((one) => one.key === key);
  return open === undefined ? {} : { doubt: open.call };
}

/** Open calls go from turn to session and from session to turn; a field that says nothing is left out. */
export function doubtsIn({ doubts = [] }: Doubtful): Doubtful {
  return doubts.length === 0 ? {} : { doubts };
}

/** A call that repeats one whose outcome is unknown is held for a person, whatever else allows it. A denial stays one. */
export function heldForDoubt(judged: Authorization, doubt: string | undefined): Authorization {
  if (doubt === undefined || judged.verdict === "deny") return judged;
  const why = `The same call was made before, as ${doubt}, and its outcome is unknown: it may have happened`;
  const check: Check = { check: "doubt", verdict: "ask", by: "open outcome", why };
  const { grant: _grant, isAutomatic: _isAutomatic, ...rest } = judged;
  const reason = judged.verdict === "ask" ? `${judged.reason}. ${why}` : why;
  return { ...rest, verdict: "ask", reason, checks: [...judged.checks, check] };
}
