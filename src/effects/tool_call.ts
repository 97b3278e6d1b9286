/** `tool.call` and `mcp.call`: one router and one envelope for tools of every source (LC-11, LC-13). */
import type { AdapterKey, CatalogEntry, ResolvedCatalog } from "../../schemas/catalog.ts";
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import type { IntentId, RootAddress } from "../../schemas/ids.ts";
import type { RequestOrigin } from "../../schemas/invocation.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import type { ModelMessage } from "../../schemas/model.ts";
import { type EffectClass, ToolResultEnvelope } from "../../schemas/tool.ts";
import { deepFreeze } from "../canonical.ts";
import type { Redactor } from "../redact/redactor.ts";
import type { Seams } from "../seams.ts";
import type {
  BuiltinTool,
  McpClient,
  PermissionContext,
  ToolBlobs,
  ToolHandler,
  ToolUseContext,
} from "../tools/tool.ts";
import type { Workspace } from "../tools/workspace.ts";
import { head, visible } from "../tools/visible.ts";
import { cleanFailure, cleanText } from "./clean.ts";
import { type Ended, runUntil } from "./deadline.ts";
import type { Performance, Performer, PerformerResult } from "./performer.ts";
import { settleEnvelope } from "./settle.ts";

/** Longest notice of a running tool, in characters. */
const noticeCharactersMax = 500;

/** Options of {@linkcode createToolCall}. The functions that take a root are asked once per call. */
export interface ToolCallOptions {
  /** The dispatch map of the built-in tools, name to tool (LC-7). */
  readonly tools: ReadonlyMap<string, BuiltinTool>;
  /** The sealed catalog of a hash; undefined if there is none. */
  readonly catalogOf: (hash: string) => ResolvedCatalog | undefined;
  readonly workspaceOf: (root: RootAddress) => Workspace;
  readonly permissionsOf: (root: RootAddress) => Pick<PermissionContext, "mode" | "capabilities">;
  /** The conversation up to an intent. */
  readonly messages: (root: RootAddress, intent: string) => Promise<readonly ModelMessage[]>;
  readonly appState: (root: RootAddress) => Json;
  readonly blobs: ToolBlobs;
  /** Takes secrets out of results, notices and failures. */
  readonly redactor: Redactor;
  /** True if a session has got the whole result of a digest; without it none has. */
  readonly hasResult?: (root: RootAddress, digest: string) => Promise<boolean>;
  readonly seams: Seams;
  /** Reaches the tools of MCP servers; without it they are refused. */
  readonly mcp?: Adapter;
  /** Reaches the tools of connected programs; without it they are refused. */
  readonly program?: Adapter;
}

/** One attempt at a call, whatever the source of its tool. */
export type ToolCall = Performance<"tool.call"> | Performance<"mcp.call">;

/** Performs calls of every source: serves both ports. */
export type CallPerformer = (call: ToolCall) => Promise<PerformerResult>;

/** What an adapter is given: an entry that belongs to its catalog, and arguments that nobody can change. */
export interface Routed {
  /** The session that calls. */
  readonly root: RootAddress;
  readonly entry: CatalogEntry;
  readonly arguments: JsonObject;
  readonly use: ToolUseContext;
  /** The first intent of the call: what all its attempts are known by. */
  readonly intent: IntentId;
  readonly origin: RequestOrigin;
  /**
   * To be called right before anything may be applied: what ends before that certainly did nothing. What it returns
   * takes it back, once it is certain that nothing was.
   */
  readonly begin: () => () => void;
}

/** How an attempt came back. `lost` means that it may have been applied (R3). */
export type Attempt =
  | { readonly kind: "returned"; readonly envelope: unknown }
  | { readonly kind: "not_started"; readonly failure: Failure }
  | { readonly kind: "lost"; readonly failure: Failure };

/** Reaches the tools of one kind. */
export type Adapter = (routed: Routed) => Promise<Attempt>;

/**
 * Performs one call. Takes the entry from the sealed catalog that the request names, and from nowhere else (DM-6, DM-8,
 * DM-11). Keeps R3 and K11: after the tool was started, only an idempotent call may end as `failed`, `timed_out` or
 * `canceled`; any other is `unknown`.
 */
export function createToolCall(options: ToolCallOptions): CallPerformer {
  const adapters = adaptersOf(options);
  const handlers: ReadonlyMap<string, ToolHandler> = new Map(
    [...options.tools].map(([name, tool]) => [name, tool.handler]),
  );
  return async (call: ToolCall) => {
    const found = entryOf(call, options);
    if ("refusal" in found) return failed(found.refusal);
    const { entry, catalog } = found;
    const { clock } = options.seams;
    const deadlineAtMs = call.request.deadlineAtMs ?? clock.now() + entry.definition.timeoutMs;
    if (call.signal.aborted) return canceledBefore();
    if (clock.now() >= deadlineAtMs) return { status: "timed_out", failure: timedOut(entry) };
    const input = deepFreeze(call.request.args.arguments);
    let hasBegun = false;
    const ended = await runUntil({ clock, deadlineAtMs, signal: call.signal }, (signal) => {
      const use = useOf({ call, options, handlers, catalog, signal, deadlineAtMs });
      const begin = () => {
        hasBegun = true;
        return () => void (hasBegun = false);
      };
      const { origin, key: intent = call.id } = call.request.args;
      return adapters[entry.adapter]({
        root: call.root,
        entry,
        arguments: input,
        use,
        intent,
        origin,
        begin,
      });
    });
    if (ended.type === "threw") reportFault(options.seams, entry, ended.error);
    if (ended.type !== "done") {
      return hasBegun ? afterStart(ended, entry, call.request.effect) : beforeStart(ended, entry);
    }
    return await settleAttempt(ended.value, { entry, effect: call.request.effect, options });
  };
}

async function settleAttempt(
  attempt: Attempt,
  { entry, effect, options }: {
    readonly entry: CatalogEntry;
    readonly effect: EffectClass;
    readonly options: ToolCallOptions;
  },
): Promise<PerformerResult> {
  if (attempt.kind === "not_started") return failed(cleanFailure(options.redactor, attempt.failure));
  if (attempt.kind === "lost") {
    const why = cleanFailure(options.redactor, attempt.failure);
    return { status: effect === "idempotent" ? "failed" : "unknown", failure: why };
  }
  const envelope = ToolResultEnvelope.safeParse(attempt.envelope);
  if (!envelope.success) {
    reportFault(options.seams, entry, envelope.error);
    return afterStart({ type: "threw", error: envelope.error }, entry, effect);
  }
  const { full, ...views } = await settleEnvelope(envelope.data, entry.definition, options);
  return { status: "ok", value: full === undefined ? views : { ...views, full } };
}

/** Refuses every look-up: no tool of this release has one, so nothing is known and a person must decide. */
export function createToolVerify(): Performer<"tool.verify"> {
  return ({ request }) =>
    Promise.resolve(
      failed(failure("tool_failed", `The tool "${request.args.entry.name}" cannot look up its effect`)),
    );
}

/** One adapter for every key: leave one out and this does not compile. */
function adaptersOf({ tools, mcp, program }: ToolCallOptions): { readonly [K in AdapterKey]: Adapter } {
  return {
    builtin: async ({ entry, arguments: input, use, begin }) => {
      const tool = tools.get(entry.definition.name);
      if (tool === undefined) {
        const message =
          `There is no built-in tool "${entry.definition.name}": the catalog is from another release`;
        return { kind: "not_started", failure: failure("tool_failed", message) };
      }
      begin();
      return { kind: "returned", envelope: await tool.handler(input, use) };
    },
    authored: absent,
    program: program ?? absent,
    mcp: mcp ?? absent,
  };
}

function absent({ entry }: Routed): Promise<Attempt> {
  const message = `Cannot call "${entry.canonicalName}": this release has no adapter "${entry.adapter}"`;
  return Promise.resolve({ kind: "not_started", failure: failure("tool_failed", message) });
}

type Found = { readonly entry: CatalogEntry; readonly catalog: ResolvedCatalog } | {
  readonly refusal: Failure;
};

/** The exact entry that the request carries, if it belongs to the catalog that it names and may be called. */
function entryOf(call: ToolCall, options: ToolCallOptions): Found {
  const wanted = call.request.args.entry;
  const catalog = options.catalogOf(wanted.catalog);
  if (catalog === undefined) return { refusal: mismatch(wanted.name, "its catalog is not known here") };
  const entry = catalog.entries.find((one) => one.canonicalName === wanted.name);
  if (entry === undefined) return { refusal: mismatch(wanted.name, "it is not in the catalog of its turn") };
  if (!entry.enabled) {
    return { refusal: mismatch(wanted.name, "it is not enabled in the catalog of its turn") };
  }
  return { entry, catalog };
}

function mismatch(name: string, why: string): Failure {
  return failure("catalog_mismatch", `Cannot call "${name}": ${why}`);
}

interface UseInput {
  readonly call: ToolCall;
  readonly options: ToolCallOptions;
  readonly handlers: ReadonlyMap<string, ToolHandler>;
  readonly catalog: ResolvedCatalog;
  readonly signal: AbortSignal;
  readonly deadlineAtMs: number;
}

function useOf({ call, options, handlers, catalog, signal, deadlineAtMs }: UseInput): ToolUseContext {
  const cwd = options.workspaceOf(call.root);
  return Object.freeze({
    tools: handlers,
    permission_context: deepFreeze({ ...options.permissionsOf(call.root), workspaces: [cwd] }),
    mcp_clients: serversIn(catalog),
    messages: () => options.messages(call.root, call.id),
    app_state: deepFreeze(options.appState(call.root)),
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
  });
}

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

/** What an attempt means that ended before anything could be applied. */
function beforeStart(ended: Ended<unknown>, entry: CatalogEntry): PerformerResult {
  if (ended.type === "late") return { status: "timed_out", failure: timedOut(entry) };
  if (ended.type === "canceled") return canceledBefore();
  return failed(failure("tool_failed", `Cannot start the tool "${entry.canonicalName}"`));
}

/** What an attempt that was started and brought no result means: the class rule (R3, R5, R8). */
function afterStart(ended: Ended<unknown>, entry: CatalogEntry, effect: EffectClass): PerformerResult {
  const name = entry.canonicalName;
  if (effect !== "idempotent") {
    const how = {
      done: "returned nothing",
      threw: "broke off",
      late: "ran out of time",
      canceled: "was canceled",
    };
    const message = `The call of "${name}" ${how[ended.type]} after it was started: its outcome is unknown`;
    return { status: "unknown", failure: failure("tool_outcome_unknown", message) };
  }
  if (ended.type === "late") return { status: "timed_out", failure: timedOut(entry) };
  if (ended.type === "canceled") {
    return { status: "canceled", failure: failure("tool_canceled", `The call of "${name}" was canceled`) };
  }
  // A fault of the tool, not of the moment: refusals come as envelopes, so trying again would break off again.
  return failed(failure("tool_failed", `The tool "${name}" broke off without a result`));
}

function failed(problem: Failure): PerformerResult {
  return { status: "failed", failure: problem };
}

function canceledBefore(): PerformerResult {
  return {
    status: "canceled",
    failure: failure("tool_canceled", "The call was canceled before it was started"),
  };
}

function timedOut(entry: CatalogEntry): Failure {
  return retryableFailure(
    "tool_timed_out",
    `The call of "${entry.canonicalName}" had no result by its deadline`,
  );
}

/** A tool that throws is broken. The error's text stays out of results: it may hold a secret or an absolute path. */
function reportFault(seams: Seams, entry: CatalogEntry, error: unknown): void {
  const kind = error instanceof Error ? error.name : typeof error;
  seams.log({ level: "error", event: "tool.threw", detail: { tool: entry.canonicalName, kind } });
}
