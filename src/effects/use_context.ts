/** The one context that every adapter gets: all that a tool may see and use, frozen (LC-1, LC-8). */
import type { CatalogEntry, ResolvedCatalog } from "../../schemas/catalog.ts";
import type { TaskNews } from "../../schemas/ids.ts";
import { failure } from "../../schemas/failure.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { TraceId } from "../../schemas/trace.ts";
import { deepFreeze } from "../canonical.ts";
import { type OwnAgents, ownAgents } from "../agents/own_agents.ts";
import { type OwnTasks, ownTasks } from "../tasks/own_tasks.ts";
import { HttpError } from "../net/http_error.ts";
import type { SessionSchedules } from "../schedules.ts";
import type { McpClient, ToolHandler, ToolUseContext } from "../tools/tool.ts";
import { head, visible } from "../tools/visible.ts";
import { cleanText } from "./clean.ts";
import type { StateChanges } from "./session_state.ts";
import type { ToolCall, ToolCallOptions } from "./tool_call.ts";

/** Longest notice of a running tool, in characters. */
const noticeCharactersMax = 500;

/** What a context is made of. */
export interface UseInput {
  readonly call: ToolCall;
  readonly options: ToolCallOptions;
  readonly handlers: ReadonlyMap<string, ToolHandler>;
  readonly catalog: ResolvedCatalog;
  readonly entry: CatalogEntry;
  readonly signal: AbortSignal;
  readonly deadlineAtMs: number;
  readonly state: JsonObject;
  readonly changes: StateChanges;
}

/** Makes the context of one attempt at a call. */
export function useContext(
  { call, options, handlers, catalog, entry, signal, deadlineAtMs, state, changes }: UseInput,
): ToolUseContext {
  const cwd = options.workspaceOf(call.root);
  const own = options.agentFolderOf?.(call.root);
  const trace = options.traceOf?.(call.root);
  return Object.freeze({
    tools: handlers,
    permission_context: deepFreeze({ ...options.permissionsOf(call.root), workspaces: [cwd] }),
    mcp_clients: serversIn(catalog),
    messages: () => options.messages(call.root, call.id),
    app_state: deepFreeze(state),
    update: (change: JsonObject) => changes.take(change),
    tasks: tasksOf(call, { options, entry, signal, changes }),
    agents: agentsOf(call, { options, entry, signal, catalog }),
    notifications: Object.freeze({
      // A tool that was given up on has nothing more to say.
      push: (text: string) => {
        if (signal.aborted) return;
        const clean = visible(cleanText(options.redactor, text, "operator"));
        call.report({ type: "tool", message: head(clean, noticeCharactersMax) });
      },
    }),
    cwd,
    blobs: options.blobs,
    results: Object.freeze({
      has: (digest: string) => options.hasResult?.(call.root, digest) ?? Promise.resolve(false),
    }),
    signal,
    deadlineAtMs,
    idempotencyKey: call.key,
    catalog,
    clock: options.seams.clock,
    fetch: traced(options.fetch ?? noWayOut, trace),
    ...(trace === undefined ? {} : { trace }),
    ...(own === undefined ? {} : { agent_folder: own }),
    ...(options.sessionsOf === undefined ? {} : { sessions: Object.freeze(options.sessionsOf(call)) }),
    ...("round" in call.request.args && call.request.args.round !== undefined
      ? { round: deepFreeze(call.request.args.round) }
      : {}),
    schedules: options.schedules?.(call.root, call.key) ?? noSchedules,
  });
}

/** The tasks of the session that calls, if its runtime has any. */
function tasksOf(
  { root: owner, key, request }: ToolCall,
  { options, entry, signal, changes }: Pick<UseInput, "options" | "entry" | "signal" | "changes">,
): OwnTasks | undefined {
  if (options.tasks === undefined) return undefined;
  const origin = { call: request.args.invocation, tool: entry.canonicalName };
  const tell = (task: TaskNews) => changes.tell(task);
  const principal = options.principalOf?.(owner) ?? localOperator;
  return ownTasks(options.tasks, { owner, principal, key, origin, signal, tell });
}

/** The child agents of the session that calls, if its runtime has any. */
function agentsOf(
  { root: owner, key, request }: ToolCall,
  { options, entry, signal, catalog }: Pick<UseInput, "options" | "entry" | "signal" | "catalog">,
): OwnAgents | undefined {
  const { agents, redactor } = options;
  if (agents === undefined) return undefined;
  const origin = { call: request.args.invocation, tool: entry.canonicalName };
  return ownAgents(agents, { owner, key, origin, signal, known: catalog.entries, redactor });
}

/** The way out with the trace of the turn in every request (GA-27). */
function traced(fetch: ToolUseContext["fetch"], trace: TraceId | undefined): ToolUseContext["fetch"] {
  if (trace === undefined) return fetch;
  return (url, init, bounds) => {
    const headers = new Headers(init?.headers);
    headers.set("x-trace-id", trace);
    return fetch(url, { ...init, headers }, bounds);
  };
}

function noWayOut(): Promise<Response> {
  const message = "Cannot send a request: this runtime reaches nothing by HTTP";
  return Promise.reject(new HttpError("http_connect_failed", message, { wasSent: false }));
}

/** A runtime without schedules has none, and makes none. */
const noSchedules: SessionSchedules = {
  create: () => Promise.resolve(failure("schedules_full", "This runtime keeps no schedules")),
  list: () => Promise.resolve([]),
  remove: () => Promise.resolve(failure("schedule_not_found", "This runtime keeps no schedules")),
};

/** Catalogs never change, so one is looked through once. */
const serversOf = new WeakMap<ResolvedCatalog, readonly McpClient[]>();

/** The MCP servers whose tools a catalog has. */
function serversIn(catalog: ResolvedCatalog): readonly McpClient[] {
  let servers = serversOf.get(catalog);
  if (servers === undefined) {
    const names = catalog.entries.filter(({ sourceKind }) => sourceKind === "mcp")
      .map(({ canonicalName }) => canonicalName.split(".")[1] ?? "");
    servers = deepFreeze([...new Set(names)].map((server) => ({ server })));
    serversOf.set(catalog, servers);
  }
  return servers;
}
