/** The messages of the actor API: what other programs ask, and what they are answered. Published in snake case. */
import { z } from "zod";
import { AgentDefinition, AgentName } from "./agent.ts";
import type { ApiScope } from "./api_scope.ts";
import { apiLimits } from "./api_limits.ts";
import * as program from "./api_program.ts";
import { Budget, Spent } from "./budget.ts";
import { CancelReport, CancelScope } from "./cancel.ts";
import { CloseStrictness } from "./child_agent.ts";
import { AgentAddress, AgentView, ApiQuestion, ApiTreeLine, ApiTurn, WatchEvent } from "./api_view.ts";
import { Digest } from "./ids.ts";
import { JsonObject } from "./json.ts";
import { GivenImages } from "./image.ts";
import { limits } from "./limits.ts";
import { PermissionMode } from "./mode.ts";
import { Capability } from "./principal.ts";
import { ProfileKey } from "./profile.ts";
import { Decision } from "./question.ts";
import { Labels, SpawnName } from "./spawned.ts";

const text = z.string().min(1).max(limits.promptCharactersMax);
/** What the model is shown with the text. By HTTP they are part of the body, whose length is bounded. */
const images = GivenImages.exactOptional();
const reason = z.string().max(500);
const address = z.strictObject({ address: AgentAddress });

/** What the agent is left of the rights that its definition has. It can only become less. */
export const SpawnRights = z.strictObject({
  mode: PermissionMode.exactOptional(),
  capabilities: z.array(Capability).max(256).exactOptional(),
  /** Full names of tools; without the list all of its definition. */
  tools: z.array(z.string().min(1).max(256)).max(limits.childToolsMax).exactOptional(),
  /** How deep its own child agents may go; 0: none. */
  child_depth_max: z.int().min(0).max(limits.agentDepthMax).exactOptional(),
});
/** What the agent is left of its rights. */
export type SpawnRights = z.infer<typeof SpawnRights>;

/** Begins an agent, or finds the one of this name. */
export const SpawnParams = z.strictObject({
  /**
   * Name of an agent that the host offers, or a definition as in `agent.yaml` (scope `agents:define`). With a parent: the
   * parent's agent, or one of its profiles.
   */
  agent: z.union([AgentName, ProfileKey, AgentDefinition]),
  /** Its first prompt; goes on in the background. */
  prompt: text.exactOptional(),
  /** Images of that prompt. */
  images,
  title: z.string().min(1).max(200).exactOptional(),
  /** Get or create: once for its owner. If it is there, nothing else of this request counts. */
  name: SpawnName.exactOptional(),
  labels: Labels.exactOptional(),
  budget: Budget.exactOptional(),
  rights: SpawnRights.exactOptional(),
  /** The agent that it becomes a child of: its budget is carved out of the parent's, its rights are a part of them. */
  parent: AgentAddress.exactOptional(),
  /**
   * What becomes of it if the program that began it goes away: its pipe ends, or its heartbeat lapses. Default `detach`:
   * it goes on, as long as a runtime runs.
   */
  on_parent_exit: z.enum(["stop", "detach"]).exactOptional(),
});
/** Begins an agent. */
export type SpawnParams = z.infer<typeof SpawnParams>;

/** Where a watcher begins and what it is shown. */
export const WatchParams = z.strictObject({
  address: AgentAddress,
  /** The last entry that it has seen; 0: from the beginning. */
  after: z.int().min(0).default(0),
  /** `entries` as journaled; `transcript` what was said and done, in words; `state` how it stands after each change. */
  view: z.enum(["entries", "transcript", "state"]).default("entries"),
  /** False to end with what is there. */
  follow: z.boolean().default(true),
});

interface ApiMethodShape {
  /** `command`: changes something, and takes an idempotency key. `stream`: answers piece by piece. */
  readonly kind: "command" | "query" | "stream";
  readonly scope: ApiScope;
  readonly params: z.ZodType;
  /** The answer, or one piece of it. */
  readonly result: z.ZodType;
}

/** Every method, with the right that it needs. */
export const apiMethods = {
  spawn: {
    kind: "command",
    scope: "sessions:write",
    params: SpawnParams,
    result: z.strictObject({ address: AgentAddress, is_new: z.boolean() }),
  },
  /** Accepted once durable; the turn goes on. */
  send: {
    kind: "command",
    scope: "sessions:write",
    params: z.strictObject({ address: AgentAddress, text, images }),
    result: z.strictObject({ address: AgentAddress, state: z.literal("accepted") }),
  },
  /** Sends and waits for the end of the turn; asked again with its key it is the same turn. */
  ask: {
    kind: "command",
    scope: "sessions:write",
    params: z.strictObject({
      address: AgentAddress,
      text,
      images,
      wait_ms: z.int().min(0).max(apiLimits.askWaitMsMax).exactOptional(),
    }),
    result: ApiTurn,
  },
  /**
   * Lets a turn go on that waits since its model failed, and waits for its end as `ask` does. Nothing that it did is done
   * again. Refused if no turn waits.
   */
  resume: {
    kind: "command",
    scope: "sessions:write",
    params: z.strictObject({
      address: AgentAddress,
      wait_ms: z.int().min(0).max(apiLimits.askWaitMsMax).exactOptional(),
    }),
    result: ApiTurn,
  },
  watch: { kind: "stream", scope: "log:read", params: WatchParams, result: WatchEvent },
  questions: {
    kind: "query",
    scope: "approvals:read",
    params: z.strictObject({ address: AgentAddress.exactOptional() }),
    result: z.strictObject({ questions: z.array(ApiQuestion) }),
  },
  answer: {
    kind: "command",
    scope: "approvals:decide",
    params: z.strictObject({
      question: z.string().max(200),
      decision: Decision,
      shown: Digest.exactOptional(),
      note: z.string().max(1_000).exactOptional(),
      content: JsonObject.exactOptional(),
    }),
    result: z.strictObject({ question: z.string(), decision: Decision }),
  },
  cancel: {
    kind: "command",
    scope: "sessions:write",
    params: z.strictObject({
      address: AgentAddress,
      scope: CancelScope.exactOptional(),
      /** Which call, for the scope `call`: `call/<step>.<i>`. */
      call: z.string().max(128).exactOptional(),
      reason: reason.exactOptional(),
    }),
    result: CancelReport,
  },
  /** Ends an agent for good, with its tasks, children and connections. */
  stop: {
    kind: "command",
    scope: "sessions:write",
    params: z.strictObject({
      address: AgentAddress,
      /** `graceful` lets its turn end by itself. Default `forced`. */
      strictness: CloseStrictness.exactOptional(),
      reason: reason.exactOptional(),
    }),
    result: z.strictObject({ address: AgentAddress, state: z.literal("closed") }),
  },
  /**
   * Says that the program is there, and will say so again within `every_ms`; who begins agents that stop with it sends
   * one first. A repeat is harmless, so it takes no key. Not for programs on a pipe: the pipe tells.
   */
  heartbeat: {
    kind: "query",
    scope: "sessions:write",
    params: z.strictObject({
      every_ms: z.int().min(apiLimits.heartbeatMsMin).max(apiLimits.heartbeatMsMax),
    }),
    /** When the program counts as gone if nothing more is heard, in milliseconds since the epoch. */
    result: z.strictObject({ lapses_at: z.number() }),
  },
  get: { kind: "query", scope: "sessions:read", params: address, result: AgentView },
  list: {
    kind: "query",
    scope: "sessions:read",
    params: z.strictObject({
      /** Only those with all of these labels. */
      labels: Labels.exactOptional(),
      /** At most so many, the newest first. */
      limit: z.int().min(1).max(apiLimits.listPageMax).default(50),
      /** Older than this one, for the next page. */
      before: AgentAddress.exactOptional(),
    }),
    result: z.strictObject({ agents: z.array(AgentView), next: AgentAddress.exactOptional() }),
  },
  tree: {
    kind: "query",
    scope: "sessions:read",
    params: address,
    result: z.strictObject({ actors: z.array(ApiTreeLine) }),
  },
  budget: {
    kind: "query",
    scope: "sessions:read",
    params: address,
    result: z.strictObject({
      address: AgentAddress,
      budget: Budget,
      spent: Spent,
      /** Of each field that has a bound. */
      left: z.record(z.string(), z.number()),
    }),
  },
  /** Why an actor does not go on: a session, or one below it (`session/ses_…/turn/3/call/0.1`). */
  why: {
    kind: "query",
    scope: "sessions:read",
    params: z.strictObject({ address: z.string().max(256) }),
    result: z.strictObject({ reason: JsonObject }),
  },
  /** The whole session as `troupe export` writes it: whole lines, each with its line end. */
  export: {
    kind: "stream",
    scope: "log:export",
    params: address,
    result: z.strictObject({ text: z.string() }),
  },
  /** The handshake of a program that brings tools; the same again is a refresh, so it takes no key. */
  program_register: {
    kind: "query",
    scope: "tools:provide",
    params: program.RegisterParams,
    result: program.RegisterResult,
  },
  program_refresh: {
    kind: "query",
    scope: "tools:provide",
    params: program.RefreshParams,
    result: program.RegisterResult,
  },
  program_calls: {
    kind: "stream",
    scope: "tools:provide",
    params: program.CallsParams,
    result: program.CallEvent,
  },
  /** Has a message id of its own, by which a repeat is harmless: it takes no key. */
  program_report: {
    kind: "query",
    scope: "tools:provide",
    params: program.ReportParams,
    result: program.ReportResult,
  },
  invoke: {
    kind: "command",
    scope: "tools:invoke",
    params: program.InvokeParams,
    result: program.InvokeResult,
  },
} as const satisfies { readonly [name: string]: ApiMethodShape };

/** Name of a method. */
export const ApiMethod = z.enum(Object.keys(apiMethods) as [keyof typeof apiMethods]);
/** Name of a method. */
export type ApiMethod = keyof typeof apiMethods;

/** Methods of one kind. */
type OfKind<K extends ApiMethodShape["kind"]> = {
  [M in ApiMethod]: (typeof apiMethods)[M]["kind"] extends K ? M : never;
}[ApiMethod];
/** Methods that answer piece by piece. */
export type ApiStream = OfKind<"stream">;
/** Methods that are answered once. */
export type ApiCall = OfKind<"command" | "query">;

/** What a caller says. */
export type ApiParams<M extends ApiMethod> = z.input<(typeof apiMethods)[M]["params"]>;
/** What the method gets. */
export type ApiGiven<M extends ApiMethod> = z.output<(typeof apiMethods)[M]["params"]>;
/** What it is answered, or one piece of it. */
export type ApiResult<M extends ApiMethod> = z.output<(typeof apiMethods)[M]["result"]>;
