/** `tools_list`: the tools of this turn, from the very catalog that its calls are taken from (DM-5). */
import { z } from "zod";
import type { CatalogEntry } from "../../schemas/catalog.ts";
import type { Json } from "../../schemas/json.ts";
import { type BuiltinTool, defineTool, structuredEnvelope } from "./tool.ts";

/** Lists the enabled tools of the turn's catalog (DM-16). */
export const toolsList: BuiltinTool = defineTool({
  name: "tools_list",
  title: "List tools",
  description:
    "Lists the tools that can be called in this turn, with their risk and whether a person is asked.",
  resource: { kind: "catalog", scope: "turn" },
  parallelSafe: false,
  inputSchema: z.strictObject({}),
  run: (_input, use) => {
    const tools = use.catalog.entries.filter((entry) => entry.enabled).map(describe);
    return Promise.resolve(structuredEnvelope({ epoch: use.catalog.epoch, tools }));
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
