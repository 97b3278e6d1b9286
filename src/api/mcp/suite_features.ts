import type { McpFeatures } from "./mcp_features.ts";
export const suiteFeatures: McpFeatures = null as never;
