/** What is said at an owner's door: one JSON text a line, requests in, items, one end or one error a request out. */
import { z } from "zod";
import { AgentDefinition } from "../../schemas/agent.ts";
import { Budget } from "../../schemas/budget.ts";
import { CancelReport, CancelScope } from "../../schemas/cancel.ts";
import { Entry, RootRecord, StreamHead } from "../../schemas/entry.ts";
import { Failure } from "../../schemas/failure.ts";
import { ForkReport } from "../../schemas/fork.ts";
import { GivenImages } from "../../schemas/image.ts";
import { Digest, IntentId, RootAddress, ServerId, TaskId } from "../../schemas/ids.ts";
import { HostCall, InvocationOutcome } from "../../schemas/invocation.ts";
import { Json, JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { McpManifest } from "../../schemas/manifest.ts";
import { TurnOutcome } from "../../schemas/message.ts";
import { PermissionMode } from "../../schemas/mode.ts";
import { SessionScope } from "../../schemas/profile.ts";
import { TaskRecord } from "../../schemas/task.ts";
import { Attachment } from "../../schemas/tool.ts";
import { ScheduleState } from "../../schemas/schedule.ts";
import { ToolError } from "../../schemas/tool_error.ts";
import { Decision, QuestionSubject, WholeText } from "../../schemas/question.ts";
import type { OpenQuestion } from "../effects/question_ask.ts";
import { SessionHome } from "../host/session_home.ts";
import { ActorState } from "../why/actor_state.ts";
import { tokenProtocol } from "./token_protocol.ts";

/** Version of the protocol; a client that speaks another one is told so. */
export const doorVersion = 11;

const entries: z.ZodType<readonly Entry[]> = z.array(Entry);

/** A question as it is shown and answered. */
export const DoorQuestion = z.strictObject({
  id: z.string().max(200),
  root: RootAddress,
  path: z.array(z.string().max(200)).max(limits.agentDepthMax + 2).readonly().optional(),
  subject: QuestionSubject,
  whole: WholeText.optional(),
  shown: Digest,
  /** In milliseconds since the epoch; absent if it never expires. */
  deadlineAtMs: z.number().optional(),
});
/** A question as it is shown and answered. */
export type DoorQuestion = z.infer<typeof DoorQuestion>;

/** A question as it goes over the wire: JSON knows no time without an end. */
export function writeQuestion({ deadlineAtMs, ...rest }: OpenQuestion): DoorQuestion {
  return Number.isFinite(deadlineAtMs) ? { ...rest, deadlineAtMs } : rest;
}

/** A question as it came over the wire. */
export function readQuestion({ deadlineAtMs = Infinity, ...rest }: DoorQuestion): OpenQuestion {
  return { ...rest, deadlineAtMs };
}

const ModelProgress = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text_delta"), text: z.string() }),
  z.looseObject({ type: z.enum(["tool_call_delta", "tool_call_done", "usage", "done"]) }),
]);

const Progress = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("model"), event: ModelProgress }),
  z.strictObject({ type: z.literal("tool"), message: z.string() }),
]);

/** What the giver of a prompt hears. */
export const DoorEvent = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("entries"), root: RootAddress, entries }),
  z.strictObject({ type: z.literal("progress"), root: RootAddress, id: IntentId, progress: Progress }),
  z.strictObject({
    type: z.literal("quarantined"),
    root: RootAddress,
    reason: z.string(),
    code: z.string().optional(),
  }),
  z.strictObject({ type: z.literal("question"), question: DoorQuestion }),
  z.strictObject({ type: z.literal("question_closed"), id: z.string().max(200) }),
]);

const nothing = z.strictObject({});
const none = z.null();

/** The MCP servers of an agent, as its folder declares them. */
const DoorServers = z.array(z.strictObject({
  server: ServerId,
  manifest: McpManifest,
  folder: z.string().max(limits.pathCharactersMax),
  origin: z.string().min(1).max(200),
})).max(limits.mcpServersPerSessionMax);

const taskParams = z.strictObject({ session: RootAddress, task: TaskId });

/** A piece of what a task says. */
const DoorTaskSaid = z.strictObject({
  text: z.string().max(limits.taskChunkCharactersMax),
  missed: z.int().min(0),
});

/** Parameters, items and end of each method. */
export const doorMethods = {
  ping: { params: nothing, item: z.never(), end: z.strictObject({ pid: z.int().min(1), v: z.int() }) },
  sessions: { params: nothing, item: z.array(RootRecord), end: none },
  head: { params: z.strictObject({ root: RootAddress }), item: z.never(), end: StreamHead },
  entries: {
    /** `max` bounds what is sent in all, so that a reader fetches a long stream at its own pace. */
    params: z.strictObject({
      root: RootAddress,
      from: z.int().min(1),
      follow: z.boolean(),
      max: z.int().min(1).optional(),
    }),
    item: entries,
    end: none,
  },
  /** The actors of a root as they live; null at the end if it sleeps. */
  actors: {
    params: z.strictObject({ root: RootAddress }),
    item: z.array(ActorState),
    end: z.strictObject({ isHeld: z.boolean(), mail: z.int().min(0) }).nullable(),
  },
  blob: { params: z.strictObject({ digest: Digest }), item: z.base64(), end: none },
  create: {
    params: z.strictObject({
      agent: AgentDefinition,
      coreRevision: z.string().max(100),
      home: SessionHome,
      title: z.string().max(200),
      servers: DoorServers,
      mode: PermissionMode.optional(),
      scope: SessionScope.optional(),
      budget: Budget.optional(),
    }),
    item: z.never(),
    end: RootAddress,
  },
  fork: {
    params: z.strictObject({
      session: RootAddress,
      at: z.int().min(1),
      title: z.string().max(200).optional(),
      settle: z.boolean().optional(),
      model: AgentDefinition.shape.model.optional(),
    }),
    item: z.never(),
    end: ForkReport,
  },
  servers: {
    params: z.strictObject({ session: RootAddress, home: SessionHome, servers: DoorServers }),
    item: z.never(),
    end: none,
  },
  refresh: {
    params: z.strictObject({ session: RootAddress }),
    item: z.never(),
    end: z.array(z.strictObject({
      server: z.string(),
      result: z.enum(["ready", "not_open", "failed"]),
      failure: Failure.optional(),
    })),
  },
  prompt: {
    params: z.strictObject({
      session: RootAddress,
      request: z.union([
        z.strictObject({
          text: z.string().min(1).max(limits.promptCharactersMax),
          images: GivenImages.exactOptional(),
        }),
        z.strictObject({ call: HostCall }),
        z.strictObject({ resume: z.literal(true) }),
      ]),
      key: z.string().min(1).max(limits.commandKeyBytesMax),
      from: z.int().min(1),
      answers: z.boolean(),
    }),
    item: DoorEvent,
    end: z.strictObject({
      turn: z.int().min(0),
      outcome: TurnOutcome,
      steps: z.int().min(0),
      text: z.string(),
      failure: Failure.optional(),
      output: Json.exactOptional(),
      call: z.strictObject({
        outcome: InvocationOutcome,
        attempts: z.int().min(0),
        text: z.string(),
        isError: z.boolean(),
        full: Attachment.optional(),
        failure: Failure.optional(),
        error: ToolError.optional(),
      }).optional(),
    }),
  },
  cancel: {
    params: z.strictObject({
      session: RootAddress,
      reason: z.string().max(500),
      scope: CancelScope.optional(),
      call: z.string().max(128).optional(),
    }),
    item: z.never(),
    end: CancelReport,
  },
  tasks: {
    params: z.strictObject({ session: RootAddress.optional() }),
    item: z.array(TaskRecord),
    end: none,
  },
  task_cancel: {
    params: z.strictObject({ session: RootAddress, task: TaskId, reason: z.string().max(500) }),
    item: z.never(),
    end: TaskRecord.nullable(),
  },
  /** Waits for the end of a task. The owner stays as long. */
  task_end: { params: taskParams, item: z.never(), end: TaskRecord.nullable() },
  task_log: { params: taskParams.extend({ follow: z.boolean() }), item: DoorTaskSaid, end: none },
  unschedule: {
    params: z.strictObject({ schedule: RootAddress }),
    item: z.never(),
    end: ScheduleState.shape.status,
  },
  ...tokenProtocol,
  questions: { params: nothing, item: z.array(DoorQuestion), end: none },
  /** Given in the name of the operator, whose token it was given with. */
  answer: {
    params: z.strictObject({
      question: z.string().max(200),
      decision: Decision,
      shown: Digest.optional(),
      note: z.string().max(1_000).optional(),
      content: JsonObject.optional(),
    }),
    item: z.never(),
    end: none,
  },
  /** Ends a request of the same connection that is still being answered. */
  stop: { params: z.strictObject({ request: z.int().min(1) }), item: z.never(), end: none },
} as const;

/** The methods of the door. */
export const DoorMethod = z.enum(Object.keys(doorMethods) as [keyof typeof doorMethods]);
/** A method of the door. */
export type DoorMethod = keyof typeof doorMethods;

/** Parameters of a method. */
export type DoorParams<M extends DoorMethod> = z.infer<(typeof doorMethods)[M]["params"]>;
/** What a method gives piece by piece. */
export type DoorItem<M extends DoorMethod> = z.infer<(typeof doorMethods)[M]["item"]>;
/** What a method gives at its end. */
export type DoorEnd<M extends DoorMethod> = z.infer<(typeof doorMethods)[M]["end"]>;

/** One request. `id` is the client's, unused on its connection so far. */
export const DoorRequest = z.strictObject({
  token: z.string().max(200),
  id: z.int().min(1),
  method: DoorMethod,
  params: Json,
});
/** One request. */
export type DoorRequest = z.infer<typeof DoorRequest>;

/** One line of an answer. `id` is 0 where the request could not be read; the connection is then closed. */
export const DoorResponse = z.discriminatedUnion("type", [
  z.strictObject({ id: z.int().min(1), type: z.literal("item"), value: Json }),
  z.strictObject({ id: z.int().min(1), type: z.literal("end"), value: Json }),
  z.strictObject({
    id: z.int().min(0),
    type: z.literal("error"),
    code: z.string().max(100),
    message: z.string().max(4_000),
  }),
]);
/** One line of an answer. */
export type DoorResponse = z.infer<typeof DoorResponse>;

/** What goes wrong at a door, or behind it. Codes of the owner's own errors are passed on unchanged. */
export class DoorError extends Error {
  override readonly name = "DoorError";
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
