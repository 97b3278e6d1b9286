/** The one verdict on a valid call: allowed, asked for, or denied; every step can only tighten. */
import type { CatalogEntry } from "../../schemas/catalog.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import { matchCapability } from "./capability.ts";

/** A call, and what its session may do. */
export interface AuthorizeRequest {
  readonly entry: CatalogEntry;
  /** What the agent was granted. */
  readonly capabilities: readonly string[];
  /** Rules added to the session by `always_allow_for_session`. */
  readonly grants: readonly string[];
  /** The rule of this very call: see `ruleKey`. Empty if it has none. */
  readonly rule: string;
}

/** Policy's verdict on a call. `failure` is set if and only if it is denied. */
export interface Authorization {
  readonly verdict: "allow" | "ask" | "deny";
  readonly rule: string;
  /** One clause for people. */
  readonly reason: string;
  readonly failure?: Failure;
}

/**
 * Judges one call, in this order: the entry is enabled, the capability is granted, the effective approval policy, the
 * session's grants. A grant turns `ask` into `allow` and nothing else: it never touches a denial.
 */
export function authorize(request: AuthorizeRequest): Authorization {
  const { entry, capabilities, grants, rule } = request;
  const { capability, approvalPolicy } = entry.definition;
  const name = entry.canonicalName;
  if (!entry.enabled) return denied(rule, failure("policy_denied", `The tool "${name}" is switched off`));
  if (capability !== undefined && matchCapability(capabilities, capability) === undefined) {
    const why = `The tool "${name}" needs the capability "${capability}", which the agent does not have`;
    return denied(rule, failure("capability_missing", why));
  }
  switch (approvalPolicy) {
    case "deny":
      return denied(rule, failure("policy_denied", `The tool "${name}" is denied by policy`));
    case "prompt":
      if (rule !== "" && grants.includes(rule)) {
        return { verdict: "allow", rule, reason: "Allowed for this session by an earlier answer" };
      }
      return { verdict: "ask", rule, reason: `Policy asks before "${name}" is called` };
    case "auto":
      return { verdict: "allow", rule, reason: "Allowed by policy" };
  }
}

function denied(rule: string, why: Failure): Authorization {
  return { verdict: "deny", rule, reason: why.message, failure: why };
}
