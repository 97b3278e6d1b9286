/** A connection to an MCP server: handshake, tools, calls, end; by a child process, or by whatever else carries it. */
import { z } from "zod";
import type { RequestGate } from "../../schemas/call_pause.ts";
import { McpCapability, type McpEnd, type McpGreeting } from "../../schemas/effect.ts";
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import type { McpAsks } from "../../schemas/manifest.ts";
import { version } from "../version.ts";
import { type Ended, runUntil } from "../effects/deadline.ts";
import type { Child } from "../processes/child.ts";
import type { Clock } from "../seams.ts";
import { head } from "../tools/visible.ts";
import { type McpCall, type McpCallResult, performCall } from "./call.ts";
import { NotSentError, RequestError } from "./asked.ts";
import { ChildTransport } from "./child_transport.ts";
import { lastWords, oneLine, plainText } from "./plain_text.ts";
import { type Connection, foreverMs, McpFault, refusal } from "./request.ts";
import { Client, McpError } from "./sdk_v1.ts";
import { Asking, offeredTo, ServerRequests } from "./server_requests.ts";
import { ServerNotices } from "./server_notices.ts";
import { listTools } from "./tool_pages.ts";
import type { FarSide, Wire } from "./wire.ts";

export type { McpCall, McpCallResult } from "./call.ts";
export { McpFault } from "./request.ts";

const versionCharactersMax = 40;
const nameCharactersMax = 200;
const capabilitiesMax = 64;
const stderrCharactersMax = 20_000;
const lastWordsCharactersMax = 1_000;
const problemCharactersMax = 300;

/** What every handshake is given. */
export interface HandshakeOptions {
  readonly clock: Clock;
  /** How long the handshake may take, in milliseconds. */
  readonly connectMs: number;
  /** When it must be done, if its time began before now. */
  readonly deadlineAtMs?: number;
  /** Gives the handshake up; says nothing about the connection afterwards. */
  readonly signal: AbortSignal;
  /** Told in one line for people what is odd about the server, but does no harm. */
  readonly onNotice?: (text: string) => void;
  /** What the server may ask of us. */
  readonly asks?: McpAsks | undefined;
}

/** Options of {@linkcode openMcpClient}. */
export interface McpClientOptions extends HandshakeOptions {
  /** The server, just started. It belongs to the client from now on. */
  readonly child: Child;
}

/** What a connection is made over. */
export interface Carrier {
  readonly wire: Wire;
  readonly far: FarSide;
  /** Lines of the other side that were no messages. */
  readonly noise: () => number;
  /** What is known of the session besides, once it is open. */
  readonly session?: () => McpGreeting["session"];
}

/** How a connection ended: why, and how the process did, if there was one. */
export interface McpClosed {
  readonly failure: Failure;
  readonly end: Pick<McpEnd, "code" | "signal"> | undefined;
}

/** An open connection to a server. */
export interface McpClient {
  readonly greeting: Omit<McpGreeting, "tookMs">;
  /** What the server says that it can do: `tools`, `resources`, … */
  readonly capabilities?: readonly string[];
  /** True if it is no process of ours: one that takes no call does not end by that. */
  readonly isRemote: boolean;
  /** How its questions to a person are answered; absent if they are not. */
  readonly gate?: RequestGate | undefined;
  /** All tools of all pages, unread. Throws {@linkcode McpFault}. */
  list(signal: AbortSignal): Promise<readonly unknown[]>;
  /** Calls a tool. Never rejects. */
  call(request: McpCall): Promise<McpCallResult>;
  /** Resolves once the server has said that what it offers changed since its tools were listed last. */
  listChanged(): Promise<void>;
  /** Resolves when the connection was lost or closed and the process has ended. Never rejects. */
  readonly closed: Promise<McpClosed>;
  /** Closes the connection and ends the process by the ladder. Calls in flight are `lost` before. One for all callers. */
  close(): Promise<McpEnd>;
  /** Ends the process at once, without asking it. */
  kill(): void;
}

/** Shakes hands with a server that runs as a child. Throws {@linkcode McpFault}; the process has ended by then. */
export async function openMcpClient(options: McpClientOptions): Promise<McpClient> {
  const { child, clock } = options;
  const wire = new ChildTransport({ child, clock, onNoise: (line) => noteNoise(options, line) });
  return await openOver({ wire, far: farSideOf(child), noise: () => wire.noise }, options);
}

/**
 * Shakes hands with a server. Throws {@linkcode McpFault} if the server ends first, says nothing in time, speaks
 * another protocol, or nobody wants it any more; the other side has ended by then. Only what is answered is declared: a
 * server that asks for something else gets an error, so that none waits for us.
 */
export async function openOver(carrier: Carrier, options: HandshakeOptions): Promise<McpClient> {
  const { wire, far } = carrier;
  const { clock, connectMs, signal } = options;
  const sdk = new Client({ name: "troupe", version }, { capabilities: offeredTo(options.asks) });
  const requests = new ServerRequests(sdk, options.asks);
  const deadlineAtMs = options.deadlineAtMs ?? clock.now() + connectMs;
  // The signal stays with us: a handshake is not canceled by a message but by the end of the other side.
  const ended = await runUntil(
    { clock, deadlineAtMs, signal },
    () => sdk.connect(wire, { timeout: foreverMs }),
  );
  // What could not be sent because the server is ending: how it ended says more.
  if (ended.type === "threw" && ended.error instanceof NotSentError && !carrier.session) await wire.lost;
  const loss = wire.loss;
  if (ended.type === "done" && loss === undefined) {
    return new OpenClient({ sdk, transport: wire, clock }, carrier, { requests, asks: options.asks });
  }
  await wire.close();
  await far.end();
  const reason = whyNotOpened({
    ended,
    loss,
    connectMs,
    noise: carrier.noise(),
    isRemote: carrier.session !== undefined,
  });
  throw new McpFault(withLastWords(reason, far.lastWords()));
}

/** A process that is ended by the ladder. */
function farSideOf(child: Child): FarSide {
  return {
    end: async () => {
      const { code, signal } = await child.close();
      return { code, signal, stderr: plainText(child.stderr(), Infinity).slice(-stderrCharactersMax) };
    },
    kill: () => child.kill(),
    lastWords: () => child.stderr(),
  };
}

function noteNoise({ onNotice }: HandshakeOptions, line: string): void {
  onNotice?.(`The MCP server writes to its standard output what is no message; it is passed over: ${line}`);
}

/** What is known of a handshake that was not finished. */
interface Attempt {
  readonly ended: Ended<void>;
  readonly loss: Failure | undefined;
  readonly connectMs: number;
  /** Lines that were no messages. */
  readonly noise: number;
  readonly isRemote: boolean;
}

function whyNotOpened({ ended, loss, connectMs, noise, isRemote }: Attempt): Failure {
  if (ended.type === "canceled") {
    return failure("mcp_connection_closed", "Connecting to the MCP server was given up");
  }
  if (ended.type === "late") {
    const wrote = noise === 0 ? "" : `; lines on its standard output that are no messages: ${noise}`;
    return retryableFailure(
      "mcp_connect_timed_out",
      `The MCP server did not finish the handshake within ${connectMs / 1_000} s${wrote}`,
    );
  }
  // The SDK closes the connection itself if it cannot use the answer: then the error tells why.
  if (ended.type === "threw" && (loss === undefined || loss.code === "mcp_connection_closed")) {
    // Of a process, how it ended says more than that nothing could be sent to it.
    if (ended.error instanceof RequestError && isRemote) return ended.error.failure;
    return failure("mcp_connect_failed", `Cannot connect to the MCP server: ${problemOf(ended.error)}`);
  }
  if (loss?.code === "mcp_message_too_large" || loss?.code === "mcp_protocol_error") return loss;
  return retryableFailure(
    "mcp_connect_failed",
    `${loss?.message ?? "The MCP server ended"} before the handshake was done`,
  );
}

function problemOf(error: unknown): string {
  if (error instanceof McpError) return refusal("the handshake", error).message;
  // An error of the schema lists every field of the answer; nobody can do anything about those but the server's authors.
  if (error instanceof z.core.$ZodError) return "its answer to initialize is not what the protocol asks for";
  return oneLine(error instanceof Error ? error.message : String(error), problemCharactersMax);
}

function withLastWords(reason: Failure, stderr: string): Failure {
  const words = lastWords(stderr, lastWordsCharactersMax);
  if (words === "" || reason.code === "mcp_connection_closed") return reason;
  return { ...reason, message: head(`${reason.message}; its last words: ${words}`, 2_000) };
}

/** What the server asks of us, and what of that it may. */
interface Requests {
  readonly requests: ServerRequests;
  readonly asks: McpAsks | undefined;
}

class OpenClient implements McpClient {
  readonly greeting: Omit<McpGreeting, "tookMs">;
  readonly capabilities: readonly string[];
  readonly isRemote: boolean;
  readonly closed: Promise<McpClosed>;
  readonly #connection: Connection;
  readonly #far: FarSide;
  readonly #notices: ServerNotices;
  readonly #requests: ServerRequests;
  readonly gate: RequestGate | undefined;

  constructor(connection: Connection, { far, session }: Carrier, { requests, asks }: Requests) {
    this.#connection = connection;
    this.#requests = requests;
    this.gate = asks?.elicitation === "deny" ? undefined : asks?.elicitation ?? "prompt";
    this.#far = far;
    const opened = session?.();
    this.isRemote = session !== undefined;
    this.greeting = { ...greetingOf(connection), ...(opened === undefined ? {} : { session: opened }) };
    this.capabilities = Object.keys(connection.sdk.getServerCapabilities() ?? {})
      .map((name) => oneLine(name, versionCharactersMax)).slice(0, capabilitiesMax);
    this.closed = this.#end();
    this.#notices = new ServerNotices(connection.sdk);
  }

  list(signal: AbortSignal): Promise<readonly unknown[]> {
    this.#notices.listing();
    return listTools(this.#connection, signal);
  }

  listChanged(): Promise<void> {
    return this.#notices.changed();
  }

  call(request: McpCall): Promise<McpCallResult> {
    const asking = new Asking(request.onAsk);
    const perform = () => performCall(this.#connection, request, asking);
    return this.#notices.during(request.onProgress, () => this.#requests.during(asking, perform));
  }

  async close(): Promise<McpEnd> {
    await this.#connection.transport.close();
    const log = this.#notices.log(stderrCharactersMax);
    return { ...await this.#far.end(), ...(log === "" ? {} : { log }) };
  }

  kill(): void {
    void this.#connection.transport.close();
    this.#far.kill();
  }

  /** A server without a connection is of no use: whatever lost it, the process is ended too. */
  async #end(): Promise<McpClosed> {
    const reason = await this.#connection.transport.lost;
    const { code, signal } = await this.close();
    return { failure: withLastWords(reason, this.#far.lastWords()), end: { code, signal } };
  }
}

function greetingOf({ sdk, transport }: Connection): Omit<McpGreeting, "tookMs"> {
  const { name, version } = sdk.getServerVersion() ?? { name: "", version: "" };
  return {
    protocolVersion: oneLine(transport.protocolVersion, versionCharactersMax),
    server: { name: oneLine(name, nameCharactersMax), version: oneLine(version, nameCharactersMax) },
    capabilities: McpCapability.options.filter((one) => sdk.getServerCapabilities()?.[one] !== undefined),
  };
}
