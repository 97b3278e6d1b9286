/** Builders for tests of calls: sealed catalogs, model answers, and one invocation under a parent that only listens. */
import assert from "node:assert/strict";
import { type AnyMachineSnapshot, assign, setup } from "xstate";
import { invocationMachine } from "../../actors/invocation.ts";
import type { InvocationReport } from "../../actors/invocation_context.ts";
import { internCatalog } from "../../actors/library.ts";
import type { InputRequired, ServerRequest } from "../../schemas/call_pause.ts";
import type { CatalogEntry, CatalogRef } from "../../schemas/catalog.ts";
import type { PortArgs, PortKind } from "../../schemas/effect.ts";
import type { FormContent, FormField } from "../../schemas/form.ts";
import type { InvocationRequest, InvocationResult } from "../../schemas/invocation.ts";
import type { Json } from "../../schemas/json.ts";
import type { PermissionMode } from "../../schemas/mode.ts";
import type { ModelCall } from "../../schemas/model.ts";
import type { Decision } from "../../schemas/question.ts";
import type { EffectClass, Mechanism, ToolDefinition } from "../../schemas/tool.ts";
import { canonicalJson } from "../../schemas/json.ts";
import { type FailureSketch, type Run, startRun, toolOf } from "./desk.ts";
import { catalogWith, entryFor, grantFor, sealedEntry } from "./tools.ts";
import { digestNow } from "./world.ts";

/** Seals a catalog of these tools and puts it where machines find it. `changes` are made to every entry. */
export function sealCatalog(
  tools: readonly ToolDefinition[],
  changes: Partial<CatalogEntry> = {},
  epoch = 1,
): CatalogRef {
  const catalog = { ...catalogWith(...tools.map((tool) => sealedEntry(entryFor(tool, changes)))), epoch };
  const hash = digestNow(new TextEncoder().encode(canonicalJson(catalog)));
  internCatalog(hash, catalog);
  return { hash, epoch };
}

/** A model's answer as its performer gives it. Calls get the ids `call_1`, `call_2`, … */
export function modelAnswer(text: string, calls: readonly Partial<ModelCall>[] = []): Json {
  const made = calls.map((call, index) => ({
    callId: `call_${index + 1}`,
    name: "look",
    ...(call.argumentsText === undefined ? { arguments: {} } : {}),
    ...call,
  }));
  const rest = { usage: { inputTokens: 0, outputTokens: 0 }, finishReason: "stop", metadata: {} };
  return { text, calls: made, ...rest } as unknown as Json;
}

/** A tool's settled result. */
export function toolReturn(text: string, isError = false): Json {
  return { isError, model: text, operator: text, truncated: false };
}

/** What an effect yields whose server wants something first. One form with a field that must be filled in, unless told. */
export function wanted(changes: Partial<InputRequired> = {}): Json {
  const pause = { type: "input_required", server: "docs", how: "retry", requests: [nameForm], ...changes };
  return { pause } as unknown as Json;
}

/** A field that must be filled in. */
export const nameField: FormField = { kind: "text", name: "name", required: true };

/** A form with that field. */
export const nameForm: ServerRequest = {
  kind: "form",
  key: "who",
  gate: "prompt",
  message: "Who?",
  fields: [nameField],
};

/** A request that the model answers, if a person lets it. */
export const sampling: ServerRequest = {
  kind: "sampling",
  key: "model",
  gate: "prompt",
  system: "Be brief",
  messages: [{ role: "user", text: "Sum it up" }],
  maxOutputTokens: 100,
  timesMax: 2,
};

/** What makes one call what it is; the rest is harmless and allowed. */
export interface CallSketch {
  readonly tool?: Partial<ToolDefinition>;
  readonly entry?: Partial<CatalogEntry>;
  readonly request?: Partial<InvocationRequest>;
  readonly capabilities?: readonly string[];
  readonly mode?: PermissionMode;
  /** Rules that were allowed for the session, for this very entry. */
  readonly grants?: readonly string[];
  readonly wasRefused?: boolean;
}

/** One invocation under test, with the id `call/0.0`. */
export interface Call extends Pick<Run, "settle" | "fail" | "pending" | "kinds" | "desk"> {
  readonly run: Run;
  state(): unknown;
  context(): Record<string, unknown>;
  decide(decision: Decision, via?: string, content?: FormContent): void;
  cancel(): void;
  /** What the parent was told, in order. */
  reports(): readonly InvocationReport[];
  /** How the invocation ended, if it did, as the parent was told. */
  result(): InvocationResult | undefined;
  argsOf<K extends PortKind>(kind: K): PortArgs<K>;
}

const ordinal = "call/0.0";

interface ParentContext {
  readonly input: unknown;
  readonly reports: readonly InvocationReport[];
  readonly result: InvocationResult | null;
}

/** A parent that starts one invocation and writes down what it hears. */
export const listeningMachine = setup({
  types: { context: {} as ParentContext, input: {} as unknown },
  actors: { invocation: invocationMachine },
}).createMachine({
  id: "listening",
  context: ({ input }) => ({ input, reports: [], result: null }),
  invoke: { id: ordinal, src: "invocation", input: ({ context }) => context.input as never },
  on: {
    "question.*": {
      actions: assign(({ context, event }) => ({ reports: [...context.reports, event as InvocationReport] })),
    },
    "xstate.done.actor.*": {
      actions: assign(({ event }) => ({ result: (event as { readonly output?: unknown }).output as never })),
    },
  },
});

/** The input of an invocation for a sketch: its catalog is sealed, its request names the entry. */
export function callInput(sketch: CallSketch) {
  const { tool, entry, request, capabilities = [], mode = "default", grants = [], wasRefused = false } =
    sketch;
  const definition = toolOf("look", tool);
  const catalog = sealCatalog([definition], entry);
  const sealed = sealedEntry(entryFor(definition, entry));
  const full = {
    ordinal,
    callId: "call_1",
    name: "look",
    entry: { catalog: catalog.hash, name: "look" },
    arguments: {},
    origin: "model",
    scope: { turn: { number: 1, catalog: catalog.hash } },
    ...request,
  };
  const given = grants.filter((rule) => rule !== "").map((rule) =>
    grantFor(sealed, rule, { capabilities, mode })
  );
  const made = full as InvocationRequest;
  return { request: made, capabilities, mode, grants: given, wasRefused, at: 1_000, epoch: 1 };
}

/** Starts one invocation as a turn would. */
export function startCall(sketch: CallSketch = {}): Call {
  const run = startRun(listeningMachine, callInput(sketch));
  const child = () => {
    const found = run.child(ordinal);
    assert.ok(found, "the invocation is gone");
    return found as AnyMachineSnapshot;
  };
  return {
    run,
    desk: run.desk,
    settle: run.settle,
    fail: run.fail,
    pending: run.pending,
    kinds: run.kinds,
    state: () => child().value,
    context: () => child().context as Record<string, unknown>,
    decide: (decision, via = "answered", content = undefined) => {
      const filled = content === undefined ? {} : { content };
      run.send({ type: "question.decided", decision, via, ...filled } as never, {}, [ordinal]);
    },
    cancel: () => run.send({ type: "invocation.cancel" }, {}, [ordinal]),
    reports: () => run.context()["reports"] as readonly InvocationReport[],
    result: () => (run.context()["result"] ?? undefined) as InvocationResult | undefined,
    argsOf: (kind) => run.argsOf(kind) as never,
  };
}

/** Brings a call into `running`, whatever stands before it, and fails its first attempt. */
export function failedCall(sketch: CallSketch, failure: FailureSketch): Call {
  const call = startCall(sketch);
  call.fail("tool.call", failure);
  return call;
}

/** A call of a tool of an effect class. */
export function effectOf(effectClass: EffectClass, mechanism?: Mechanism): CallSketch {
  return { tool: { effectClass, sideEffects: true, ...(mechanism === undefined ? {} : { mechanism }) } };
}

/** A call of a tool of an MCP server. */
export function remote(effectClass: EffectClass = "non_idempotent"): CallSketch {
  return { ...effectOf(effectClass), entry: { adapter: "mcp" } };
}

/** State, stored outcome and failure code of a call. */
export function endingOf(call: Call): readonly unknown[] {
  return [call.state(), call.result()?.outcome, call.result()?.failure?.code];
}
