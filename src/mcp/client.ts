/** A connection to an MCP server: handshake, tools, calls, end; by a child process, or by whatever else carries it. */
import { z } from "zod";
import type { McpEnd, McpGreeting } from "../../schemas/effect.ts";
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { RequestGate } from "../../schemas/call_pause.ts";
import type { McpAsks } from "../../schemas/manifest.ts";
import type { McpEra } from "../../schemas/mcp_revision.ts";
import { type Ended, runUntil } from "../effects/deadline.ts";
import type { Child } from "../processes/child.ts";
import type { Clock } from "../seams.ts";
import { NotSentError, RequestError } from "./asked.ts";
import type { McpCall, McpCallResult } from "./call.ts";
import { ChildTransport } from "./child_transport.ts";
import { type EraTry, leadsOn } from "./era.ts";
import { OpenClient, withLastWords } from "./open_client.ts";
import { lastText, oneLine } from "./plain_text.ts";
import { type AnswerRequest, type McpProtocol, RpcError, type Speak } from "./protocol.ts";
import { McpFault, refusal } from "./request.ts";
import { offeredTo, ServerRequests } from "./server_requests.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { FarSide, Wire } from "./wire.ts";

export type { McpCall, McpCallResult } from "./call.ts";
export { McpFault } from "./request.ts";

const problemCharactersMax = 300;

/** Who speaks which era; loaded with the first server of it. */
const speakers: { readonly [E in McpEra]: () => Promise<{ readonly speak: Speak }> } = {
  legacy: () => import("./protocol_v1.ts"),
  modern: () => import("./protocol_v2.ts"),
};

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
  /** What is tried, in its order, as long as the server shows to be of another era; the legacy one without. */
  readonly eras?: readonly EraTry[];
  /** The revision that is offered in the legacy era; the newest without. */
  readonly revision?: string | undefined;
  /** What we say that we can do; without it, what `asks` lets the server ask. */
  readonly capabilities?: JsonObject;
  /** What the server may ask of us: nothing without, so that no server waits for anything of ours. */
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
  /** Told of the tools whenever they were listed. */
  readonly learn?: (tools: readonly unknown[]) => void;
}

/** How a connection ended: why, and how the process did, if there was one. */
export interface McpClosed {
  readonly failure: Failure;
  readonly end: Pick<McpEnd, "code" | "signal" | "stderr"> | undefined;
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
  /** The resources that are subscribed to in this session. */
  readonly subscriptions?: Subscriptions;
  /** Resolves with the next news of a task, until `signal` is aborted. */
  taskTold(task: string, signal: AbortSignal): Promise<void>;
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
 * Begins to speak with a server. Throws {@linkcode McpFault} if the server ends first, says nothing in time, speaks
 * another protocol, or nobody wants it any more; the other side has ended by then.
 */
export async function openOver(carrier: Carrier, options: HandshakeOptions): Promise<McpClient> {
  const { wire, far } = carrier;
  const { clock, connectMs, eras = [{ era: "legacy" }] } = options;
  const deadlineAtMs = options.deadlineAtMs ?? clock.now() + connectMs;
  const attempts = new Map<McpEra, Ended<unknown>>();
  const requests = new ServerRequests(options.asks);
  const started = await runUntil({ clock, deadlineAtMs, signal: options.signal }, () => wire.start());
  if (started.type !== "done") attempts.set("legacy", started);
  for (const { era, withinMs = Infinity } of started.type === "done" ? eras : []) {
    // Whoever has answered in the words of an era is not asked in them again.
    if ((attempts.get(era)?.type ?? "late") !== "late") break;
    const { speak } = await speakers[era]();
    // What has to be loaded first is not the server's fault.
    const endsAtMs = Math.min(deadlineAtMs, clock.now() + withinMs);
    const capabilities = options.capabilities ?? offeredTo(options.asks, era);
    const order = { ...options, capabilities, deadlineAtMs: endsAtMs };
    const ended = await speakOnce(carrier, speak, order, requests.answer);
    if (ended.type === "done" && wire.loss === undefined) {
      const isRemote = carrier.session !== undefined;
      return new OpenClient({ protocol: ended.value, transport: wire, clock, isRemote }, carrier, requests);
    }
    const isOther = leadsOn(era, ended);
    // Why a server is not of the modern era says nothing, if there is another reason.
    if (!isOther) attempts.delete("legacy");
    attempts.set(era, ended);
    if (!isOther || wire.loss !== undefined) break;
  }
  const { loss } = wire;
  await wire.close();
  await far.end();
  const reason = whyNotOpened({
    ended: attempts.get("legacy") ?? attempts.get("modern") ?? { type: "canceled" },
    loss,
    connectMs,
    noise: carrier.noise(),
    isRemote: carrier.session !== undefined,
  });
  throw new McpFault(withLastWords(reason, far.lastWords()));
}

/** Begins to speak in the words of one era. */
async function speakOnce(
  { wire, session }: Carrier,
  speak: Speak,
  { clock, deadlineAtMs = Infinity, signal, capabilities = {}, revision }: HandshakeOptions,
  onRequest: AnswerRequest,
): Promise<Ended<McpProtocol>> {
  const offer = revision === undefined ? {} : { revision };
  const ended = await runUntil(
    { clock, deadlineAtMs, signal },
    (enough) => speak(wire, { capabilities, signal: enough, onRequest, ...offer }),
  );
  // What could not be sent because the server is ending: how it ended says more.
  if (ended.type === "threw" && ended.error instanceof NotSentError && session === undefined) await wire.lost;
  return ended;
}

/** A process that is ended by the ladder. */
function farSideOf(child: Child): FarSide {
  return {
    end: async () => {
      const { code, signal } = await child.close();
      return { code, signal, stderr: lastText(child.stderr(), limits.mcpStderrCharactersMax) };
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
  readonly ended: Ended<unknown>;
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
  if (error instanceof RpcError) return refusal("the handshake", error).message;
  // An error of the schema lists every field of the answer; nobody can do anything about those but the server's authors.
  if (error instanceof z.core.$ZodError) return "its answer to initialize is not what the protocol asks for";
  return oneLine(error instanceof Error ? error.message : String(error), problemCharactersMax);
}
