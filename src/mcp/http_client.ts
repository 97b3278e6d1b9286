/** A connection to an MCP server by Streamable HTTP, and what is kept of its session. */
import type { McpSession } from "../../schemas/effect.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { type HandshakeOptions, type McpClient, McpFault, openOver } from "./client.ts";
import type { HttpPlace } from "./http_session.ts";
import { HttpWire } from "./http_wire.ts";
import type { SseWire } from "./sse_wire.ts";
import { asJsonObject, isRecord } from "./json_bounds.ts";
import { type ParamHeader, paramHeadersOf, paramValues } from "./param_headers.ts";
import { oneLine } from "./plain_text.ts";

const instructionsCharactersMax = 500;

/** Options of {@linkcode openHttpClient}. */
export interface HttpClientOptions extends HandshakeOptions, HttpPlace {}

/**
 * What a server of 2024-11-05 answers to a message that is sent where its stream is: it knows no such request. A login
 * that is missing says nothing of a revision.
 */
const oldStatuses: ReadonlySet<number | undefined> = new Set([400, 404, 405]);

/**
 * Opens a session with a server: by Streamable HTTP, and only if the server refuses the handshake as one that it does not
 * know, as servers of 2024-11-05 are spoken to. Throws `McpFault`; the session, if there was one, has been given back by
 * then.
 */
export async function openHttpClient(given: HttpClientOptions): Promise<McpClient> {
  // One handshake has one time, whichever way it goes.
  const options = { ...given, deadlineAtMs: given.deadlineAtMs ?? given.clock.now() + given.connectMs };
  const wireOptions = { onNotice: () => {}, ...options };
  try {
    return await openBy(new HttpWire(wireOptions), "streamable_http", options);
  } catch (error) {
    const status = error instanceof McpFault ? error.failure.details?.http_status : undefined;
    const mayBeOld = options.eras?.some(({ era }) => era === "legacy") ?? true;
    if (!oldStatuses.has(status) || !mayBeOld) throw error;
    const { SseWire } = await import("./sse_wire.ts");
    const wire = new SseWire(wireOptions);
    return await openBy(wire, "sse", { ...options, eras: [{ era: "legacy" }] }).catch((why) => {
      // Then its first answer says what is wrong.
      throw wire.hasNoStream ? error : why;
    });
  }
}

function openBy(
  wire: HttpWire | SseWire,
  transport: McpSession["transport"],
  options: HttpClientOptions,
): Promise<McpClient> {
  const far = {
    end: () => {
      const { lastEvent, session: { goodbye } } = wire;
      const told = goodbye === undefined ? {} : { goodbye };
      return Promise.resolve({ code: null, signal: null, stderr: "", lastEvent, ...told });
    },
    kill: () => {},
    lastWords: () => "",
  };
  const session = () => sessionOf(wire, transport, options.url);
  const learn = (tools: readonly unknown[]) => {
    if (wire instanceof HttpWire) wire.repeated = repeating(tools);
  };
  return openOver({ wire, far, noise: () => 0, session, learn }, options);
}

/** Repeats arguments of calls in headers, as the tools that were listed last ask for it. */
function repeating(tools: readonly unknown[]): HttpWire["repeated"] {
  const headersOf = new Map<unknown, readonly ParamHeader[]>();
  for (const tool of tools) {
    if (!isRecord(tool) || headersOf.has(tool["name"])) continue;
    const read = paramHeadersOf(tool["inputSchema"]);
    if ("headers" in read) headersOf.set(tool["name"], read.headers);
  }
  return (message) => {
    if (!("method" in message) || message.method !== "tools/call") return [];
    const { name, arguments: given } = message.params ?? {};
    return paramValues(headersOf.get(name) ?? [], given);
  };
}

/** The record of a session, without what may be secret in its URL (CM-79). */
function sessionOf(
  { session: { id, initialized }, protocolVersion }: HttpWire | SseWire,
  transport: McpSession["transport"],
  url: string,
): McpSession {
  const { origin, pathname } = new URL(url);
  return {
    transport,
    url: `${origin}${pathname}`.slice(0, limits.urlCharactersMax),
    id,
    initialized: shortened(initialized, protocolVersion),
  };
}

/** What a server answered to `initialize` or `server/discover`, as far as it is small enough to be kept beside its name. */
function shortened(initialized: unknown, protocolVersion: string): JsonObject {
  if (!isRecord(initialized)) return {};
  const { supportedVersions, serverInfo, capabilities, instructions } = initialized;
  const kept: { [key: string]: unknown } = {};
  for (
    const [name, value] of Object.entries({ protocolVersion, supportedVersions, serverInfo, capabilities })
  ) {
    if (value !== undefined && sizeOf(value) <= limits.mcpInitializedCharactersMax) kept[name] = value;
  }
  if (typeof instructions === "string") {
    kept["instructions"] = oneLine(instructions, instructionsCharactersMax);
  }
  const read = asJsonObject(kept);
  return "json" in read ? read.json : {};
}

function sizeOf(value: unknown): number {
  try {
    return JSON.stringify(value).length;
  } catch {
    return Infinity; // It nests too deeply to be written down.
  }
}
