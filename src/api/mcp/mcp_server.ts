/** The actor API as an MCP server: methods as tools, sessions as resources. The same for both eras of the protocol. */
import type { Seams } from "../../seams.ts";
import {
  type CallToolResult,
  type InputRequiredResult,
  ProtocolError,
  type ReadResourceResult,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from "../../mcp/sdk_server.ts";
import { version } from "../../version.ts";
import type { ActorApi } from "../actor_api.ts";
import type { McpFeatures } from "./mcp_features.ts";
import { callTool } from "./mcp_call.ts";
import { callerIn, type McpCaller } from "./mcp_caller.ts";
import { isMcpTool, mcpTools } from "./mcp_tools.ts";
import { addressIn, isNotThere, listSessions, readSession, sessionTemplate } from "./session_resources.ts";
import { SessionWatches } from "./session_watches.ts";

/** What a server is made of. */
export interface McpServerParts {
  readonly api: ActorApi;
  readonly seams: Pick<Seams, "clock" | "nextId" | "log">;
  /** Who speaks on a pipe; over a network each request says it. */
  readonly piped?: McpCaller;
  /** What is offered besides the API. */
  readonly more?: McpFeatures;
}

/** A server for one connection, or, where the protocol has none, for one request. */
export interface McpApiServer {
  readonly server: Server;
  /** Ends its subscriptions. */
  end(): Promise<void>;
}

const invalidParams = -32_602;
const refusedByServer = -32_000;

const instructions =
  "Agents of a Troupe runtime. spawn gives an address; ask with it waits for a turn, send does " +
  "not. A refusal says in outcome whether anything was done: if it is unknown, call again with the same key.";

/** Makes it; it serves once it is connected. */
export function createApiServer(parts: McpServerParts): McpApiServer {
  const { api, seams, more } = parts;
  const watches = new SessionWatches(api, seams.clock);
  const server = new Server({ name: "troupe", title: "Troupe", version }, {
    capabilities: { tools: {}, resources: { subscribe: true }, ...more?.capabilities },
    instructions,
  });
  server.setRequestHandler("tools/list", () => ({ tools: [...mcpTools(), ...more?.tools ?? []] }));
  server.setRequestHandler("tools/call", (request, context) => call(parts, request.params, context));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [sessionTemplate, ...more?.templates ?? []],
  }));
  server.setRequestHandler("resources/list", async ({ params }, context) => {
    const { caller } = callerIn(context, parts.piped);
    const { signal } = context.mcpReq;
    const page = await told(parts, () => listSessions(api, caller, { cursor: params?.cursor, signal }));
    return { ...page, resources: [...page.resources, ...more?.resources ?? []] };
  });
  server.setRequestHandler("resources/read", (request, context) => read(parts, request.params, context));
  server.setRequestHandler("resources/subscribe", async ({ params: { uri } }, context) => {
    const { caller } = callerIn(context, parts.piped);
    const isMore = more?.resources.some((one) => one.uri === uri) === true;
    const tell = () => server.sendResourceUpdated({ uri });
    if (!isMore) await told(parts, () => watches.begin(uri, caller, tell), uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", async ({ params: { uri } }) => {
    await watches.end(uri);
    return {};
  });
  more?.attach(server);
  return { server, end: () => watches.endAll() };
}

async function call(
  parts: McpServerParts,
  { name, arguments: given = {} }: {
    readonly name: string;
    readonly arguments?: Record<string, unknown> | undefined;
  },
  context: ServerContext,
): Promise<CallToolResult | InputRequiredResult> {
  if (isMcpTool(name)) {
    return await callTool(parts, { name, given }, callerIn(context, parts.piped), context);
  }
  const more = await parts.more?.call(name, given, context);
  if (more !== undefined) return more;
  throw new ProtocolError(
    invalidParams,
    `Unknown tool: ${JSON.stringify(name.slice(0, 100))}: see tools/list`,
  );
}

async function read(
  parts: McpServerParts,
  { uri }: { readonly uri: string },
  context: ServerContext,
): Promise<ReadResourceResult> {
  const more = parts.more?.read(uri);
  if (more !== undefined) return more;
  const { caller } = callerIn(context, parts.piped);
  const address = addressIn(uri);
  if (address === undefined) throw new ResourceNotFoundError(uri);
  const { signal } = context.mcpReq;
  const session = await told(parts, () => readSession(parts.api, caller, { address, signal }), uri);
  return { contents: [{ uri, ...session }] };
}

/** Carries out what has no tool's error to say no with. What is not there and what is another's are the same. */
async function told<T>({ api, seams }: McpServerParts, work: () => Promise<T>, uri?: string): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (uri !== undefined && isNotThere(error)) throw new ResourceNotFoundError(uri);
    const refusal = api.describe(error, seams.nextId("req"));
    const code = refusal.code === "params_invalid" || isNotThere(error) ? invalidParams : refusedByServer;
    throw new ProtocolError(code, refusal.message, refusal);
  }
}
