/** On whose behalf a call is made: one turn of a model, or one principal of the host, never both, never none (DM-25). */
import { type Failure, failure } from "../../schemas/failure.ts";
import type { InvocationRequest } from "../../schemas/invocation.ts";
import type { Check } from "./authorize.ts";

/** What the check of a call's scope found. `failure` is set if and only if it denies. */
export interface ScopeFinding {
  readonly check: Check;
  readonly failure?: Failure;
}

/**
 * Judges the scope of a call. A model's call belongs to the turn whose catalog its entry is from; a host's call to the
 * principal that the host named. What was made for one turn is never carried out in another.
 */
export function checkScope(
  { scope, origin, entry, name }: Pick<InvocationRequest, "scope" | "origin" | "entry" | "name">,
): ScopeFinding {
  const { turn, principal } = scope ?? {};
  if (turn !== undefined && principal !== undefined) {
    return denied(`The call of "${name}" claims a turn and a principal at once: make it for one of them`);
  }
  if (principal !== undefined) {
    if (origin !== "host") {
      return denied(`The call of "${name}" names a principal, which only a host's call may`);
    }
    return { check: { check: "scope", verdict: "allow", by: principal, why: "The host named who calls" } };
  }
  if (turn === undefined) {
    return denied(`The call of "${name}" belongs to no turn and to no principal: nobody answers for it`);
  }
  if (origin === "host") return denied(`The host's call of "${name}" names no principal`);
  if (turn.catalog !== entry?.catalog) {
    return denied(`The call of "${name}" was made for another turn: its entry is not of this turn's catalog`);
  }
  return { check: { check: "scope", verdict: "allow", by: "", why: "It belongs to the turn" } };
}

function denied(why: string): ScopeFinding {
  const check = { check: "scope", verdict: "deny", by: "scope", why } as const;
  return { check, failure: failure("scope_invalid", why) };
}
