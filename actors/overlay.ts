/** Overlays: what `agent.yaml` says about how calls of many tools are carried out (CM-84..86). */
import type { ToolOverlay } from "../schemas/agent.ts";
import type { CatalogSource } from "../schemas/catalog.ts";
import type { ToolDefinition } from "../schemas/tool.ts";

/** A tool as far as overlays look at it. */
export interface OverlaidTool {
  readonly source: Pick<CatalogSource, "kind" | "server">;
  readonly tool: ToolDefinition;
  /** Other fields by the names that a match may use. */
  readonly fields: { readonly [name: string]: string };
}

/** The value of `parallel_safe` after all overlays that match, in their order. */
export function overlaidParallelSafe(
  overlays: readonly ToolOverlay[],
  subject: OverlaidTool,
  own: boolean,
): boolean {
  return overlays.filter((overlay) => matches(overlay, subject))
    .reduce((_, { execution_policy: policy }) => policy.parallel_safe, own);
}

/** Every key must equal a value that is there; a match without keys applies to nothing (CM-85). */
function matches({ match }: ToolOverlay, subject: OverlaidTool): boolean {
  const keys = Object.entries(match);
  return keys.length > 0 && keys.every(([key, wanted]) => wanted !== "" && fieldOf(subject, key) === wanted);
}

function fieldOf({ source, tool, fields }: OverlaidTool, key: string): string | undefined {
  switch (key) {
    case "tool_source":
      return source.kind;
    case "server_slug":
      return source.kind === "mcp" ? source.server : undefined;
    case "tool_name":
      return tool.name;
    default:
      return Object.hasOwn(fields, key) ? fields[key] : undefined;
  }
}
