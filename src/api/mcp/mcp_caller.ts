/** Who asks by MCP: on a pipe always the same, over a network whoever the token of each request shows. */
import type { AuthInfo, ServerContext } from "../../mcp/sdk_server.ts";
import type { Caller } from "../caller.ts";

/** Who asks, and how long anybody waits for the answer. */
export interface McpCaller {
  readonly caller: Caller;
  /** Aborts when the answer is to come at once, however far things are. */
  readonly late: AbortSignal;
}

/** A caller as the SDK passes it on: it checks nothing, and neither token nor client are its business. */
export function authOf(asks: McpCaller): AuthInfo {
  return { token: "", clientId: "", scopes: [], extra: { asks } };
}

/** The caller in what the SDK passed on; otherwise the one of the pipe. */
export function callerIn({ http }: ServerContext, piped: McpCaller | undefined): McpCaller {
  const asks = http?.authInfo?.extra?.["asks"] as McpCaller | undefined ?? piped;
  if (asks === undefined) throw new Error("A request came without anybody who asks");
  return asks;
}
