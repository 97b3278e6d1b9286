/** An open connection: lists and calls, what the server says unasked, and the end; the same whatever era is spoken. */
import type { RequestGate } from "../../schemas/call_pause.ts";
import { McpCapability, type McpEnd, type McpGreeting } from "../../schemas/effect.ts";
import type { Failure } from "../../schemas/failure.ts";
import { head } from "../tools/visible.ts";
import { type McpCall, type McpCallResult, performCall } from "./call.ts";
import type { Carrier, McpClient, McpClosed } from "./client.ts";
import { isRecord } from "./json_bounds.ts";
import { KnownList } from "./known_list.ts";
import { lastWords, oneLine } from "./plain_text.ts";
import { type Connection, McpFault } from "./request.ts";
import { ServerNotices } from "./server_notices.ts";
import { Asking, type ServerRequests } from "./server_requests.ts";
import { ResourceStream } from "./resource_stream.ts";
import { Subscription } from "./subscription.ts";
import { Subscriptions } from "./subscriptions.ts";
import { listTools } from "./tool_pages.ts";
import type { FarSide } from "./wire.ts";

const versionCharactersMax = 40;
const nameCharactersMax = 200;
const capabilitiesMax = 64;
const logCharactersMax = 20_000;
const lastWordsCharactersMax = 1_000;

/** A connection that is open. */
export class OpenClient implements McpClient {
  readonly greeting: Omit<McpGreeting, "tookMs">;
  readonly capabilities: readonly string[];
  readonly isRemote: boolean;
  readonly closed: Promise<McpClosed>;
  readonly #connection: Connection;
  readonly #far: FarSide;
  readonly #learn: (tools: readonly unknown[]) => void;
  readonly subscriptions = new Subscriptions();
  readonly #notices = new ServerNotices((uri) => this.subscriptions.note(uri));
  readonly #known: KnownList;
  readonly #requests: ServerRequests;
  /** Subscriptions in the modern era; those of the older one are requests like any other. */
  readonly #resources: ResourceStream | undefined;
  readonly gate: RequestGate | undefined;

  constructor(
    connection: Connection,
    { far, session, learn = () => {} }: Carrier,
    requests: ServerRequests,
  ) {
    this.#requests = requests;
    this.gate = requests.gate;
    const { protocol } = connection;
    this.#connection = connection;
    this.#far = far;
    this.#learn = learn;
    const opened = session?.();
    this.isRemote = connection.isRemote;
    this.greeting = { ...greetingOf(connection), ...(opened === undefined ? {} : { session: opened }) };
    this.capabilities = Object.keys(protocol.capabilities)
      .map((name) => oneLine(name, versionCharactersMax)).slice(0, capabilitiesMax);
    const subscription = new Subscription(connection, this.#notices);
    this.#known = new KnownList(connection, this.#notices, () => subscription.isLive);
    const isModern = protocol.era === "modern";
    this.#resources = isModern
      ? new ResourceStream(connection, (uri) => this.subscriptions.note(uri))
      : undefined;
    protocol.hear((notice) => {
      this.#notices.take(notice);
      subscription.take(notice);
      this.#resources?.take(notice);
    });
    this.closed = this.#end();
    if (isModern) void subscription.run();
  }

  async list(signal: AbortSignal): Promise<readonly unknown[]> {
    const known = this.#known.tools();
    if (known !== undefined) return known;
    this.#notices.listing();
    try {
      const pages = await listTools(this.#connection, signal);
      this.#known.learn(pages);
      this.#learn(pages.tools);
      return pages.tools;
    } catch (error) {
      // The next connection finds out anew what the server speaks.
      const isOther = error instanceof McpFault && error.failure.code === "mcp_version_unsupported";
      if (isOther) this.#connection.transport.end(error.failure);
      throw error;
    }
  }

  listChanged(): Promise<void> {
    return this.#notices.changed();
  }

  taskTold(task: string, signal: AbortSignal): Promise<void> {
    return this.#notices.taskTold(task, signal);
  }

  async call(request: McpCall): Promise<McpCallResult> {
    if (this.#resources !== undefined && ResourceStream.answers(request.request)) {
      return await this.#resources.change(request.request, request);
    }
    const asking = new Asking(request.onAsk);
    const perform = () => performCall(this.#connection, request, asking);
    const result = await this.#notices.during(
      request.onProgress,
      () => this.#requests.during(asking, perform),
    );
    if (result.status === "refused" && result.isUnknown) this.#known.forget();
    return result;
  }

  async close(): Promise<McpEnd> {
    await this.#connection.transport.close();
    const log = this.#notices.log(logCharactersMax);
    return { ...await this.#far.end(), ...(log === "" ? {} : { log }) };
  }

  kill(): void {
    void this.#connection.transport.close();
    this.#far.kill();
  }

  /** A server without a connection is of no use: whatever lost it, the process is ended too. */
  async #end(): Promise<McpClosed> {
    const reason = await this.#connection.transport.lost;
    const { code, signal, stderr } = await this.close();
    return { failure: withLastWords(reason, this.#far.lastWords()), end: { code, signal, stderr } };
  }
}

function greetingOf({ protocol, transport }: Connection): Omit<McpGreeting, "tookMs"> {
  const { era, server: { name, version } } = protocol;
  return {
    protocolVersion: oneLine(transport.protocolVersion, versionCharactersMax),
    era,
    server: { name: oneLine(name, nameCharactersMax), version: oneLine(version, nameCharactersMax) },
    capabilities: McpCapability.options.filter((one) => isOffered(protocol, one)),
  };
}

/**
 * Tasks are offered for some requests and not for others; here those of tools count. In the modern era they are an
 * extension, which no call has to ask for.
 */
function isOffered({ era, capabilities }: Connection["protocol"], one: McpCapability): boolean {
  if (one === "tasks") {
    return era === "legacy" && fieldAt(capabilities, "tasks", "requests", "tools", "call") !== undefined;
  }
  if (one === "subscriptions") {
    return fieldAt(capabilities, "resources", "subscribe") === true;
  }
  return capabilities[one] !== undefined;
}

function fieldAt(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((at, name) => isRecord(at) ? at[name] : undefined, value);
}

/** A reason with the end of what the server wrote to its standard error. */
export function withLastWords(reason: Failure, stderr: string): Failure {
  const words = lastWords(stderr, lastWordsCharactersMax);
  if (words === "" || reason.code === "mcp_connection_closed") return reason;
  return { ...reason, message: head(`${reason.message}; its last words: ${words}`, 2_000) };
}
