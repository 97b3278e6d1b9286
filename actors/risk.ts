/** How much can go wrong with a tool: five signals, none of which a tool's own words can lower (AR-10, AR-11). */
import type { Json } from "../schemas/json.ts";
import type { TrustLevel } from "../schemas/provenance.ts";
import { RiskLevel, type ToolDefinition } from "../schemas/tool.ts";

/** What is known of a tool from outside its definition. */
export interface RiskSignals {
  readonly trust: TrustLevel;
  /** True if its source is reached over a network. */
  readonly remote: boolean;
  /** True if only a wildcard grants its capability: nobody named this very scope. */
  readonly broadGrant: boolean;
}

/** A level, and what led to it, one short clause each. */
export interface RiskAssessment {
  readonly level: RiskLevel;
  readonly reasons: readonly string[];
}

/** A tool as far as its risk depends on it. */
export type AssessedTool = Pick<ToolDefinition, "name" | "description" | "inputSchema" | "riskLevel">;

/** Order of risk, rising (DM-22). */
const levels = RiskLevel.options;

/** Words of a name that say destruction (LC-22: delete, remove, drop, shutdown). */
const destructiveWords = new Set(
  ("delete remove drop shutdown destroy kill wipe purge truncate erase uninstall revoke format overwrite reset " +
    "terminate rm").split(" "),
);
/** Words of a name that say free action: what is done is in the arguments. */
const executingWords = new Set("exec execute run eval shell terminal command script spawn sudo".split(" "));
/** First words of a name that say reading (LC-22). Nothing else lets an untrusted tool be low. */
const readingWords = new Set("read list get show search query inspect".split(" "));
/** Fields that carry free action, wherever they stand in the schema. */
const strongFields = new Set("command cmd shell script code argv mutation sql eval exec".split(" "));
/** Fields that carry a target (AR-11). */
const targetFields = new Set("path file filename directory folder url uri host query".split(" "));

/** The higher of two levels. */
export function higherRisk(left: RiskLevel, right: RiskLevel): RiskLevel {
  return levels.indexOf(left) >= levels.indexOf(right) ? left : right;
}

/**
 * Assesses a tool from server trust, name and description, schema fields, local or remote, and scope granted (AR-11).
 * The declared level is a base that signals can only raise, whoever declared it; claims such as "read only" or "safe"
 * count for nothing (AR-10). Of trusted local tools only strong signals count: their manifest is local policy itself.
 * Lower trust, remote instead of local, or a broader grant never gives a lower level.
 */
export function assessRisk(tool: AssessedTool, signals: RiskSignals): RiskAssessment {
  const weak = signals.trust === "trusted_local" ? [] : weakSignals(tool);
  const strong = strongSignals(tool);
  const found: (readonly [RiskLevel, string])[] = [[tool.riskLevel, `declared ${tool.riskLevel}`]];
  for (const reason of strong) found.push(["high", reason]);
  for (const reason of weak) found.push([signals.trust === "unknown" ? "high" : "medium", reason]);
  if (signals.trust === "third_party" || signals.trust === "unknown") {
    found.push([
      "medium",
      `the source is ${signals.trust === "unknown" ? "of unknown trust" : "a third party"}`,
    ]);
  }
  if (signals.remote) found.push(["medium", "the source is remote"]);
  if (signals.broadGrant) found.push(["medium", "granted by a wildcard only"]);
  if (strong.length > 0 && (signals.remote || signals.trust === "unknown")) {
    found.push([
      "critical",
      signals.remote ? "strong action at a remote source" : "strong action at an unknown source",
    ]);
  }
  const level = found.reduce<RiskLevel>((highest, [one]) => higherRisk(highest, one), "low");
  return { level, reasons: found.map(([, reason]) => reason) };
}

function strongSignals(tool: AssessedTool): string[] {
  const reasons: string[] = [];
  for (const word of wordsOf(tool.name)) {
    if (destructiveWords.has(word)) reasons.push(`the name says "${word}"`);
    if (executingWords.has(word)) reasons.push(`the name says "${word}"`);
  }
  for (const field of fieldsOf(tool.inputSchema)) {
    const word = wordsOf(field).find((one) => strongFields.has(one));
    if (word !== undefined) reasons.push(`a field is called "${word}"`);
  }
  return [...new Set(reasons)];
}

function weakSignals(tool: AssessedTool): string[] {
  const reasons: string[] = [];
  const first = wordsOf(tool.name)[0] ?? "";
  if (!readingWords.has(first)) reasons.push("the name does not begin with a reading word");
  for (const word of wordsOf(tool.description)) {
    if (destructiveWords.has(stem(word))) reasons.push(`the description says "${word}"`);
  }
  for (const field of fieldsOf(tool.inputSchema)) {
    const word = wordsOf(field).find((one) => targetFields.has(one));
    if (word !== undefined) reasons.push(`a field is called "${word}"`);
  }
  return [...new Set(reasons)];
}

/** Words of a name or text: cut at case changes and at everything that is no letter, in lower case. */
function wordsOf(text: string): string[] {
  return text.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z]+/).filter((word) =>
    word !== ""
  );
}

/** `deletes`, `deleted`, `deleting` as `delete`, roughly: enough to find destructive words in prose. */
function stem(word: string): string {
  const cut = word.replace(/(?:ing|ed|es|s|d)$/, "");
  for (const form of [word, cut, `${cut}e`]) if (destructiveWords.has(form)) return form;
  return word;
}

/** Names of properties anywhere in a schema. The border bounds its size, so all are looked at. */
function fieldsOf(schema: Json): string[] {
  const fields: string[] = [];
  const waiting: Json[] = [schema];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next !== "object" || next === null) continue;
    for (const [key, value] of Object.entries(next)) {
      if (typeof value !== "object" || value === null) continue;
      if (key === "properties") { for (const name of Object.keys(value)) fields.push(name); }
      waiting.push(value);
    }
  }
  return fields;
}
