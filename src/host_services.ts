/** What a runtime and its host give each other: performers for what the host offers, and the runtime's own services. */
import type { catalogOf } from "../actors/library.ts";
import type { RootAddress } from "../schemas/ids.ts";
import type { ConnectionMessage } from "../schemas/message.ts";
import type { AgentDesk } from "./agents/agent_desk.ts";
import type { Attempt } from "./effects/adapter.ts";
import type { Conversations } from "./effects/conversation.ts";
import type { Performers } from "./effects/performer.ts";
import type { RawArguments } from "./effects/raw_arguments.ts";
import type { Journal } from "./journal/journal.ts";
import type { StoredReply } from "./kernel/kernel.ts";
import type { SuspendedCalls } from "./mcp/suspended_calls.ts";
import type { ProgramRegistry } from "./programs/program_registry.ts";
import type { Redactor } from "./redact/redactor.ts";
import type { Schedules } from "./schedules.ts";
import type { Seams } from "./seams.ts";
import type { TaskDesk } from "./tasks/task_desk.ts";

/** The performers that depend on what a host offers: models, tools, servers. */
export type HostPerformers = Pick<
  Performers,
  | "model.generate"
  | "tool.call"
  | "tool.verify"
  | "command.review"
  | "mcp.connect"
  | "mcp.list"
  | "mcp.watch"
  | "mcp.close"
  | "mcp.call"
  | "mcp.task"
  | "model.sample"
  | "task.run"
>;

/** What a host's performers may use of the runtime that they serve. */
export interface HostServices {
  readonly conversations: Conversations;
  readonly journal: Journal;
  readonly catalogOf: typeof catalogOf;
  readonly seams: Seams;
  /** Takes secrets out of what comes in. */
  readonly redactor: Redactor;
  /** Arguments that held secrets, from a model's answer to the performers of its calls. */
  readonly rawArguments: RawArguments;
  /** Calls that servers hold open while a person is asked. */
  readonly suspended: SuspendedCalls<Attempt>;
  readonly programs: ProgramRegistry;
  readonly schedules: Schedules;
  /** Background tasks. */
  readonly tasks: TaskDesk;
  /** Child agents. */
  readonly agents: AgentDesk;
  /** Tells a connection something in the runtime's own name; resolves with its reply, once that is durable. */
  readonly tellConnection: (connection: RootAddress, message: ConnectionMessage) => Promise<StoredReply>;
}
