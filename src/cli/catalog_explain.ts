/** Why each tool of a catalog is, or is not, told to a model: for people and for programs (AR-12). */
import {
  explainExposure,
  type ExposureReason,
  type ExposureVerdict,
  type Wishes,
} from "../../actors/exposure.ts";
import { matchCapability } from "../../actors/policy/capability.ts";
import { assessRisk } from "../../actors/risk.ts";
import type { ExposureBudget } from "../../schemas/agent.ts";
import type { ApprovalRule, CatalogEntry, ResolvedCatalog } from "../../schemas/catalog.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import { describeProvenance } from "../../schemas/provenance.ts";
import type { Seams } from "../seams.ts";
import { sealEntries } from "../effects/catalog_seal.ts";
import { printTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** A catalog to be explained. */
export interface ExplainedCatalog {
  readonly catalog: ResolvedCatalog;
  readonly wishes: Wishes;
  readonly budget: ExposureBudget;
  /** What the agent was granted. */
  readonly capabilities: readonly string[];
  readonly digest: Seams["digest"];
}

/** One tool, explained. */
interface Line {
  readonly entry: CatalogEntry;
  readonly set: "discovered" | "enabled" | "exposed";
  readonly why: string;
  readonly verdict: ExposureVerdict;
  readonly risks: readonly string[];
}

/** Explains every tool of a catalog, in its order. */
export async function explainCatalog(request: ExplainedCatalog): Promise<readonly Line[]> {
  // What is resolved just now has no hashes yet; a session's catalog keeps those that it was sealed with.
  const isSealed = request.catalog.entries.every(({ hash }) => hash !== undefined);
  const catalog = isSealed ? request.catalog : await sealEntries(request.catalog, request.digest);
  return explainExposure(catalog, request.wishes, request.budget).map((verdict): Line => {
    const { entry, isExposed, reason } = verdict;
    const set = isExposed ? "exposed" : reason === "disabled" ? "discovered" : "enabled";
    return { entry, set, why: whyOf(verdict), verdict, risks: risksOf(entry, request.capabilities) };
  });
}

const reasons: { readonly [R in Exclude<ExposureReason, "disabled">]: string } = {
  all_fit: "all enabled tools fit the budget",
  builtin: "the agent lists it",
  called: "this turn called it",
  looked_for: "tools_list found it",
  relevant: "it has to do with the prompt",
  room_left: "there was room left",
  tools_full: "the budget of tools is used up",
  characters_full: "the budget of characters is used up",
};

function whyOf({ entry, reason, score, characters }: ExposureVerdict): string {
  if (reason === "disabled") return entry.disabledBy ?? "switched off";
  return `${reasons[reason]}; score ${score}, ${characters} characters`;
}

/** The signals that raise the risk; what was declared shows where they do not say all. */
function risksOf(
  { definition, provenance }: CatalogEntry,
  capabilities: readonly string[],
): readonly string[] {
  const { capability } = definition;
  const grant = capability === undefined ? undefined : matchCapability(capabilities, capability);
  // No source of this release is remote.
  const signals = { trust: provenance.trust, remote: false, broadGrant: grant?.endsWith(":*") === true };
  const { level, reasons: [, ...found] } = assessRisk({ ...definition, riskLevel: "low" }, signals);
  return level === definition.riskLevel ? found : [...found, `declared ${definition.riskLevel}`];
}

const approvalRules: { readonly [R in ApprovalRule]: string } = {
  tool: "the tool or its server",
  agent: "agent.yaml",
  host_tool: "policy.tools of the host",
  host_capability: "policy.capabilities of the host",
  host_risk: "policy.risks of the host",
  host_default: "policy.default of the host",
};

function approvalOf({ definition: { approvalPolicy }, approvalBy }: CatalogEntry): string {
  return approvalBy === undefined ? approvalPolicy : `${approvalPolicy} by ${approvalRules[approvalBy]}`;
}

/** Prints what was explained, one line a tool. */
export function printExplained(terminal: Terminal, lines: readonly Line[]): void {
  printTable(
    terminal,
    ["NAME", "SET", "WHY", "RISK", "APPROVAL", "FROM", "VERSION", "HASH"],
    lines.map(({ entry, set, why, risks }) => [
      entry.canonicalName,
      set,
      why,
      risks.length === 0 ? entry.definition.riskLevel : `${entry.definition.riskLevel}: ${risks.join(", ")}`,
      approvalOf(entry),
      `${entry.sourceKind}, ${describeProvenance(entry.provenance)}`,
      entry.definition.version,
      (entry.hash ?? "").replace("sha256:", "").slice(0, 12),
    ]),
  );
  const count = (set: Line["set"]) => lines.filter((line) => line.set === set).length;
  const [exposed, enabled] = [count("exposed"), count("enabled")];
  terminal.err.line(
    `${lines.length} discovered, ${exposed + enabled} of them enabled, ${exposed} of these told to the model`,
  );
}

/** One tool for programs. */
export function explainedJson({ entry, set, verdict, risks }: Line): JsonObject {
  return {
    set,
    reason: verdict.reason,
    ...(entry.disabledBy === undefined ? {} : { disabledBy: entry.disabledBy }),
    score: verdict.score,
    characters: verdict.characters,
    risks: [...risks],
    entry: entry as unknown as Json,
  };
}
