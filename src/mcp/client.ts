/** A connection to an MCP server that runs as a child process: handshake, tools, calls, end. */
import { z } from "zod";
import { McpCapability, type McpEnd, type McpGreeting } from "../../schemas/effect.ts";
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import { version } from "../version.ts";
import { type Ended, runUntil } from "../effects/deadline.ts";
import type { Child, ChildEnd } from "../processes/child.ts";
import type { Clock } from "../seams.ts";
import { head } from "../tools/visible.ts";
import { type McpCall, type McpCallResult, performCall } from "./call.ts";
import { ChildTransport, NotSentError } from "./child_transport.ts";
import { lastWords, oneLine, plainText } from "./plain_text.ts";
import { type Connection, foreverMs, McpFault, refusal } from "./request.ts";
import { Client, McpError } from "./sdk_v1.ts";
import { ServerNotices } from "./server_notices.ts";
import { listTools } from "./tool_pages.ts";

export type { McpCall, McpCallResult } from "./call.ts";
export { McpFault } from "./request.ts";

const versionCharactersMax = 40;
const nameCharactersMax = 200;
const capabilitiesMax = 64;
const stderrCharactersMax = 20_000;
const lastWordsCharactersMax = 1_000;
const problemCharactersMax = 300;

/** Options of {@linkcode openMcpClient}. */
export interface McpClientOptions {
  /** The server, just started. It belongs to the client from now on. */
  readonly child: Child;
  readonly clock: Clock;
  /** How long the handshake may take, in milliseconds. */
  readonly connectMs: number;
  /** When it must be done, if its time began before now. */
  readonly deadlineAtMs?: number;
  /** Gives the handshake up; says nothing about the connection afterwards. */
  readonly signal: AbortSignal;
  /** Told in one line for people what is odd about the server, but does no harm. */
  readonly onNotice?: (text: string) => void;
}

/** How a connection ended: why, and how the process did. */
export interface McpClosed {
  readonly failure: Failure;
  readonly end: ChildEnd | undefined;
}

/** An open connection to a server. */
export interface McpClient {
  readonly greeting: Omit<McpGreeting, "tookMs">;
  /** What the server says that it can do: `tools`, `resources`, … */
  readonly capabilities?: readonly string[];
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

/**
 * Shakes hands with a server. Throws {@linkcode McpFault} if the server ends first, says nothing in time, speaks
 * another protocol, or nobody wants it any more; the process has ended by then. No capabilities are declared: a server
 * that asks for something gets an error, so that none waits for us.
 */
export async function openMcpClient(options: McpClientOptions): Promise<McpClient> {
  const { child, clock, connectMs, signal } = options;
  const transport = new ChildTransport({ child, clock, onNoise: (line) => noteNoise(options, line) });
  const sdk = new Client({ name: "troupe", version }, { capabilities: {} });
  const deadlineAtMs = options.deadlineAtMs ?? clock.now() + connectMs;
  // The signal stays with us: a handshake is not canceled by a message but by the end of the process.
  const ended = await runUntil(
    { clock, deadlineAtMs, signal },
    () => sdk.connect(transport, { timeout: foreverMs }),
  );
  // What could not be sent because the server is ending: how it ended says more.
  if (ended.type === "threw" && ended.error instanceof NotSentError) await transport.lost;
  const loss = transport.loss;
  if (ended.type === "done" && loss === undefined) return new OpenClient({ sdk, transport, clock }, child);
  await transport.close();
  await child.close();
  throw new McpFault(
    withLastWords(whyNotOpened({ ended, loss, connectMs, noise: transport.noise }), child.stderr()),
  );
}

function noteNoise({ onNotice }: McpClientOptions, line: string): void {
  onNotice?.(`The MCP server writes to its standard output what is no message; it is passed over: ${line}`);
}

/** What is known of a handshake that was not finished. */
interface Attempt {
  readonly ended: Ended<void>;
  readonly loss: Failure | undefined;
  readonly connectMs: number;
  /** Lines that were no messages. */
  readonly noise: number;
}

function whyNotOpened({ ended, loss, connectMs, noise }: Attempt): Failure {
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

class OpenClient implements McpClient {
  readonly greeting: Omit<McpGreeting, "tookMs">;
  readonly capabilities: readonly string[];
  readonly closed: Promise<McpClosed>;
  readonly #connection: Connection;
  readonly #child: Child;
  readonly #notices: ServerNotices;

  constructor(connection: Connection, child: Child) {
    this.#connection = connection;
    this.#child = child;
    this.greeting = greetingOf(connection);
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
    return this.#notices.during(request.onProgress, () => performCall(this.#connection, request));
  }

  async close(): Promise<McpEnd> {
    await this.#connection.transport.close();
    const { code, signal } = await this.#child.close();
    const log = this.#notices.log(stderrCharactersMax);
    const stderr = plainText(this.#child.stderr(), Infinity).slice(-stderrCharactersMax);
    return { code, signal, stderr, ...(log === "" ? {} : { log }) };
  }

  kill(): void {
    this.#connection.transport.close();
    this.#child.kill();
  }

  /** A server without a connection is of no use: whatever lost it, the process is ended too. */
  async #end(): Promise<McpClosed> {
    const reason = await this.#connection.transport.lost;
    const { code, signal } = await this.close();
    return { failure: withLastWords(reason, this.#child.stderr()), end: { code, signal } };
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
