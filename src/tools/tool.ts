/** What a built-in tool is: its definition, its handler, and all that a handler may use (LC-5..10). */
import { z } from "zod";
import type { CallRound, ServerRequest } from "../../schemas/call_pause.ts";
import type { ResolvedCatalog } from "../../schemas/catalog.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { PermissionMode } from "../../schemas/mode.ts";
import type { ModelMessage } from "../../schemas/model.ts";
import type { TraceId } from "../../schemas/trace.ts";
import {
  type ApprovalPolicy,
  type Attachment,
  type EffectClass,
  type Mechanism,
  type RiskLevel,
  ToolDefinition,
  type ToolResultEnvelope,
} from "../../schemas/tool.ts";
import type { GuardedClient } from "../net/guarded_client.ts";
import type { SessionSchedules } from "../schedules.ts";
import type { Clock } from "../seams.ts";
import type { OwnAgents } from "../agents/own_agents.ts";
import type { OwnTasks } from "../tasks/own_tasks.ts";
import type { Workspace } from "./workspace.ts";

/** What the agent may do, as its tools see it: the gates themselves were passed before a handler runs (LC-1, LC-2). */
export interface PermissionContext {
  readonly mode: PermissionMode;
  readonly capabilities: readonly string[];
  /** The folders that file tools may read. Reached through their guards only. */
  readonly workspaces: readonly Workspace[];
}

/** An MCP server that tools may know of. */
export interface McpClient {
  readonly server: string;
}

/** One message of a session's past: who said it, in words for a model. */
export interface PastMessage {
  readonly turn: number;
  readonly atMs: number;
  readonly who: string;
  readonly text: string;
}

/** A session as it can be read later. */
export interface PastSession {
  readonly address: RootAddress;
  readonly title: string;
  readonly turns: number;
  readonly beganAtMs: number;
  readonly lastAtMs: number;
  readonly messages: readonly PastMessage[];
  /** True if a bound was met before its end. */
  readonly isCut: boolean;
}

/** Which sessions a call wants to read: `all` of the owner, or that of the call; `only` names one of these. */
export interface ArchiveWish {
  readonly all: boolean;
  readonly only?: RootAddress;
  readonly signal: AbortSignal;
  readonly deadlineAtMs: number;
}

/** How reading ended: why sessions were left out, if some were, and how many cannot be read. */
export interface ArchiveEnd {
  readonly cut?: string;
  readonly unreadable: number;
}

/** The past, as far as a call may read it. */
export interface SessionArchive {
  /** True if the host lets the session read all sessions of its owner. */
  readonly mayReadAll: boolean;
  /** Sessions that may be read, newest first. */
  read(wish: ArchiveWish): AsyncGenerator<PastSession, ArchiveEnd>;
}

/** Where tools keep what is too large for a message: content-addressed bytes. */
export interface ToolBlobs {
  put(bytes: Uint8Array, mediaType: string, name: string): Promise<Attachment>;
  get(digest: string): Promise<Uint8Array | undefined>;
}

/**
 * All that a handler gets besides its input: no globals (LC-9). The names in snake case are those of LC-8; nothing in
 * here can be changed by a handler.
 */
export interface ToolUseContext {
  /** The dispatch map, name to handler (LC-7). */
  readonly tools: ReadonlyMap<string, ToolHandler>;
  readonly permission_context: PermissionContext;
  readonly mcp_clients: readonly McpClient[];
  /** The conversation up to this call. */
  readonly messages: () => Promise<readonly ModelMessage[]>;
  /** What the session's tools keep together, as it was when the call's stage began. */
  readonly app_state: JsonObject;
  /**
   * Changes the session's state by a merge patch: objects are merged, null removes. Changes of calls that run at once are
   * merged after their stage, in the model's order (LC-19); a call that fails changes nothing. Returns why a change is
   * not taken, if it is not.
   */
  readonly update: (change: JsonObject) => Failure | undefined;
  /** Background tasks of the session; undefined where there are none. */
  readonly tasks?: OwnTasks | undefined;
  /** Child agents of the session; undefined where there are none. */
  readonly agents?: OwnAgents | undefined;
  readonly notifications: { readonly push: (text: string) => void };
  /** The working folder, behind its guard. */
  readonly cwd: Workspace;
  /** The agent's own folder, behind its guard; absent for agents that come with us, and if it is gone. */
  readonly agent_folder?: Workspace;
  readonly blobs: ToolBlobs;
  /** The whole results that this session has got so far, by digest. */
  readonly results: { has(digest: string): Promise<boolean> };
  /** Aborts at the deadline, on cancel, and when the runtime stops. */
  readonly signal: AbortSignal;
  /** In milliseconds since the epoch. */
  readonly deadlineAtMs: number;
  /** The same for every attempt of this call once it is durable: for targets that deduplicate (K3). */
  readonly idempotencyKey: string;
  /** The catalog of the turn (DM-5). */
  readonly catalog: ResolvedCatalog;
  readonly clock: Clock;
  /** The one way out by HTTP: where it may lead, the host's network policy says. */
  readonly fetch: GuardedClient["fetch"];
  /** The trace of the turn: its requests carry it by themselves, and calls of other programs should (GA-27). */
  readonly trace?: TraceId;
  /** What was said before; absent where no journal is kept that could be read. */
  readonly sessions?: SessionArchive;
  /** What became of what the tool wanted of a person first; set for tools that ask, and for no other. */
  readonly round?: Pick<CallRound, "answers" | "told">;
  /** The schedules of the call's own session. */
  readonly schedules: SessionSchedules;
}

/** Carries out one call. Returns refusals as envelopes; throws only on a fault. */
export type ToolHandler = (input: unknown, use: ToolUseContext) => Promise<ToolResultEnvelope>;

/** A tool that comes with the runtime. */
export interface BuiltinTool {
  readonly definition: ToolDefinition;
  readonly inputSchema: z.ZodType;
  readonly handler: ToolHandler;
  /**
   * What the tool wants of a person before its handler runs, which is given the answers. It touches nothing: nobody waits
   * for it, and after a restart it is asked for again. Undefined if the input does not fit: the handler then says why.
   */
  readonly asks?: (input: unknown) => readonly ServerRequest[] | undefined;
}

/** How far a tool goes that does more than look. */
export interface ToolReach {
  readonly riskLevel: RiskLevel;
  readonly effectClass: EffectClass;
  readonly mechanism?: Mechanism;
  readonly approvalPolicy: ApprovalPolicy;
}

/** What {@linkcode defineTool} is given; the rest of the definition has one value for all built-ins. */
export interface ToolSketch<S extends z.ZodType> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly resource: { readonly kind: string; readonly scope: string };
  readonly capability?: string;
  readonly parallelSafe: boolean;
  readonly modelCharactersMax?: number;
  /** Absent for a tool that only looks. */
  readonly reach?: ToolReach;
  readonly timeoutMs?: number;
  readonly inputSchema: S;
  /** What it wants of a person first; absent for a tool that asks nobody by itself. */
  readonly asks?: (input: z.output<S>) => readonly ServerRequest[];
  readonly run: (input: z.output<S>, use: ToolUseContext) => Promise<ToolResultEnvelope>;
}

/** A tool that only looks: a repeat harms nobody, and nobody is asked. */
const looking: ToolReach = { riskLevel: "low", effectClass: "idempotent", approvalPolicy: "auto" };

/** Makes a tool; one without a `reach` only looks: low risk, idempotent, no side effects, no approval. */
export function defineTool<S extends z.ZodType>(sketch: ToolSketch<S>): BuiltinTool {
  const { name, title, description, resource, capability, parallelSafe, inputSchema, asks } = sketch;
  const definition = ToolDefinition.parse({
    name,
    title,
    description,
    version: "1",
    inputSchema: jsonSchemaOf(inputSchema),
    ...(sketch.reach ?? looking),
    sideEffects: sketch.reach !== undefined,
    resources: [resource],
    timeoutMs: sketch.timeoutMs ?? limits.toolCallDurationMsDefault,
    outputPolicy: { modelCharactersMax: sketch.modelCharactersMax ?? limits.toolOutputCharactersMax },
    ...(capability === undefined ? {} : { capability }),
    parallelSafe,
  });
  return {
    definition,
    inputSchema,
    handler: (input, use) => {
      const parsed = inputSchema.safeParse(input);
      if (parsed.success) return sketch.run(parsed.data, use);
      const problem = z.prettifyError(parsed.error).replace(/\s+/g, " ");
      return Promise.resolve(
        errorEnvelope(failure("arguments_invalid", `Cannot use these arguments: ${problem}`)),
      );
    },
    ...(asks === undefined ? {} : {
      asks: (input: unknown) => {
        const parsed = inputSchema.safeParse(input);
        return parsed.success ? asks(parsed.data) : undefined;
      },
    }),
  };
}

/** The schema that a model is told of a tool; without the dialect's address, which some providers refuse. */
export function jsonSchemaOf(schema: z.ZodType): { [key: string]: unknown } {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input" });
  return rest;
}

/** A result that is text. */
export function textEnvelope(text: string, attachments: readonly Attachment[] = []): ToolResultEnvelope {
  return { ok: true, content: [{ type: "text", text }], isError: false, attachments: [...attachments] };
}

/** A result that is a value. */
export function structuredEnvelope(value: Json): ToolResultEnvelope {
  return { ok: true, content: [{ type: "structured", value }], isError: false, attachments: [] };
}

/** A result that says no: the tool ran, and this is why it cannot give what was asked for. */
export function errorEnvelope(problem: Failure): ToolResultEnvelope {
  return { ok: false, content: [{ type: "error", failure: problem }], isError: true, attachments: [] };
}
