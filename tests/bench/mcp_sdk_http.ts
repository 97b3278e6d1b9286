/** The SDK's own transport over Streamable HTTP: what the product does not use, and is measured against. */
// Its export names a type file that does not exist, as `src/mcp/sdk_v1.ts` tells.
// @ts-types="npm:@modelcontextprotocol/sdk@1.32.2/client/streamableHttp"
export { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
