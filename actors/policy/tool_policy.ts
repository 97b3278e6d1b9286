/** Which tools the host takes away from every agent: by name, by not naming them, or by their risk (DM-14, AR-12). */
import type { HostPolicy } from "../../schemas/config.ts";
import { RiskLevel } from "../../schemas/tool.ts";
import type { ApprovalSubject } from "./approval.ts";
import { matchesToolPattern } from "./tool_pattern.ts";

/** A tool as far as it can be taken away. */
export type ToolSubject = Pick<ApprovalSubject, "canonicalName" | "risk">;

/**
 * The rule that takes a tool out, as one clause; undefined if none does. Denials come first; a list of what is allowed
 * can only leave out, so no rule widens what another one took.
 */
export function takenOutBy(policy: HostPolicy, { canonicalName, risk }: ToolSubject): string | undefined {
  // The policy of a catalog that an earlier release made lacks these fields.
  const { deny = [], allow, risk_ceiling: ceiling } = policy as Partial<HostPolicy>;
  const denial = deny.find((pattern) => matchesToolPattern(pattern, canonicalName));
  if (denial !== undefined) return `policy.deny of the host names "${denial}"`;
  if (allow !== undefined && !allow.some((pattern) => matchesToolPattern(pattern, canonicalName))) {
    return "policy.allow of the host does not name it";
  }
  if (ceiling !== undefined && RiskLevel.options.indexOf(risk) > RiskLevel.options.indexOf(ceiling)) {
    return `its risk is ${risk}, policy.risk_ceiling of the host is ${ceiling}`;
  }
  return undefined;
}
