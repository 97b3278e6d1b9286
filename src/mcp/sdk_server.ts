/**
 * The only door to `@modelcontextprotocol/server`, which serves 2026-07-28 and every revision before it. Loaded by
 * `troupe serve --mcp` alone.
 */
export {
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  isLegacyRequest,
  ProtocolError,
  ResourceNotFoundError,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
export type {
  AuthInfo,
  CallToolResult,
  GetPromptResult,
  InputRequiredResult,
  JSONRPCMessage,
  McpHttpHandler,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  ServerContext,
  Tool,
  Transport,
} from "@modelcontextprotocol/server";
export { serveStdio, type StdioServerHandle } from "@modelcontextprotocol/server/stdio";
