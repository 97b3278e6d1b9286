/** `mcp.connect`, `mcp.list`, `mcp.watch`, `mcp.close`: what a connection asks of its server. */
import type { PortKind } from "../../schemas/effect.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { McpDeclaration } from "../../schemas/manifest.ts";
import { internOffer } from "../../actors/library.ts";
import { canonicalBytes } from "../canonical.ts";
import type { BlobDraft } from "../journal/unit.ts";
import type { Connections } from "../mcp/connections.ts";
import { driftFailure, driftReason, pinTools, type Review, type ToolPin } from "../mcp/pinned_tools.ts";
import { ToolReader } from "../mcp/tool_list.ts";
import type { Redactor } from "../redact/redactor.ts";
import type { Seams } from "../seams.ts";
import { cleanFailure, cleanText } from "./clean.ts";
import { runUntil } from "./deadline.ts";
import type { Performer, PerformerResult, Performers } from "./performer.ts";

/** Options of {@linkcode createMcpConnection}. */
export interface McpConnectionOptions {
  readonly connections: Connections;
  readonly seams: Pick<Seams, "clock" | "digest">;
  /** Takes secrets out of what servers say of themselves, and of how they ended. */
  readonly redactor: Redactor;
  readonly putBlob: (blob: BlobDraft) => void;
  /** Knows what was approved of servers' tools; without it, nothing of them is held against that. */
  readonly pins?: ToolReview | undefined;
}

/** Compares what a server tells with what was approved of it. */
export interface ToolReview {
  /** Those of the tools that must not be called, and why; and whether that is most of what was approved. */
  review(
    declaration: McpDeclaration,
    told: ReadonlyMap<string, ToolPin>,
  ): Promise<Omit<Review, "pins"> | Failure>;
}

type ConnectionPort = Extract<PortKind, "mcp.connect" | "mcp.list" | "mcp.watch" | "mcp.close">;

/** Makes the performers of connections. */
export function createMcpConnection(options: McpConnectionOptions): Pick<Performers, ConnectionPort> {
  const { connections, redactor, seams: { clock } } = options;
  const audited = auditOf(connections);
  return {
    "mcp.connect": audited(async ({ root, request, signal, report }) => {
      const { declaration, launch } = request.args;
      const deadlineAtMs = request.deadlineAtMs ?? clock.now();
      const onNotice = (text: string) =>
        report({ type: "tool", message: cleanText(redactor, text, "operator") });
      const made = await connections.connect({ root, launch, declaration, deadlineAtMs, signal, onNotice });
      if (!("code" in made)) return { status: "ok", value: redactor.json(made, "durable").value as Json };
      if (signal.aborted) return canceled();
      const status = made.code === "mcp_connect_timed_out" ? "timed_out" : "failed";
      return { status, failure: cleanFailure(redactor, made) };
    }),
    "mcp.list": audited((performance) => list(performance.root, performance, options)),
    "mcp.watch": audited(async ({ root, request, signal }) => {
      const ended = await runUntil(
        { clock, deadlineAtMs: Infinity, signal },
        () => connections.watch({ root, ...request.args, signal }),
      );
      if (ended.type === "threw") throw ended.error;
      if (ended.type !== "done") return canceled();
      if ("code" in ended.value) return { status: "failed", failure: cleanFailure(redactor, ended.value) };
      if (ended.value.type !== "ended") return { status: "ok", value: { ...ended.value } };
      const why = cleanFailure(redactor, ended.value.failure);
      const { end } = ended.value;
      const said = end && { end: { ...end, stderr: cleanText(redactor, end.stderr, "durable") } };
      return { status: "ok", value: { ...ended.value, failure: { ...why }, ...said } };
    }),
    "mcp.close": audited(async ({ root, request }) => {
      const end = await connections.close({ root, ...request.args });
      const log = end.log === undefined ? {} : { log: cleanText(redactor, end.log, "durable") };
      return { status: "ok", value: { ...end, stderr: cleanText(redactor, end.stderr, "durable"), ...log } };
    }),
  };
}

/**
 * Wraps a performer of a connection, so that what was decided about its URLs meanwhile is in its journal: a note for each
 * decision with its count (DM-71). Requests of calls are among those that the next of these tells of.
 */
function auditOf(connections: Pick<Connections, "takeUrlDecisions">) {
  return <K extends ConnectionPort>(perform: Performer<K>): Performer<K> => async (performance) => {
    try {
      return await perform(performance);
    } finally {
      // What nobody waits for can tell nothing: the next one does.
      const told = performance.signal.aborted ? [] : connections.takeUrlDecisions(performance.root);
      for (const { headersStripped: _, ...decision } of told) {
        performance.note?.("mcp.url_decision", decision as unknown as Json);
      }
    }
  };
}

/** Keeps the tools as a blob: a message and a snapshot name them by their hash. */
async function list(
  root: string,
  { request, signal }: Parameters<Performers["mcp.list"]>[0],
  { connections, seams, redactor, putBlob, pins }: McpConnectionOptions,
): Promise<PerformerResult> {
  const { declaration, launch, capabilities = [] } = request.args;
  const raw = await connections.list({ root, launch }, signal);
  if (signal.aborted) return canceled();
  if ("code" in raw) return { status: "failed", failure: cleanFailure(redactor, raw) };
  const repeatsArguments = connections.repeatsArguments({ root, launch });
  const reader = new ToolReader({ declaration, connection: root, capabilities, repeatsArguments });
  const drifted = await reviewed({ raw, reader, declaration, pins, digest: seams.digest });
  const { source: read, rejected, rejectedCount, unchecked } = reader.finish();
  if ("code" in drifted) return { status: "failed", failure: cleanFailure(redactor, drifted) };
  const source = {
    ...read,
    parallelSafe: declaration.manifest.supports_parallel_tool_calls,
    ...(drifted.size === 0 ? {} : { quarantined: Object.fromEntries(drifted) }),
  };
  const bytes = canonicalBytes(source as unknown as Json);
  const offer = await seams.digest(bytes);
  putBlob({ digest: offer, bytes });
  // What the library holds must be what a later process reads back, to the order of its keys (K5).
  internOffer(offer, JSON.parse(new TextDecoder().decode(bytes)));
  const quarantined = [...drifted].slice(0, limits.mcpRejectedNotedMax)
    .map(([tool, reason]) => ({ tool, reason }));
  const listing = {
    offer,
    tools: source.tools.length,
    rejectedCount,
    rejected: rejected.map((one) => ({ ...one })),
    ...(quarantined.length === 0 ? {} : { quarantined }),
    ...(unchecked.length === 0 ? {} : { unchecked: unchecked.map((one) => ({ ...one })) }),
  };
  return { status: "ok", value: listing };
}

interface Reviewed extends Pick<McpConnectionOptions, "pins"> {
  readonly raw: readonly unknown[];
  readonly reader: ToolReader;
  readonly declaration: McpDeclaration;
  readonly digest: Seams["digest"];
}

/**
 * Reads all tools, and gives those that are not what was approved, each with the reason. Our own servers are part of what
 * runs. Between the pieces of a long list others have their turn: each hash is waited for.
 */
async function reviewed(
  { raw, reader, declaration, pins, digest }: Reviewed,
): Promise<ReadonlyMap<string, string> | Failure> {
  const isPinned = pins !== undefined && declaration.trust !== "trusted_local";
  const told = new Map<string, ToolPin>();
  for (let at = 0; at < raw.length; at += limits.mcpToolsReadAtOnceMax) {
    const piece = raw.slice(at, at + limits.mcpToolsReadAtOnceMax);
    const offered = reader.read(piece);
    if (isPinned) await pinTools(piece, offered, digest, told);
  }
  if (!isPinned) return new Map();
  const review = await pins.review(declaration, told);
  if ("code" in review) return review;
  if (review.isAnother) return driftFailure(declaration.server);
  return new Map([...review.drifted].map(([tool, drift]) => [tool, driftReason(drift, declaration.server)]));
}

function canceled(): PerformerResult {
  return {
    status: "canceled",
    failure: failure("mcp_connection_closed", "Nobody waits for the server any more"),
  };
}
