/**
 * The only door to `@modelcontextprotocol/sdk`. Its subpath exports name type files that do not exist, so that Deno
 * takes them for `any` in silence (typescript-sdk#2701); the pragmas name the real ones.
 */
// @ts-types="npm:@modelcontextprotocol/sdk@1.32.2/types"
export * from "@modelcontextprotocol/sdk/types.js";
export { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="npm:@modelcontextprotocol/sdk@1.32.2/server/webStandardStreamableHttp"
export { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
export { Server } from "@modelcontextprotocol/sdk/server";
// @ts-types="npm:@modelcontextprotocol/sdk@1.32.2/shared/transport"
export type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
// @ts-types="npm:@modelcontextprotocol/sdk@1.32.2/client/auth"
export { buildDiscoveryUrls, startAuthorization } from "@modelcontextprotocol/sdk/client/auth.js";
// @ts-types="npm:@modelcontextprotocol/sdk@1.32.2/client/auth-extensions"
export { createPrivateKeyJwtAuth } from "@modelcontextprotocol/sdk/client/auth-extensions.js";
