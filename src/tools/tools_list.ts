/** `tools_list`: the tools of this turn, from the very catalog that its calls are taken from (DM-5). */
import { z } from "zod";
import { findTools } from "../../actors/relevance.ts";
import type { CatalogEntry } from "../../schemas/catalog.ts";
import type { Json } from "../../schemas/json.ts";
import { type BuiltinTool, defineTool, structuredEnvelope } from "./tool.ts";

/** Lists the enabled tools of the turn's catalog, also those that the model was not told of (DM-16, AR-12). */
export const toolsList: BuiltinTool = defineTool({
  name: "tools_list",
  title: "List tools",
  description:
    "Lists the tools that can be called in this turn, with their risk and whether a person is asked. You may have " +
    "been told of a part of them only: give a query, a few words of what you need, to find others; the next step " +
    "tells you how those that it finds are called.",
  resource: { kind: "catalog", scope: "turn" },
  parallelSafe: false,
  inputSchema: z.strictObject({
    query: z.string().min(1).max(500).optional().describe(
      "Words of what the tool shall do; leave it out for all",
    ),
  }),
  run: ({ query }, { catalog }) => {
    const { epoch } = catalog;
    const enabled = catalog.entries.filter((entry) => entry.enabled);
    if (query === undefined) {
      return Promise.resolve(structuredEnvelope({ epoch, tools: enabled.map(describe) }));
    }
    const tools = findTools(catalog, query).map(describe);
    const hint = tools.length === 0
      ? "No tool has to do with these words: try others, or none to list all"
      : "You are told of these tools in full from the next step on";
    return Promise.resolve(structuredEnvelope({ epoch, of: enabled.length, tools, hint }));
  },
});

/** What a model can use of an entry. */
function describe({ providerName, sourceKind, definition }: CatalogEntry): Json {
  return {
    name: providerName,
    title: definition.title,
    source: sourceKind,
    risk: definition.riskLevel,
    approval: definition.approvalPolicy,
    capability: definition.capability ?? null,
  };
}
