/** The SDK's own transport over a child process: what the product does not use, and is measured against. */
// Its export names a type file that does not exist, as `src/mcp/sdk_v1.ts` tells.
// @ts-types="npm:@modelcontextprotocol/sdk@1.32.2/client/stdio"
export { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
