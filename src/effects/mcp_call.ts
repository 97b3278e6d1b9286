/** Calls of MCP tools: waits for the connection, sends the call once, and says what is known of it. */
import { type Failure, failure, type FaultClass, retryableFailure } from "../../schemas/failure.ts";
import { type RootAddress, rootKindOf, sessionOf } from "../../schemas/ids.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { ToolResultEnvelope } from "../../schemas/tool.ts";
import type { StoredReply } from "../kernel/kernel.ts";
import { Binaries } from "../mcp/binaries.ts";
import type { McpCall, McpCallResult, McpRequest } from "../mcp/call.ts";
import { pauseOf } from "../mcp/call_pause.ts";
import type { McpClient } from "../mcp/client.ts";
import { callFeature } from "../mcp/feature_call.ts";
import { inputOf, pagesOf } from "../mcp/input_required.ts";
import { readResult } from "../mcp/result.ts";
import { type CallParts, HeldCall } from "../mcp/suspended_calls.ts";
import type { Clock } from "../seams.ts";
import { errorEnvelope, type ToolBlobs } from "../tools/tool.ts";
import { givenUp } from "./deadline.ts";
import type { Adapter, Attempt, Routed } from "./adapter.ts";
import {
  follow,
  pausedBy,
  pausedByPages,
  resume,
  type RoundOptions,
  sentWith,
  withTold,
} from "./mcp_rounds.ts";
import { sendingFor, type SubscriptionDesk } from "./mcp_subscribe.ts";

/** What a call needs of the connections. */
export interface McpCallOptions extends RoundOptions {
  /** The open connection of an address, if there is one. */
  readonly clientOf: (connection: RootAddress) => McpClient | undefined;
  /** Fingerprint of the declaration that an open connection was started by. */
  readonly fingerprintOf?: (connection: RootAddress) => string | undefined;
  /** Tells a connection to open; resolves with its answer once it is ready or has failed. */
  readonly open: (connection: RootAddress) => Promise<StoredReply>;
  /** Tells a connection that its server refused a call as one that it does not know. */
  readonly refresh?: (connection: RootAddress) => void;
  /** Where subscriptions to resources are kept; without it there are none. */
  readonly subscriptions?: SubscriptionDesk;
  /** True for a text that holds a secret, or may: such a piece of a result is not kept. */
  readonly isSecret: (text: string) => boolean;
  readonly clock: Clock;
}

const protocolFaults: ReadonlySet<string> = new Set(["mcp_protocol_error", "mcp_message_too_large"]);

/** A connection may say that it is ready before it has noticed that its server is gone: it is asked again. */
const asksMax = 50;
const askPauseMs = 100;
/** How long a server that does not take a call is given to end: its ladder, and a bit. Milliseconds. */
const closingMs = limits.processEofGraceMs + limits.processTermGraceMs + 1_000;
/** Times that a call is tried on a connection that turns out to be closed. */
const triesMax = 2;

/** Makes the adapter of MCP tools. */
export function createMcpCall(options: McpCallOptions): Adapter {
  return async (routed) => {
    const { entry, root } = routed;
    // The binding stands in the sealed catalog of this very session: another session's is never reached (DM-65).
    if (rootKindOf(entry.binding) !== "connection" || sessionOf(entry.binding) !== root) {
      const message =
        `Cannot call "${entry.canonicalName}": it is bound to the connection of another session`;
      return { kind: "not_started", failure: failure("catalog_mismatch", message) };
    }
    if (routed.task !== undefined) {
      const { followTask } = await import("./mcp_task.ts");
      return await followTask({ ...routed, task: routed.task }, options);
    }
    if (routed.round?.how === "held") return await resume(routed.round, routed, options);
    for (let tries = 1;; tries++) {
      const client = await readyClient(entry.binding, routed, options);
      if ("code" in client) return { kind: "not_started", failure: client };
      const other = declaredOtherwise(entry, options);
      if (other !== undefined) return { kind: "not_started", failure: other };
      const attempt = await callTool(client, routed, options);
      if (attempt.kind !== "not_started" || tries === triesMax) return attempt;
      // If its server ended a moment ago, the connection can be opened anew; if it lives, this is the answer. A server
      // that is no process says itself why it takes no call: the next attempt is for whoever may make one (CM-77).
      if (client.isRemote || !await isClosing(client, routed, options)) return attempt;
    }
  };
}

/** The turn's catalog is of one declaration of the server; another one's process may do something else (DM-65). */
function declaredOtherwise(
  { binding, canonicalName, provenance }: Routed["entry"],
  { fingerprintOf }: McpCallOptions,
): Failure | undefined {
  const now = fingerprintOf?.(binding as RootAddress);
  const { fingerprint } = provenance;
  if (now === undefined || fingerprint === undefined || now === fingerprint) return undefined;
  const message = `Cannot call "${canonicalName}": its server was declared otherwise since the turn began`;
  return failure("catalog_mismatch", message);
}

/** The client of a connection, which is opened if need be; why there is none. */
export async function readyClient(
  connection: RootAddress,
  { use: { signal } }: Routed,
  { clientOf, open, clock }: McpCallOptions,
): Promise<McpClient | Failure> {
  for (let asks = 0; asks < asksMax && !signal.aborted; asks++) {
    const client = clientOf(connection);
    if (client !== undefined) return client;
    const refused = await open(connection).then(
      failureIn,
      (error) => unavailable(String(error?.message ?? error)),
    );
    if (refused !== undefined) return refused;
    if (clientOf(connection) === undefined) await clock.sleepUntil(clock.now() + askPauseMs, signal);
  }
  return unavailable("it ended each time right after it was ready");
}

function failureIn({ status, value }: StoredReply): Failure | undefined {
  if (status === "ok") return undefined;
  return (value as { readonly failure?: Failure }).failure ?? unavailable("it did not open");
}

function unavailable(why: string): Failure {
  return retryableFailure("mcp_unavailable", `The server cannot be reached: ${why}. Nothing was called`);
}

/** One round of a call that is not held open. It may be from here on, by its server. */
async function callTool(client: McpClient, routed: Routed, options: McpCallOptions): Promise<Attempt> {
  const sending = await sentWith(routed, options);
  if ("attempt" in sending) return sending.attempt;
  const held = new HeldCall<Attempt>();
  held.begin(
    routed.use.notifications.push,
    (parts) => perform(client, { ...routed, ...sending, parts }, options),
  );
  return withTold(await follow(held, routed, options), routed.round);
}

/** What is sent, and the parts of it that outlast a round. */
interface Sending extends Routed {
  readonly more: JsonObject;
  readonly parts: CallParts;
}

async function perform(client: McpClient, routed: Sending, options: McpCallOptions): Promise<Attempt> {
  const { entry, arguments: input, use, begin, late, more, parts } = routed;
  const { name, mcpMethod = "tools/call", resultSchema: schema, asTask } = entry.definition;
  const takeBack = begin();
  const binaries = new Binaries(options.isSecret);
  const whole = (envelope: ToolResultEnvelope) => withAttachments(envelope, binaries, use.blobs);
  const call: McpCall = {
    tool: name,
    arguments: input,
    key: use.idempotencyKey,
    trace: use.trace,
    signal: parts.signal,
    idleMs: limits.mcpCallIdleMs,
    onProgress: parts.push,
    onAsk: parts.onAsk,
    ...(asTask === undefined ? {} : { asTask: { ttl: limits.mcpTaskKeptMs } }),
  };
  if (mcpMethod !== "tools/call") {
    const { subscriptions: desk, isSecret } = options;
    const change = { method: mcpMethod, given: input, client, connection: entry.binding, desk, isSecret };
    const send = sendingFor(change, (request: McpRequest) => client.call({ ...call, request }));
    const answered = await callFeature({ method: mcpMethod, arguments: input, binaries, send });
    if (answered.status !== "read") return withoutResult(answered, { takeBack, routed, options });
    return { kind: "returned", envelope: await whole(answered.envelope) };
  }
  const onStray = (result: unknown) => {
    // Evidence only: what is no text in it is not kept.
    late({ kind: "returned", envelope: readResult(result, { binaries: new Binaries(options.isSecret) }) });
  };
  const answered = await client.call({ ...call, more, onStray });
  if (answered.status === "refused") {
    const pages = pagesOf(answered, client.gate);
    if (pages !== undefined) return pausedByPages(pages, routed);
  }
  if (answered.status !== "returned") return withoutResult(answered, { takeBack, routed, options });
  const wanted = inputOf(answered.result, client.gate);
  if (wanted !== undefined) return await pausedBy(wanted, routed, options);
  const pause = pauseOf(answered.result, options.clock.now());
  if (pause !== undefined) return { kind: "paused", pause };
  return { kind: "returned", envelope: await whole(readResult(answered.result, { schema, binaries })) };
}

/** What a result holds that is no text is kept beside it. */
export async function withAttachments(
  envelope: ToolResultEnvelope,
  binaries: Binaries,
  blobs: ToolBlobs,
): Promise<ToolResultEnvelope> {
  const attachments = await binaries.keep(blobs);
  return attachments.length === 0 ? envelope : { ...envelope, attachments };
}

/** What an attempt means that brought no result. */
function withoutResult(
  answered: Exclude<McpCallResult, { readonly status: "returned" }>,
  { takeBack, routed: { entry }, options: { refresh } }: {
    readonly takeBack: () => void;
    readonly routed: Routed;
    readonly options: McpCallOptions;
  },
): Attempt {
  switch (answered.status) {
    case "refused":
      // Once, for the next turn: the call itself is not repeated, and the model is told (AR-15).
      if (answered.isUnknown && refresh !== undefined) {
        refresh(entry.binding);
        return { kind: "returned", envelope: errorEnvelope(withNews(faultOf("semantic", answered.failure))) };
      }
      // The server said no: like a tool that ran and says no, since only it knows what it did before (CM-77).
      return { kind: "returned", envelope: errorEnvelope(faultOf("semantic", answered.failure)) };
    case "not_sent":
      takeBack();
      return { kind: "not_started", failure: faultOf("transport", answered.failure) };
    case "lost":
      return { kind: "lost", failure: faultOf("transport", answered.failure) };
  }
}

/** Where the fault lies: what is no answer of the protocol is one of the protocol, however it came; a cancel is none. */
function faultOf(classification: FaultClass, why: Failure): Failure {
  if (why.code === "tool_canceled") return why;
  const isProtocol = classification !== "semantic" && protocolFaults.has(why.code);
  return { ...why, classification: isProtocol ? "protocol" : classification };
}

/** What a model is told besides: what it knows of the tool may be out of date. */
function withNews(why: Failure): Failure {
  const news = "the server is asked for its tools again, and what changed is known from the next turn on";
  return { ...why, message: `${why.message}; ${news}`.slice(0, 2_000) };
}

/** True once a client is closed; false if it is not within a moment, or nobody wants the call any more. */
async function isClosing(
  client: McpClient,
  { use: { signal } }: Routed,
  { clock }: McpCallOptions,
): Promise<boolean> {
  const enough = new AbortController();
  const late = clock.sleepUntil(clock.now() + closingMs, AbortSignal.any([signal, enough.signal]));
  const isClosed = await Promise.race([client.closed.then(() => true), late.then(() => false)]);
  enough.abort(givenUp);
  return isClosed && !signal.aborted;
}
