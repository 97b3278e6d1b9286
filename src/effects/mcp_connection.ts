/** `mcp.connect`, `mcp.list`, `mcp.watch`, `mcp.close`: what a connection asks of its server. */
import type { PortKind } from "../../schemas/effect.ts";
import { failure } from "../../schemas/failure.ts";
import type { Json } from "../../schemas/json.ts";
import { internOffer } from "../../actors/library.ts";
import { canonicalBytes } from "../canonical.ts";
import type { BlobDraft } from "../journal/unit.ts";
import type { Connections } from "../mcp/connections.ts";
import { readTools } from "../mcp/tool_list.ts";
import type { Redactor } from "../redact/redactor.ts";
import type { Seams } from "../seams.ts";
import { cleanFailure, cleanText } from "./clean.ts";
import { runUntil } from "./deadline.ts";
import type { PerformerResult, Performers } from "./performer.ts";

/** Options of {@linkcode createMcpConnection}. */
export interface McpConnectionOptions {
  readonly connections: Connections;
  readonly seams: Pick<Seams, "clock" | "digest">;
  /** Takes secrets out of what servers say of themselves, and of how they ended. */
  readonly redactor: Redactor;
  readonly putBlob: (blob: BlobDraft) => void;
}

type ConnectionPort = Extract<PortKind, "mcp.connect" | "mcp.list" | "mcp.watch" | "mcp.close">;

/** Makes the performers of connections. */
export function createMcpConnection(options: McpConnectionOptions): Pick<Performers, ConnectionPort> {
  const { connections, redactor, seams: { clock } } = options;
  return {
    "mcp.connect": async ({ root, request, signal, report }) => {
      const { declaration, launch } = request.args;
      const deadlineAtMs = request.deadlineAtMs ?? clock.now();
      const onNotice = (text: string) =>
        report({ type: "tool", message: cleanText(redactor, text, "operator") });
      const made = await connections.connect({ root, launch, declaration, deadlineAtMs, signal, onNotice });
      if (!("code" in made)) return { status: "ok", value: redactor.json(made, "durable").value as Json };
      if (signal.aborted) return canceled();
      const status = made.code === "mcp_connect_timed_out" ? "timed_out" : "failed";
      return { status, failure: cleanFailure(redactor, made) };
    },
    "mcp.list": (performance) => list(performance.root, performance, options),
    "mcp.watch": async ({ root, request, signal }) => {
      const ended = await runUntil(
        { clock, deadlineAtMs: Infinity, signal },
        () => connections.watch({ root, ...request.args, signal }),
      );
      if (ended.type === "threw") throw ended.error;
      if (ended.type !== "done") return canceled();
      if ("code" in ended.value) return { status: "failed", failure: cleanFailure(redactor, ended.value) };
      if (ended.value.type !== "ended") return { status: "ok", value: { ...ended.value } };
      const why = cleanFailure(redactor, ended.value.failure);
      return { status: "ok", value: { ...ended.value, failure: { ...why } } };
    },
    "mcp.close": async ({ root, request }) => {
      const end = await connections.close({ root, ...request.args });
      return { status: "ok", value: { ...end, stderr: cleanText(redactor, end.stderr, "durable") } };
    },
  };
}

/** Keeps the tools as a blob: a message and a snapshot name them by their hash. */
async function list(
  root: string,
  { request, signal }: Parameters<Performers["mcp.list"]>[0],
  { connections, seams, redactor, putBlob }: McpConnectionOptions,
): Promise<PerformerResult> {
  const { declaration, launch } = request.args;
  const raw = await connections.list({ root, launch }, signal);
  if (signal.aborted) return canceled();
  if ("code" in raw) return { status: "failed", failure: cleanFailure(redactor, raw) };
  const { source: read, rejected, rejectedCount } = readTools(raw, { declaration, connection: root });
  const source = { ...read, parallelSafe: declaration.manifest.supports_parallel_tool_calls };
  const bytes = canonicalBytes(source as unknown as Json);
  const offer = await seams.digest(bytes);
  putBlob({ digest: offer, bytes });
  // What the library holds must be what a later process reads back, to the order of its keys (K5).
  internOffer(offer, JSON.parse(new TextDecoder().decode(bytes)));
  const named = rejected.map((one) => ({ ...one }));
  return { status: "ok", value: { offer, tools: source.tools.length, rejectedCount, rejected: named } };
}

function canceled(): PerformerResult {
  return {
    status: "canceled",
    failure: failure("mcp_connection_closed", "Nobody waits for the server any more"),
  };
}
