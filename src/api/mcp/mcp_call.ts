/** A call of one of our MCP tools: a request of the API, and its answer or refusal as a tool's. */
import type { ApiError } from "../../../schemas/api_error.ts";
import type { Seams } from "../../seams.ts";
import type { CallToolResult, ServerContext } from "../../mcp/sdk_server.ts";
import type { ActorApi } from "../actor_api.ts";
import { ApiFailure } from "../api_failure.ts";
import type { McpCaller } from "./mcp_caller.ts";
import { withProgress } from "./mcp_progress.ts";
import { type McpTool, takesKey } from "./mcp_tools.ts";

/** What calls are carried out with. */
export interface McpCallParts {
  readonly api: ActorApi;
  readonly seams: Pick<Seams, "nextId">;
}

/** Carries a call out. A refusal is a tool's error, so that a model reads it. */
export async function callTool(
  { api, seams }: McpCallParts,
  { name, given }: { readonly name: McpTool; readonly given: { readonly [name: string]: unknown } },
  { caller, late }: McpCaller,
  { mcpReq }: ServerContext,
): Promise<CallToolResult> {
  const requestId = seams.nextId("req");
  const { key: own, ...rest } = given;
  const isCommand = takesKey(name);
  const key = isCommand ? own ?? seams.nextId("key") : undefined;
  try {
    if (key !== undefined && typeof key !== "string") {
      throw new ApiFailure("params_invalid", `Cannot ${name}: key: must be a text`);
    }
    const signal = AbortSignal.any([mcpReq.signal, late]);
    const params = isCommand ? rest : given;
    const work = () => api.call({ caller, method: name, params, key, signal });
    const token = name === "ask" ? mcpReq._meta?.progressToken : undefined;
    const result = token === undefined
      ? await work()
      : await withProgress(api, { caller, address: rest["address"], token, notify: mcpReq.notify }, work);
    return answered(key === undefined ? result as object : { ...result as object, key });
  } catch (error) {
    return refused(api.describe(error, requestId), key);
  }
}

function answered(value: object): CallToolResult {
  return {
    content: [{ type: "text", text: JSON.stringify(value) }],
    structuredContent: value as { [key: string]: unknown },
  };
}

/** As text alone: clients check whatever is structured against the schema of a good answer. */
function refused(error: ApiError, key: unknown): CallToolResult {
  const told = typeof key === "string" ? { ...error, key } : error;
  return { content: [{ type: "text", text: JSON.stringify(told) }], isError: true };
}
