/** Whether an earlier answer covers a call: only the very same, from this runtime, and not for ever (DM-35, DM-36). */
import type { ApprovalScope, Grant, KeptGrant } from "../../schemas/grant.ts";
import { limits } from "../../schemas/limits.ts";
import { isSameScope } from "./approval_scope.ts";

/** A call that an earlier answer may cover, and when it is made: times and epochs are those of events, never ambient. */
export interface GrantQuery {
  readonly scope: ApprovalScope | null;
  readonly at: number;
  readonly epoch: number;
}

/** What earlier answers say of a call. `why` is one clause for people; `isStale` if an answer once covered it. */
export interface GrantFinding {
  readonly grant: Grant | undefined;
  readonly isStale: boolean;
  readonly why: string;
}

/** The grant that covers a call, or why none does. */
export function findGrant(grants: readonly KeptGrant[], query: GrantQuery): GrantFinding {
  const { scope } = query;
  const about = scope === null ? [] : grants.flatMap((grant) => isAbout(grant, scope) ? [grant] : []);
  const grant = about.find((one) => isInForce(one, query) && scope !== null && isSameScope(one.scope, scope));
  if (grant !== undefined) {
    return { grant, isStale: false, why: "Allowed for this session by an earlier answer" };
  }
  const last = about.at(-1);
  if (last === undefined || scope === null) {
    return { grant: undefined, isStale: false, why: "No earlier answer covers this call" };
  }
  return {
    grant: undefined,
    isStale: true,
    why: `An earlier answer counts no more: ${staleness(last, scope, query)}`,
  };
}

/** Grants with one more, which takes the place of an older one of the same scope; at most 100. */
export function withGrant(grants: readonly KeptGrant[], grant: Grant): readonly KeptGrant[] {
  const others = grants.filter((one) => typeof one !== "string" && !isSameScope(one.scope, grant.scope));
  return [...others, grant].slice(-limits.grantsMax);
}

/** Grants without those of a principal; without any if none is named. */
export function withoutGrantsOf(
  grants: readonly KeptGrant[],
  by: Grant["by"] | undefined,
): readonly KeptGrant[] {
  if (by === undefined) return [];
  return grants.filter((one) => typeof one !== "string" && (one.by.kind !== by.kind || one.by.id !== by.id));
}

function isAbout(grant: KeptGrant, { rule, subject }: ApprovalScope): grant is Grant {
  return typeof grant !== "string" && grant.scope.rule === rule && grant.scope.subject === subject;
}

function isInForce({ at, epoch }: Grant, query: GrantQuery): boolean {
  return epoch === query.epoch && query.at >= at && query.at - at < limits.grantMs;
}

function staleness(grant: Grant, scope: ApprovalScope, query: GrantQuery): string {
  if (grant.scope.entry !== scope.entry) return "the tool's definition or its policy has changed since";
  if (!isSameScope(grant.scope, scope)) return "the agent's rights or the mode have changed since";
  if (grant.epoch !== query.epoch) return "the runtime was started anew since";
  return `it was given more than ${limits.grantMs / 3_600_000} hours ago`;
}
