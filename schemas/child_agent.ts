/** Child agents: what one is asked, what it may do, how it stands, and what its session and its task tell each other. */
import { z } from "zod";
import { Budget, Spent } from "./budget.ts";
import { Failure } from "./failure.ts";
import { RootAddress } from "./ids.ts";
import { JsonObject } from "./json.ts";
import { limits } from "./limits.ts";
import { PermissionMode } from "./mode.ts";
import { Capability } from "./principal.ts";
import { ProfileKey } from "./profile.ts";
import { TurnOutcome } from "./turn_outcome.ts";

/** How long a child lives: until its one answer, until the turn that began it ends, or until its parent closes it. */
export const ChildScope = z.enum(["task", "turn", "conversation"]);
/** How long a child lives. */
export type ChildScope = z.infer<typeof ChildScope>;

/** How a child is ended: its turn may end by itself, or is canceled. */
export const CloseStrictness = z.enum(["graceful", "forced"]);
/** How a child is ended. */
export type CloseStrictness = z.infer<typeof CloseStrictness>;

/** How far the end of a child has come (CM-104). `failed`: it did not end in time, and is watched no more. */
export const CloseState = z.enum(["open", "requested", "acknowledged", "closed", "failed"]);
/** How far the end of a child has come. */
export type CloseState = z.infer<typeof CloseState>;

/** What a child is seen to do (CM-103). `waiting`: for a place among those that run. */
export const ObservedStatus = z.enum(["idle", "running", "waiting", "completed", "failed", "interrupted"]);
/** What a child is seen to do. */
export type ObservedStatus = z.infer<typeof ObservedStatus>;

/** Names of the agents from the root to a child. */
export const AgentPath = z.array(z.string().min(1).max(limits.agentNameShownCharactersMax))
  .max(limits.agentDepthMax + 1);
/** Names of the agents from the root to a child. */
export type AgentPath = z.infer<typeof AgentPath>;

/** What a child may do of what its parent may: settled when it is begun, for its whole life (DM-113, DM-127). */
export const ChildRights = z.strictObject({
  profile: ProfileKey.exactOptional(),
  model: z.string().max(200),
  mode: PermissionMode,
  /** Full names of the tools that are left; absent: all that its profile shows. */
  tools: z.array(z.string().min(1).max(256)).max(limits.childToolsMax).exactOptional(),
  capabilities: z.array(Capability).max(256),
  /** A folder of the parent's workspace; absent: the whole. */
  workspace: z.string().max(limits.pathCharactersMax).exactOptional(),
  depth: z.int().min(1).max(limits.agentDepthMax),
  /** Depth at which nobody below it begins children. */
  maxDepth: z.int().min(1).max(limits.agentDepthMax),
});
/** What a child may do. */
export type ChildRights = z.infer<typeof ChildRights>;

const slots = z.array(z.string().min(1).max(limits.childSlotCharactersMax)).max(limits.childSlotsMax);

/** Names of what a child is given, and of what it is to answer with (DM-113). */
export const ChildSlots = z.strictObject({ input: slots, output: slots });
/** Names of what a child is given, and of what it is to answer with. */
export type ChildSlots = z.infer<typeof ChildSlots>;

/** The work of a task of the kind `agent.spawn`: one child agent, in a session of its own (DM-128). */
export const AgentWork = z.strictObject({
  kind: z.literal("agent.spawn"),
  /** The child's session. Its name follows from the call that began it (GA-54). */
  child: RootAddress,
  content: z.string().min(1).max(limits.promptCharactersMax),
  scope: ChildScope,
  path: AgentPath,
  /** What the call asked for, without texts. */
  requested: JsonObject,
  rights: ChildRights,
  slots: ChildSlots,
});
/** The work of a task of the kind `agent.spawn`. */
export type AgentWork = z.infer<typeof AgentWork>;

/** How a child stands: a part of its task's record. */
export const ChildStanding = z.strictObject({
  child: RootAddress,
  scope: ChildScope,
  path: AgentPath,
  requested: JsonObject,
  rights: ChildRights,
  slots: ChildSlots,
  /** True once its session exists (CM-124). */
  isMade: z.boolean(),
  observed: ObservedStatus,
  close: CloseState,
  /** How often it answered. */
  answers: z.int().min(0),
  outcome: TurnOutcome.nullable(),
  /** The beginning of its latest answer; the whole is in its session. */
  answer: z.string().max(limits.childAnswerCharactersMax),
  /** Set if that answer is one JSON value of the form that its profile asks for. */
  structured: z.literal(true).exactOptional(),
});
/** How a child stands. */
export type ChildStanding = z.infer<typeof ChildStanding>;

/** Who a session is a child of. */
export const Parentage = z.strictObject({
  /** The task that runs it: the only one that may tell it anything, and that is told of its answers and its end. */
  task: RootAddress,
  /** The session that began it. */
  session: RootAddress,
  path: AgentPath,
});
/** Who a session is a child of. */
export type Parentage = z.infer<typeof Parentage>;

/** What a session tells whoever prompted it. */
export const sessionAnswered = z.strictObject({
  type: z.literal("session.answered"),
  from: RootAddress,
  outcome: TurnOutcome,
  text: z.string(),
  failure: Failure.optional(),
  /** What the session that answers has spent so far, in all. */
  spent: Spent.exactOptional(),
  /** Set if the text is one JSON value of the form that its profile asks for. */
  structured: z.literal(true).exactOptional(),
});

/** What the task of a child is told: by its session, by the child's session, by whoever looks after roots. */
export const childMessages = [
  /** The session has noted the task; it is let begin when there is room. */
  z.strictObject({
    type: z.literal("task.accepted"),
    turn: z.int().min(0),
    /** What the child may spend. */
    budget: Budget.exactOptional(),
  }),
  /** Another prompt for the child. Answered at once. */
  z.strictObject({
    type: z.literal("task.send"),
    text: z.string().min(1).max(limits.childMessageCharactersMax),
  }),
  /** Ends the child. Answered once it has ended. */
  z.strictObject({
    type: z.literal("task.close"),
    strictness: CloseStrictness,
    reason: z.string().max(500),
  }),
  sessionAnswered,
  z.strictObject({ type: z.literal("session.closing") }),
  /** `spent`: in all, with its own children. */
  z.strictObject({ type: z.literal("session.closed"), spent: Spent.exactOptional() }),
  /** The child's session is out of service: nothing more will come of it. */
  z.strictObject({ type: z.literal("child.lost"), reason: z.string().max(2_000) }),
] as const;
