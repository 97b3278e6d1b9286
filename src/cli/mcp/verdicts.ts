/** What became of each tool of a list, in words. */
import { isRecord } from "../../mcp/json_bounds.ts";
import type { Drift } from "../../mcp/pinned_tools.ts";
import { oneLine, withoutUnseen } from "../../mcp/plain_text.ts";
import type { ToolList } from "../../mcp/tool_list.ts";

const saidCharactersMax = 160;

/** One tool: `ok`, `dropped` since it cannot be offered, or `quarantined` since it is not what was approved. */
export interface Verdict {
  readonly tool: string;
  readonly verdict: "ok" | "dropped" | "quarantined";
  readonly reason?: string;
  /** Characters of its description that nobody sees, and that no model is told. */
  readonly unseen?: number;
}

const driftWords: { readonly [K in Drift]: string } = {
  changed: "it is not any more what was approved: see troupe mcp trust",
  renamed: "it came when an approved tool was gone: see troupe mcp trust",
  crowded: "the server has shown too many tools: see troupe mcp trust",
};

/** The verdicts of a list: those that are offered first, in the server's order. */
export function verdictsOf(
  raw: readonly unknown[],
  { source: { tools }, rejected }: ToolList,
  drifted: ReadonlyMap<string, Drift>,
): readonly Verdict[] {
  const offered = tools.map(({ name }): Verdict => {
    const drift = drifted.get(name);
    const unseen = unseenIn(descriptionOf(raw, name));
    return {
      tool: name,
      ...(drift === undefined ? { verdict: "ok" } : { verdict: "quarantined", reason: driftWords[drift] }),
      ...(unseen === 0 ? {} : { unseen }),
    };
  });
  return [...offered, ...rejected.map((one): Verdict => ({ ...one, verdict: "dropped" }))];
}

/** What a server says of a tool, for people: on one line, with what nobody would see written out. */
export function describeRaw(raw: readonly unknown[], tool: string): string {
  return oneLine(descriptionOf(raw, tool), saidCharactersMax);
}

function descriptionOf(raw: readonly unknown[], tool: string): string {
  const found = raw.find((one) => isRecord(one) && one["name"] === tool);
  const text = isRecord(found) ? found["description"] : "";
  return typeof text === "string" ? text : "";
}

function unseenIn(text: string): number {
  return [...text].length - [...withoutUnseen(text)].length;
}
