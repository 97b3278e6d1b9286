/** Whether a call needs a person: policies of host, agent and tool merge, and merging can only tighten (DM-22, DM-23). */
import type { ApprovalRule } from "../../schemas/catalog.ts";
import type { HostPolicy } from "../../schemas/config.ts";
import { ApprovalPolicy, RiskLevel } from "../../schemas/tool.ts";
import { matchCapability } from "./capability.ts";

/** A tool as far as approval depends on it. */
export interface ApprovalSubject {
  readonly canonicalName: string;
  readonly capability: string | undefined;
  readonly risk: RiskLevel;
}

/** What the host's policy says of a tool, and by which of its rules. */
export interface HostVerdict {
  readonly approval: ApprovalPolicy;
  readonly by: "tool" | "capability" | "risk" | "default";
}

const order = ApprovalPolicy.options;

/** The stricter of two: auto < prompt < deny (DM-22). */
export function stricter(left: ApprovalPolicy, right: ApprovalPolicy): ApprovalPolicy {
  return order.indexOf(left) >= order.indexOf(right) ? left : right;
}

/**
 * What the host's policy says: the rule for the tool by its canonical name, else for its capability, else for its risk,
 * else the default (DM-23). A risk is at least as strict as every lower one, so a rule for `medium` also holds for a
 * `critical` tool that has no rule of its own, and a higher risk never widens.
 */
export function hostApproval(policy: HostPolicy, subject: ApprovalSubject): HostVerdict {
  const { canonicalName, capability, risk } = subject;
  const byName = Object.hasOwn(policy.tools, canonicalName) ? policy.tools[canonicalName] : undefined;
  if (byName !== undefined) return { approval: byName, by: "tool" };
  const rule = capability === undefined
    ? undefined
    : matchCapability(Object.keys(policy.capabilities), capability);
  const byCapability = rule === undefined ? undefined : policy.capabilities[rule];
  if (byCapability !== undefined) return { approval: byCapability, by: "capability" };
  const upTo = RiskLevel.options.slice(0, RiskLevel.options.indexOf(risk) + 1);
  const approval = upTo.map((level) => policy.risks[level] ?? policy.default).reduce(stricter);
  return { approval, by: upTo.some((level) => policy.risks[level] !== undefined) ? "risk" : "default" };
}

/** The policy of a tool after all rules, and whose rule it is. */
export interface EffectiveApproval {
  readonly approval: ApprovalPolicy;
  /** Undefined if nobody asks or denies. */
  readonly by: ApprovalRule | undefined;
  /** True if the host itself asks for this tool, by its name or its capability: no mode takes that back (LC-21). */
  readonly isAskedByHost: boolean;
}

/** The effective policy of a tool: the strictest of its own, the agent's override, if any, and the host's. */
export function effectiveApproval(
  policy: HostPolicy,
  subject: ApprovalSubject,
  own: ApprovalPolicy,
  override: ApprovalPolicy | undefined,
): EffectiveApproval {
  const host = hostApproval(policy, subject);
  const approval = [own, override ?? "auto", host.approval].reduce(stricter);
  const isNamed = host.by === "tool" || host.by === "capability";
  return {
    approval,
    by: approval === "auto" ? undefined : ruleOf(approval, host, override),
    isAskedByHost: isNamed && host.approval !== "auto",
  };
}

/** Whose rule it is: of equally strict ones the host's counts first, then the agent's. */
function ruleOf(
  approval: ApprovalPolicy,
  host: HostVerdict,
  override: ApprovalPolicy | undefined,
): ApprovalRule {
  if (host.approval === approval) return `host_${host.by}`;
  return override === approval ? "agent" : "tool";
}
