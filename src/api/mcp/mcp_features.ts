/** What an MCP server offers besides the actor API: the protocol's own test suite expects tools of its own. */
import type {
  CallToolResult,
  InputRequiredResult,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  Server,
  ServerContext,
  Tool,
} from "../../mcp/sdk_server.ts";

/** More features of a server. */
export interface McpFeatures {
  readonly capabilities: object;
  readonly tools: readonly Tool[];
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplateType[];
  /** Calls a tool; undefined if there is none of that name. */
  call(
    name: string,
    given: { readonly [name: string]: unknown },
    context: ServerContext,
  ): Promise<CallToolResult | InputRequiredResult | undefined>;
  /** Reads a resource; undefined if there is none of that address. */
  read(uri: string): ReadResourceResult | undefined;
  /** Adds what is neither tool nor resource. */
  attach(server: Server): void;
}
