/** What commands do with sessions, whoever holds the store: this process, or another one behind its door. */
import type { AgentDefinition } from "../../schemas/agent.ts";
import type { Budget } from "../../schemas/budget.ts";
import type { CancelReport } from "../../schemas/cancel.ts";
import type { Entry, RootRecord, StreamHead } from "../../schemas/entry.ts";
import type { GivenImage } from "../../schemas/image.ts";
import type { RootAddress, TaskId } from "../../schemas/ids.ts";
import type { ForkReport } from "../../schemas/fork.ts";
import type { ForkOrder } from "../forks.ts";
import type { HostCall } from "../../schemas/invocation.ts";
import type { PermissionMode } from "../../schemas/mode.ts";
import type { ScheduleState } from "../../schemas/schedule.ts";
import type { SessionScope } from "../../schemas/profile.ts";
import type { TaskRecord } from "../../schemas/task.ts";
import type { TokenView } from "../../schemas/access.ts";
import type { GivenAnswer, OpenQuestion } from "../effects/question_ask.ts";
import type { KernelEvent } from "../kernel/kernel.ts";
import type { RefreshReport } from "../refresh.ts";
import type { LogPiece } from "../tasks/task_log.ts";
import type { TurnReport } from "../turn_report.ts";
import type { LiveState } from "../why/actor_state.ts";
import type { CancelOrder } from "./canceling.ts";
import type { LoadedServer } from "./declare.ts";
import type { HostTokens } from "./host_tokens.ts";
import type { SessionHome } from "./session_home.ts";

/** What is kept, for reading. Every read is verified. */
export interface Records {
  listRoots(): Promise<readonly RootRecord[]>;
  /** Head of a stream; seq 0 if it has no entries. */
  readHead(root: RootAddress): Promise<StreamHead>;
  /** Entries from `fromSeq` to the head, in pieces. */
  readPages(root: RootAddress, fromSeq?: number): AsyncIterable<readonly Entry[]>;
  readBlob(digest: string): Promise<Uint8Array>;
  /** Tasks of a session, or of all, the newest first. */
  listTasks(session?: RootAddress): Promise<readonly TaskRecord[]>;
  /** Tokens of the API: all that open, and those that ended not long ago. */
  listTokens(): Promise<readonly TokenView[]>;
}

/** How a host is closed. */
export interface CloseOptions {
  readonly hurry?: boolean;
  /** Told once if somebody must be waited for. */
  readonly onWait?: () => void;
}

/** A store that can be read. */
export interface Host extends Records {
  /** The process that holds the store, if it is another one. */
  readonly owner: number | undefined;
  /** The actors of a root that is awake in the process that owns the store; undefined if it is not. */
  readActors(root: RootAddress): Promise<LiveState | undefined>;
  /**
   * Entries from `fromSeq` on, and new ones as they come; a page without any says that the root was taken out of service
   * in this process. Ends when `signal` aborts, at once if nobody writes.
   */
  follow(root: RootAddress, fromSeq: number, signal: AbortSignal): AsyncIterable<readonly Entry[]>;
  /** Lets go of the store. An owner first waits for prompts that came by its door, unless it is in a hurry. */
  close(options?: CloseOptions): Promise<void>;
}

/** A session to be made. Tools and policy are the owner's. */
export interface SessionOrder {
  readonly agent: AgentDefinition;
  readonly coreRevision: string;
  readonly home: SessionHome;
  readonly title: string;
  /** The MCP servers of the agent's folder. Those of an agent that comes with troupe are the owner's own. */
  readonly servers: readonly LoadedServer[];
  /** Default `default`. */
  readonly mode?: PermissionMode | undefined;
  /** Its profile; without it that for people. */
  readonly scope?: SessionScope | undefined;
  /** What it may spend in all, besides what its agent says. */
  readonly budget?: Budget | undefined;
}

/** What begins a turn: words for the model, or a call that needs none; or what lets one go on that waits. */
export type Request =
  | { readonly text: string; readonly images?: GivenImage[] }
  | { readonly call: HostCall }
  | { readonly resume: true };

/** A prompt, or a call, to be given. */
export interface PromptOrder {
  readonly session: RootAddress;
  readonly request: Request;
  /** The same key again is the same prompt (K14). */
  readonly key: string;
  /** First entry of the session that the giver wants to hear of. */
  readonly fromSeq: number;
  /** True if the giver answers questions of this session and its child agents. If nobody does, one is a denial. */
  readonly answers: boolean;
  /** Aborts when the giver has gone: it hears and answers nothing any more, and its turn goes on. */
  readonly gone?: AbortSignal;
}

/** What the giver of a prompt hears until its turn has ended. */
export type HostEvent =
  | KernelEvent
  | { readonly type: "question"; readonly question: OpenQuestion }
  /** A question that was heard of is open no more, whoever closed it. */
  | { readonly type: "question_closed"; readonly id: string };

/** A piece of what a task says. */
export type TaskSaid = Omit<LogPiece, "next">;

/** How a task is listened to. */
export interface FollowTask {
  /** True to go on until it has ended; else what is there is all. */
  readonly follow: boolean;
  readonly signal: AbortSignal;
}

/** A store that can be read and whose sessions can be told something. */
export interface ActingHost extends Host, HostTokens {
  /** Makes a session; resolves once it is durable. */
  createSession(order: SessionOrder): Promise<RootAddress>;
  /** Makes a session that goes on from an entry of another one; resolves once it is durable. */
  forkSession(order: ForkOrder): Promise<ForkReport>;
  /** Tells a session the MCP servers that its agent declares now; they hold from the next turn on (AR-42). */
  declareServers(session: RootAddress, home: SessionHome, servers: readonly LoadedServer[]): Promise<void>;
  /** Asks the open servers of a session for their tools again (AR-15). */
  refreshServers(session: RootAddress): Promise<readonly RefreshReport[]>;
  /** Gives a prompt or a call and waits for the end of its turn. Everything that `hear` is told comes before that. */
  prompt(order: PromptOrder, hear: (event: HostEvent) => void): Promise<TurnReport>;
  /** Stops a session, or a part of it; resolves once what was to be stopped has ended, with what that was. */
  cancel(session: RootAddress, order: CancelOrder): Promise<CancelReport>;
  /** Ends a task; resolves once nothing of it is left. Undefined if that session has none of this id. */
  cancelTask(session: RootAddress, task: TaskId, reason: string): Promise<TaskRecord | undefined>;
  /** Waits for the end of a task, or until `signal` aborts. The owner of the store stays as long. */
  untilTaskEnded(session: RootAddress, task: TaskId, signal: AbortSignal): Promise<TaskRecord | undefined>;
  /** What a running task says, from the end of its log on. */
  followTask(session: RootAddress, task: TaskId, options: FollowTask): AsyncIterable<TaskSaid>;
  /** Deletes a schedule; resolves once that is durable, with what it is then. */
  deleteSchedule(schedule: RootAddress): Promise<ScheduleState["status"]>;
  listQuestions(): Promise<readonly OpenQuestion[]>;
  answer(id: string, answer: GivenAnswer): Promise<void>;
}
