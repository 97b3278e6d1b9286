/** The one verdict on a valid call: allowed, asked for, or denied; every check is on record (DM-31). */
import type { ApprovalRule, CatalogEntry } from "../../schemas/catalog.ts";
import { type Failure, failure, type FailureCode } from "../../schemas/failure.ts";
import type { CommandReview } from "../../schemas/command_review.ts";
import type { Grant, KeptGrant } from "../../schemas/grant.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { PermissionMode } from "../../schemas/mode.ts";
import { type ArgumentsFinding, checkArguments, isLook } from "./arguments_check.ts";
import { callScope } from "./approval_scope.ts";
import { matchCapability } from "./capability.ts";
import {
  commandCapabilities,
  commandFinding,
  isHarmless,
  reasonsOf,
  rulesOf,
  runsCommand,
} from "./command_check.ts";
import { findGrant } from "./grant.ts";

/** A call, and what its session may do. */
export interface AuthorizeRequest {
  readonly entry: CatalogEntry;
  /** What the tool is called with; without it nothing in there is looked at. */
  readonly arguments?: JsonObject;
  /** What was found about the command that the call would run. */
  readonly review?: CommandReview | undefined;
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

/** The checks of a call, in their order. `budget`, `schema` and `scope` are passed before policy is asked, `doubt`, `shown` and `refusal` are made after. */
export type CheckName =
  | "budget"
  | "schema"
  | "scope"
  | "enabled"
  | "capability"
  | "mode"
  | "review"
  | "approval"
  | "grant"
  | "shown"
  | "doubt"
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
  /** What the caller is told, where that is more than may be on record. */
  readonly told?: string;
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

/** Each says what it found, or nothing where there is nothing to look at. */
const steps: readonly ((request: AuthorizeRequest) => Finding | undefined)[] = [
  checkEnabled,
  checkCapability,
  checkMode,
  checkReview,
  checkApproval,
];

/**
 * Judges one call, in this order: the entry is enabled, the capability is granted, the session's mode, the review of its
 * command, the effective approval policy, the session's grants (DM-19, LC-20). The first denial ends it. The mode `auto`
 * and a grant turn `ask` into `allow` and nothing else: neither ever touches a denial.
 */
export function authorize(request: AuthorizeRequest): Authorization {
  const { rule } = request;
  const checks: Check[] = [];
  for (const step of steps) {
    const found = step(request);
    if (found === undefined) continue;
    const { code, told, ...check } = found;
    checks.push(check);
    const { verdict } = check;
    const why = told ?? check.why;
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

function checkCapability({ entry, capabilities, arguments: given = {} }: AuthorizeRequest): Finding {
  const capability = isLook(entry, given) ? undefined : entry.definition.capability;
  const needed = [...(capability === undefined ? [] : [capability]), ...commandCapabilities(entry, given)];
  const granted = needed.map((one) => ({ one, by: matchCapability(capabilities, one) }));
  const missing = granted.find(({ by }) => by === undefined)?.one;
  if (missing !== undefined) {
    const why =
      `The tool "${entry.canonicalName}" needs the capability "${missing}", which the agent does not have`;
    return { check: "capability", verdict: "deny", by: missing, code: "capability_missing", why };
  }
  const by = granted.map((one) => one.by).join(", ");
  const why = by === "" ? "It needs no capability" : `The agent has what it needs: ${needed.join(", ")}`;
  return { check: "capability", verdict: "allow", by, why };
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

/** A command that does harm is never run, whoever would allow it (DM-92). */
function checkReview({ entry, review }: AuthorizeRequest): Finding | undefined {
  if (!runsCommand(entry)) return undefined;
  if (review?.verdict === "allow") {
    const why = "Nothing about the command needs a person";
    return { check: "review", verdict: "allow", by: "review", why };
  }
  if (review?.verdict !== "block") {
    const why = review === undefined ? "Nobody has looked at its command" : "Nothing of it is blocked";
    return { check: "review", verdict: "allow", by: "", why };
  }
  const [rules, why] = [rulesOf(review), `The command is blocked: ${rulesOf(review)}`];
  const told = `The command is blocked. ${reasonsOf(review)}`;
  return { check: "review", verdict: "deny", by: rules, code: "command_blocked", why, told };
}

function checkApproval({ entry, mode, arguments: given, review }: AuthorizeRequest): Finding {
  const { canonicalName: name, approvalBy } = entry;
  const own = given === undefined ? undefined : ownFinding(entry, given, review);
  // Only tightens: a denial stays one, and no mode answers what the arguments ask for (DM-21).
  if (own !== undefined && entry.definition.approvalPolicy !== "deny") {
    const verdict = own.policy === "deny" ? "deny" : "ask";
    const told = review?.verdict === "prompt" ? { told: `${own.why}. ${reasonsOf(review)}` } : {};
    return { check: "approval", verdict, by: own.by, why: own.why, ...told };
  }
  const place = approvalBy === undefined ? "its catalog" : places[approvalBy];
  switch (entry.definition.approvalPolicy) {
    case "deny":
      return { check: "approval", verdict: "deny", by: place, why: `The tool "${name}" is denied by policy` };
    case "prompt":
      if (isHarmless(entry, review)) {
        const why = "Nothing about the command needs a person";
        return { check: "approval", verdict: "allow", by: "its review", why };
      }
      if (mode === "auto" && mayPassUnasked(entry)) {
        const why = `The mode "auto" of this session answers what is asked by ${place}`;
        return { check: "approval", verdict: "allow", by: "mode auto", why };
      }
      return { check: "approval", verdict: "ask", by: place, why: `Policy asks before "${name}" is called` };
    case "auto":
      return { check: "approval", verdict: "allow", by: "", why: "Nobody asks" };
  }
}

/** What a call asks for by its arguments alone. */
function ownFinding(
  entry: CatalogEntry,
  given: JsonObject,
  review: CommandReview | undefined,
): (ArgumentsFinding & { readonly by: string }) | undefined {
  const own = checkArguments(entry, given);
  return own === undefined ? commandFinding(entry, given, review) : { ...own, by: "its arguments" };
}
