/** What the actor API tells of agents. Published in snake case. */
import { z } from "zod";
import { Entry } from "./entry.ts";
import { Failure } from "./failure.ts";
import { Digest, RootAddress } from "./ids.ts";
import { Json } from "./json.ts";
import { QuestionSubject } from "./question.ts";
import { TurnWait, WaitReason } from "./recovery.ts";
import { Labels, SpawnName } from "./spawned.ts";
import { TurnOutcome } from "./turn_outcome.ts";

/** Address of an agent: of its session, for example `session/ses_01J…`. */
export const AgentAddress = RootAddress.regex(/^session\//, "must be the address of a session");

/** How a turn ended, or that it goes on. */
export const ApiTurn = z.discriminatedUnion("state", [
  z.strictObject({ state: z.literal("running"), address: AgentAddress }),
  z.strictObject({
    state: z.literal("ended"),
    address: AgentAddress,
    turn: z.int().min(0),
    outcome: TurnOutcome,
    steps: z.int().min(0),
    text: z.string(),
    failure: Failure.exactOptional(),
    /** The value that the answer is, if its agent says which form answers have. */
    output: Json.exactOptional(),
  }),
]);
/** How a turn ended, or that it goes on. */
export type ApiTurn = z.infer<typeof ApiTurn>;

/** What a turn waits for since its model failed. */
export const ApiWait = z.strictObject({
  ...TurnWait.pick({ turn: true, reason: true, category: true, kind: true, strategy: true }).shape,
  ...TurnWait.pick({ attempt: true, maximum: true }).shape,
  /** In milliseconds since the epoch; absent if only a person ends the wait. */
  next_retry_at: z.number().exactOptional(),
  last_error: Failure,
});
/** What a turn waits for since its model failed. */
export type ApiWait = z.infer<typeof ApiWait>;

/** One agent. */
export const AgentView = z.strictObject({
  address: AgentAddress,
  title: z.string(),
  /** Who began it, as `<kind>:<id>`. */
  owner: z.string(),
  name: SpawnName.exactOptional(),
  labels: Labels.exactOptional(),
  /** The session of its parent, if it is a child agent. */
  parent: AgentAddress.exactOptional(),
  /** In milliseconds since the epoch. */
  created_at: z.number(),
  status: z.enum(["active", "quarantined"]),
  /** Set while its turn waits since its model failed. */
  waiting: ApiWait.exactOptional(),
  /** Last entry of its journal. */
  seq: z.int().min(0),
});
/** One agent. */
export type AgentView = z.infer<typeof AgentView>;

/** A question that waits for a person. */
export const ApiQuestion = z.strictObject({
  id: z.string().max(200),
  address: z.string().max(256),
  subject: QuestionSubject,
  /** Everything of which the subject shows a part; absent if it shows all. */
  whole: z.string().exactOptional(),
  /** An answer must carry it: it says what was shown. */
  shown: Digest,
  deadline_at: z.number().exactOptional(),
});
/** A question that waits for a person. */
export type ApiQuestion = z.infer<typeof ApiQuestion>;

/** One actor of a tree. */
export const ApiTreeLine = z.strictObject({
  depth: z.int().min(0),
  address: z.string(),
  name: z.string(),
  title: z.string(),
  state: z.string(),
  since: z.number().exactOptional(),
  is_live: z.boolean(),
  restarts: z.int().min(0),
  reason: WaitReason.exactOptional(),
  waits: z.array(z.string()),
  budget: z.record(z.string(), z.strictObject({ spent: z.number(), limit: z.number() })),
  trouble: z.string().exactOptional(),
});

/** What was said and done, for a reader. */
export const TranscriptItem = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("prompt"), text: z.string() }),
  z.strictObject({ type: z.literal("answer"), text: z.string() }),
  z.strictObject({ type: z.literal("call"), call: z.string(), tool: z.string(), arguments: Json }),
  z.strictObject({
    type: z.literal("result"),
    call: z.string(),
    tool: z.string(),
    outcome: z.string(),
    text: z.string(),
  }),
  z.strictObject({ type: z.literal("question"), id: z.string(), tool: z.string() }),
  z.strictObject({
    type: z.literal("turn"),
    turn: z.int(),
    outcome: TurnOutcome,
    failure: Failure.exactOptional(),
  }),
]);
/** What was said and done. */
export type TranscriptItem = z.infer<typeof TranscriptItem>;

/** One event of a watch. `seq` is where to go on from: the id of a server-sent event. */
export const WatchEvent = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("entry"), seq: z.int().min(1), entry: Entry as z.ZodType<Entry> }),
  z.strictObject({ type: z.literal("transcript"), seq: z.int().min(1), item: TranscriptItem }),
  z.strictObject({ type: z.literal("state"), seq: z.int().min(0), actors: z.array(ApiTreeLine) }),
]);
/** One event of a watch. */
export type WatchEvent = z.infer<typeof WatchEvent>;
