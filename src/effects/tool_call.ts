/** `tool.call` and `mcp.call`: one router and one envelope for tools of every source (LC-11, LC-13). */
import type { AdapterKey, CatalogEntry, ResolvedCatalog } from "../../schemas/catalog.ts";
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import type { ModelMessage } from "../../schemas/model.ts";
import type { Principal } from "../../schemas/principal.ts";
import { type EffectClass, ToolResultEnvelope } from "../../schemas/tool.ts";
import type { TraceId } from "../../schemas/trace.ts";
import type { ErrorProvenance } from "../../schemas/tool_error.ts";
import type { GuardedClient } from "../net/guarded_client.ts";
import type { Redactor } from "../redact/redactor.ts";
import type { SessionSchedules } from "../schedules.ts";
import type { Seams } from "../seams.ts";
import type {
  BuiltinTool,
  PermissionContext,
  SessionArchive,
  ToolBlobs,
  ToolHandler,
} from "../tools/tool.ts";
import type { AgentDesk } from "../agents/agent_desk.ts";
import type { TaskDesk } from "../tasks/task_desk.ts";
import type { Workspace } from "../tools/workspace.ts";
import { cleanFailure } from "./clean.ts";
import { type Ended, runUntil } from "./deadline.ts";
import type { Performance, Performer, PerformerResult } from "./performer.ts";
import type { Adapter, Attempt, CallOrigin, Routed } from "./adapter.ts";
import { calledEntry } from "./called_entry.ts";
import { givenArguments } from "./given_arguments.ts";
import type { RawArguments } from "./raw_arguments.ts";
import { type CallEffects, noEffects, StateChanges } from "./session_state.ts";
import { settleEnvelope } from "./settle.ts";
import { settlePause } from "./settle_pause.ts";
import { createBuiltinCall } from "./builtin_call.ts";
import { boundsOf, statusOfLost, taskIn } from "./task_patience.ts";
import { brokenOff, classified, reportFault } from "./tool_fault.ts";
import { graceOf } from "./call_grace.ts";
import { useContext } from "./use_context.ts";

/** Options of {@linkcode createToolCall}. The functions that take a root are asked once per call. */
export interface ToolCallOptions {
  /** The dispatch map of the built-in tools, name to tool (LC-7). */
  readonly tools: ReadonlyMap<string, BuiltinTool>;
  /** The sealed catalog of a hash; undefined if there is none. */
  readonly catalogOf: (hash: string) => ResolvedCatalog | undefined;
  readonly workspaceOf: (root: RootAddress) => Workspace;
  /** The agent's own folder; undefined if it has none. */
  readonly agentFolderOf?: (root: RootAddress) => Workspace | undefined;
  readonly permissionsOf: (root: RootAddress) => Pick<PermissionContext, "mode" | "capabilities">;
  /** The conversation up to an intent. */
  readonly messages: (root: RootAddress, intent: string) => Promise<readonly ModelMessage[]>;
  /** What the session's tools keep together. */
  readonly appState: (root: RootAddress) => JsonObject;
  /** The trace of the turn that runs, if it has one: calls of other programs carry it (GA-27). */
  readonly traceOf?: (root: RootAddress) => TraceId | undefined;
  readonly blobs: ToolBlobs;
  /** Takes secrets out of results, notices and failures. */
  readonly redactor: Redactor;
  /** Where arguments are that held secrets. */
  readonly rawArguments: RawArguments;
  /** True if a session has got the whole result of a digest; without it none has. */
  readonly hasResult?: (root: RootAddress, digest: string) => Promise<boolean>;
  readonly seams: Seams;
  /** The one way out by HTTP; without it tools reach nothing. */
  readonly fetch?: GuardedClient["fetch"];
  /** The schedules of a session, for one call by its key; without it there are none. */
  readonly schedules?: (root: RootAddress, key: string) => SessionSchedules;
  /** Background tasks; without it tools have none. */
  readonly tasks?: TaskDesk;
  /** The past that a call may read; without it there is none. */
  readonly sessionsOf?: (call: ToolCall) => SessionArchive;
  /** For whom a session acts; the operator of this machine by default. */
  readonly principalOf?: (root: RootAddress) => Principal;
  /** Child agents; without it tools have none. */
  readonly agents?: AgentDesk;
  /** Reaches the tools of MCP servers; without it they are refused. */
  readonly mcp?: Adapter;
  /** Runs the tools of agents' folders; without it they are refused. */
  readonly authored?: Adapter;
  /** Reaches the tools of connected programs; without it they are refused. */
  readonly program?: Adapter;
  /** Runs commands, which say themselves when they begin and how they ended; without it they are refused. */
  readonly commands?: Adapter;
}

/** One attempt at a call, whatever the source of its tool. */
export type ToolCall = Performance<"tool.call"> | Performance<"mcp.call"> | Performance<"mcp.task">;

/** Performs calls of every source: serves their ports. */
export type CallPerformer = (call: ToolCall) => Promise<PerformerResult>;

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
    const found = calledEntry(call, options.catalogOf);
    if ("refusal" in found) return told(failed(found.refusal), { started: false, by: "runtime" });
    const { entry, catalog } = found;
    const source = entry.provenance;
    const { clock } = options.seams;
    const deadlineAtMs = call.request.deadlineAtMs ?? clock.now() + entry.definition.timeoutMs;
    const given = givenArguments(call, entry, options);
    const task = taskIn(call, deadlineAtMs);
    const refusal = refusalBefore({ call, entry, task, deadlineAtMs, now: clock.now() }) ??
      ("refusal" in given ? failed(given.refusal) : undefined);
    if (refusal !== undefined || "refusal" in given) {
      return told(refusal ?? canceledBefore(), { started: false, by: "runtime", source });
    }
    const { input, redactor } = given;
    const state = options.appState(call.root);
    const changes = new StateChanges(state);
    // Looking after a task harms nobody; whether it was applied depends on its tool.
    const effect = task === undefined ? call.request.effect : entry.definition.effectClass;
    const settling = { entry, effect, options: { ...options, redactor } };
    const late = (attempt: Attempt) => {
      // What comes after the end changes nothing: it is evidence.
      if (attempt.kind === "returned") void settleAttempt(attempt, noEffects, settling).then(call.late);
    };
    const made = {
      options: { ...options, redactor },
      handlers,
      catalog,
      entry,
      deadlineAtMs,
      state,
      changes,
    };
    let hasBegun = false;
    let work: Promise<Attempt> | undefined;
    const bounds = boundsOf(call, task, { clock, deadlineAtMs, graceMs: graceOf(entry) });
    const ended = await runUntil(bounds, (signal) => {
      const use = useContext({ ...made, call, signal });
      const begin = () => {
        hasBegun = true;
        return () => void (hasBegun = false);
      };
      const routed = { entry, arguments: input, use, begin, late, ...originOf(call) };
      return work = adapters[entry.adapter](task === undefined ? routed : { ...routed, task });
    });
    const changed = changes.end();
    if (ended.type === "threw") reportFault(options.seams, entry, ended.error);
    if (ended.type !== "done") {
      work?.then(late, () => {}); // What fails unheard says no more than is known.
      const result = hasBegun ? afterStart(ended, entry, effect) : beforeStart(ended, entry);
      return told(result, { started: hasBegun, by: "runtime", source });
    }
    const { kind } = ended.value;
    const isStopped = kind === "not_started" && call.signal.aborted;
    if (isStopped) return told(canceledBefore(), { started: false, by: "runtime", source });
    const result = await settleAttempt(ended.value, changed, settling);
    if (result.status === "ok" && kind !== "paused") {
      options.rawArguments.drop(call.root, call.request.args.invocation);
    }
    const by = kind === "returned" ? "runtime" : "tool";
    return told(result, { started: kind !== "not_started", by, source });
  };
}

/** Where a call comes from, as its adapter is told. */
function originOf({ root, id: attempt, note = () => {}, request: { args } }: ToolCall): CallOrigin {
  const { origin, invocation: ordinal, key: intent = attempt } = args;
  const round = "round" in args ? { round: args.round } : {};
  return { root, note, ordinal, intent, attempt, origin, ...round };
}

/** Why a call is not even handed to its adapter: nobody waits for it, or its time is over. */
function refusalBefore(
  { call, entry, task, deadlineAtMs, now }: {
    readonly call: ToolCall;
    readonly entry: CatalogEntry;
    readonly task: Routed["task"];
    readonly deadlineAtMs: number;
    readonly now: number;
  },
): PerformerResult | undefined {
  if (task !== undefined) return undefined;
  if (call.signal.aborted) return canceledBefore();
  return now >= deadlineAtMs ? { status: "timed_out", failure: timedOut(entry) } : undefined;
}

/** A result that says, if it is a failure, whether the call was begun and who says so (DM-45). */
function told(
  result: PerformerResult,
  { started, by, source }: ErrorProvenance & { readonly started: boolean },
): PerformerResult {
  if (result.status === "ok") return result;
  return { ...result, started, provenance: { by, ...(source === undefined ? {} : { source }) } };
}

async function settleAttempt(
  attempt: Attempt,
  effects: CallEffects,
  { entry, effect, options }: {
    readonly entry: CatalogEntry;
    readonly effect: EffectClass;
    readonly options: ToolCallOptions;
  },
): Promise<PerformerResult> {
  if (attempt.kind === "not_started") return failed(cleanFailure(options.redactor, attempt.failure));
  if (attempt.kind === "lost") {
    const why = cleanFailure(options.redactor, attempt.failure);
    return { status: statusOfLost(effect, why), failure: why };
  }
  if (attempt.kind === "paused") return settlePause(attempt.pause, { effect, redactor: options.redactor });
  // Strict: an envelope with a field that is none of its own is refused as a whole (DM-48).
  const envelope = ToolResultEnvelope.safeParse(attempt.envelope);
  if (!envelope.success) {
    reportFault(options.seams, entry, envelope.error);
    return afterStart({ type: "threw", error: envelope.error }, entry, effect);
  }
  const settling = { ...options, ...effects, source: entry.provenance };
  const value = await settleEnvelope(envelope.data, entry.definition, settling);
  if (value.error?.code === "redaction_failed") {
    const detail = { tool: entry.canonicalName };
    options.seams.log({ level: "error", event: "redaction_failed", detail });
  }
  return { status: "ok", value: value as unknown as Json };
}

/** Refuses every look-up: no tool of this release has one, so nothing is known and a person must decide. */
export function createToolVerify(): Performer<"tool.verify"> {
  return ({ request }) =>
    Promise.resolve(
      failed(failure("tool_failed", `The tool "${request.args.entry.name}" cannot look up its effect`)),
    );
}

/** One adapter for every key: leave one out and this does not compile. */
function adaptersOf(
  { tools, mcp, program, authored, commands = absent }: ToolCallOptions,
): { readonly [K in AdapterKey]: Adapter } {
  return {
    builtin: createBuiltinCall(tools, commands),
    authored: authored ?? absent,
    program: program ?? absent,
    mcp: mcp ?? absent,
  };
}

function absent({ entry }: Routed): Promise<Attempt> {
  const message = `Cannot call "${entry.canonicalName}": this release has no adapter "${entry.adapter}"`;
  return Promise.resolve({ kind: "not_started", failure: failure("tool_failed", message) });
}

/** What an attempt means that ended before anything could be applied. */
function beforeStart(ended: Ended<unknown>, entry: CatalogEntry): PerformerResult {
  if (ended.type === "late") return { status: "timed_out", failure: timedOut(entry) };
  if (ended.type === "canceled") return canceledBefore();
  return failed(brokenOff(entry, ended, "could not be started"));
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
    return { status: "unknown", failure: classified(failure("tool_outcome_unknown", message), ended) };
  }
  if (ended.type === "late") return { status: "timed_out", failure: timedOut(entry) };
  if (ended.type === "canceled") {
    return { status: "canceled", failure: failure("tool_canceled", `The call of "${name}" was canceled`) };
  }
  // A fault of the tool, not of the moment: refusals come as envelopes, so trying again would break off again.
  return failed(brokenOff(entry, ended, "broke off without a result"));
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
