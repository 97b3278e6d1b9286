/** The one verdict on a valid call: allowed, asked for, or denied; every check is on record (DM-31). */
import type { ApprovalRule, CatalogEntry } from "../../schemas/catalog.ts";
import { type Failure, failure, type FailureCode } from "../../schemas/failure.ts";
import type { Grant, KeptGrant } from "../../schemas/grant.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { PermissionMode } from "../../schemas/mode.ts";
import { checkArguments } from "./arguments_check.ts";
import { callScope } from "./approval_scope.ts";
import { matchCapability } from "./capability.ts";
import { findGrant } from "./grant.ts";

/** A call, and what its session may do. */
export interface AuthorizeRequest {
  readonly entry: CatalogEntry;
  /** What the tool is called with; without it nothing in there is looked at. */
  readonly arguments?: JsonObject;
  /** What the agent was granted. */
  readonly capabilities: readonly string[];
  readonly mode: PermissionMode;
  /** Earlier answers for the whole session. */
  readonly grants: readonly KeptGrant[];
  /** The rule of this very call: see `ruleKey`. Empty if it has none. */
  readonly rule: string;
  /** When the call is made, and in which runtime: a grant is worth nothing later, or in another one. */
  readonly at: number;
  readonly epoch: number;
}

/** What a check, or all of them together, say of a call. */
export type Verdict = "allow" | "ask" | "deny";

/** The checks of a call, in their order. `schema` and `scope` are passed before policy is asked, `shown` and `refusal` are made after. */
export type CheckName =
  | "schema"
  | "scope"
  | "enabled"
  | "capability"
  | "mode"
  | "approval"
  | "grant"
  | "shown"
  | "refusal";

/** What one check said. Holds no argument of the call. */
export interface Check {
  readonly check: CheckName;
  readonly verdict: Verdict;
  /** The rule that decided; empty where nothing had to decide. */
  readonly by: string;
  /** One clause for people. */
  readonly why: string;
}

/** Policy's verdict on a call. `failure` is set if and only if it is denied. */
export interface Authorization {
  readonly verdict: Verdict;
  readonly rule: string;
  /** One clause for people. */
  readonly reason: string;
  readonly failure?: Failure;
  /** The earlier answer that allowed the call, if one did. */
  readonly grant?: Grant;
  /** True if the mode answered what policy asks. */
  readonly isAutomatic?: true;
  /** The checks that were made; nothing is checked after a denial. */
  readonly checks: readonly Check[];
}

/** A check, with the code of the refusal if it denies. */
interface Finding extends Check {
  readonly code?: FailureCode;
}

/** Where the rules of approval stand. */
const places: { readonly [R in ApprovalRule]: string } = {
  tool: "approval_policy of the tool or its server",
  agent: "overrides in agent.yaml",
  host_tool: "policy.tools of the host",
  host_capability: "policy.capabilities of the host",
  host_risk: "policy.risks of the host",
  host_default: "policy.default of the host",
};

const steps: readonly ((request: AuthorizeRequest) => Finding)[] = [
  checkEnabled,
  checkCapability,
  checkMode,
  checkApproval,
];

/**
 * Judges one call, in this order: the entry is enabled, the capability is granted, the session's mode, the effective
 * approval policy, the session's grants (DM-19, LC-20). The first denial ends it. The mode `auto` and a grant turn `ask`
 * into `allow` and nothing else: neither ever touches a denial.
 */
export function authorize(request: AuthorizeRequest): Authorization {
  const { rule } = request;
  const checks: Check[] = [];
  for (const step of steps) {
    const { code, ...check } = step(request);
    checks.push(check);
    const { verdict, why } = check;
    if (verdict === "deny") {
      return { verdict, rule, reason: why, failure: failure(code ?? "policy_denied", why), checks };
    }
    if (verdict === "ask") {
      return underGrants(request, why, checks);
    }
  }
  const isAutomatic = checks.some(({ check, by }) => check === "approval" && by !== "");
  const reason = "Allowed by policy";
  return { verdict: "allow", rule, reason, checks, ...(isAutomatic ? { isAutomatic } : {}) };
}

/** What becomes of a call that policy asks about. An answer that counted once and does not now is told of (B23). */
function underGrants(request: AuthorizeRequest, why: string, checks: readonly Check[]): Authorization {
  const { entry, rule, grants, at, epoch } = request;
  const found = findGrant(grants, { scope: callScope(entry, request), at, epoch });
  const { grant } = found;
  const verdict = grant === undefined ? "ask" : "allow";
  const by = grant === undefined ? "" : "session";
  const all: Check[] = [...checks, { check: "grant", verdict, by, why: found.why }];
  if (grant !== undefined) return { verdict, rule, reason: found.why, checks: all, grant };
  return { verdict, rule, reason: found.isStale ? `${why}. ${found.why}` : why, checks: all };
}

function checkEnabled({ entry }: AuthorizeRequest): Finding {
  const { enabled, canonicalName, disabledBy = "", hidden } = entry;
  if (enabled) {
    return { check: "enabled", verdict: "allow", by: "", why: "It is in the catalog and switched on" };
  }
  const because = disabledBy === "" ? "" : `: ${disabledBy}`;
  if (hidden) {
    const why = `The tool "${canonicalName}" is not visible in this session${because}`;
    return { check: "enabled", verdict: "deny", by: disabledBy, code: "tool_not_visible", why };
  }
  const why = `The tool "${canonicalName}" is switched off${because}`;
  return { check: "enabled", verdict: "deny", by: disabledBy, why };
}

function checkCapability({ entry, capabilities }: AuthorizeRequest): Finding {
  const { capability } = entry.definition;
  if (capability === undefined) {
    return { check: "capability", verdict: "allow", by: "", why: "It needs no capability" };
  }
  const by = matchCapability(capabilities, capability);
  if (by !== undefined) {
    return { check: "capability", verdict: "allow", by, why: `The agent has what it needs: ${capability}` };
  }
  const why =
    `The tool "${entry.canonicalName}" needs the capability "${capability}", which the agent does not have`;
  return { check: "capability", verdict: "deny", by: capability, code: "capability_missing", why };
}

function checkMode({ entry, mode }: AuthorizeRequest): Finding {
  switch (mode) {
    case "plan": {
      if (!entry.definition.sideEffects) {
        return { check: "mode", verdict: "allow", by: mode, why: "It has no side effects" };
      }
      const name = entry.canonicalName;
      const why =
        `The tool "${name}" may have side effects, and the mode "plan" of this session lets none happen`;
      return { check: "mode", verdict: "deny", by: mode, why };
    }
    case "auto":
      return mayPassUnasked(entry)
        ? { check: "mode", verdict: "allow", by: mode, why: "It only reads, at low risk" }
        : {
          check: "mode",
          verdict: "allow",
          by: "",
          why: "It is no read of low risk that the mode could let pass",
        };
    default: // Sessions of an earlier release have none.
      return { check: "mode", verdict: "allow", by: "", why: "Policy decides" };
  }
}

/** What the catalog says is looked at once more, so that no entry passes that is plainly not what `auto` is for. */
function mayPassUnasked({ mayPassUnasked, definition }: CatalogEntry): boolean {
  return mayPassUnasked === true && !definition.sideEffects && definition.riskLevel === "low";
}

function checkApproval({ entry, mode, arguments: given }: AuthorizeRequest): Finding {
  const { canonicalName: name, approvalBy } = entry;
  const own = given === undefined ? undefined : checkArguments(entry, given);
  // Only tightens: a denial stays one, and no mode answers what the arguments ask for (DM-21).
  if (own !== undefined && entry.definition.approvalPolicy !== "deny") {
    const verdict = own.policy === "deny" ? "deny" : "ask";
    return { check: "approval", verdict, by: "its arguments", why: own.why };
  }
  const place = approvalBy === undefined ? "its catalog" : places[approvalBy];
  switch (entry.definition.approvalPolicy) {
    case "deny":
      return { check: "approval", verdict: "deny", by: place, why: `The tool "${name}" is denied by policy` };
    case "prompt":
      if (mode === "auto" && mayPassUnasked(entry)) {
        const why = `The mode "auto" of this session answers what is asked by ${place}`;
        return { check: "approval", verdict: "allow", by: "mode auto", why };
      }
      return { check: "approval", verdict: "ask", by: place, why: `Policy asks before "${name}" is called` };
    case "auto":
      return { check: "approval", verdict: "allow", by: "", why: "Nobody asks" };
  }
}
