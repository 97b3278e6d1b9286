/** The words of the session machine: what it is created with, told, and remembers. */
import type { AgentDefinition } from "../schemas/agent.ts";
import type { Budget, Ledger } from "../schemas/budget.ts";
import type { Parentage } from "../schemas/child_agent.ts";
import type { CatalogRef } from "../schemas/catalog.ts";
import type { Failure } from "../schemas/failure.ts";
import type { HostCall } from "../schemas/invocation.ts";
import type { ApprovalScope, KeptGrant } from "../schemas/grant.ts";
import type { PermissionMode } from "../schemas/mode.ts";
import type { CommandRef, SessionMessage, SessionServer, Stamp } from "../schemas/message.ts";
import type { Principal } from "../schemas/principal.ts";
import type { SessionScope } from "../schemas/profile.ts";
import type { Recovery, TurnWait } from "../schemas/recovery.ts";
import type { HistoryItem } from "../schemas/model.ts";
import type { TaskId, TaskNews } from "../schemas/ids.ts";
import type { Doubt } from "./doubt.ts";
import type { InvocationReport } from "./invocation_context.ts";
import type { QuestionResult } from "./question.ts";
import type { StaleState } from "./refresh.ts";
import type { Closing } from "./session_close.ts";
import type { Stop } from "./session_cancel.ts";
import type { OwnTask } from "./session_tasks.ts";
import type { TurnReport, TurnResult } from "./turn_context.ts";

/** What a session is created with. */
export interface SessionInput {
  readonly address: string;
  readonly agent: AgentDefinition;
  readonly home: string;
  readonly catalog: string;
  readonly principal: Principal;
  readonly servers: readonly SessionServer[];
  readonly mode: PermissionMode;
  readonly scope?: SessionScope | undefined;
  readonly installation?: string | undefined;
  /** What it may spend, besides what its agent says. */
  readonly budget?: Budget | undefined;
  /** How its turns go on after failures of the model. */
  readonly recovery?: Recovery | undefined;
  /** Set for child agents. */
  readonly parent?: Parentage;
}

/** What a session is told. */
export type SessionEvent =
  | (SessionMessage & Stamp)
  | InvocationReport
  | TurnReport
  | {
    readonly type: "xstate.done.actor.turn";
    readonly output: TurnResult | QuestionResult;
    readonly actorId: string;
  };

/** A prompt, or a host's call, that waits for its turn: where it stands in the journal, and who wants the answer. */
export interface PromptRef {
  readonly seq: number;
  readonly command: CommandRef | null;
  readonly replyTo: string | null;
  /** Set if it is a call of a host, which asks no model. */
  readonly call?: HostCall | undefined;
}

/** A question that is open. What is optional is not there for uncertain outcomes, and in snapshots of earlier releases. */
export interface OpenQuestion {
  readonly id: string;
  readonly ordinal: string;
  readonly rule: string;
  /** Everybody who waits for its answer. */
  readonly waiting?: readonly string[];
  readonly tool?: string;
  readonly twin?: string;
  readonly scope?: ApprovalScope | null;
  readonly entry?: string | null;
  /** The runtime, and the count of revocations, under which it was asked. */
  readonly epoch?: number;
  readonly revocations?: number;
}

/** What a session remembers. */
export interface SessionContext extends SessionInput, StaleState {
  readonly issued: CatalogRef | null;
  readonly refusal: Failure | null;
  /** Why there will never be another catalog: it is out of service. Contexts of earlier releases have none. */
  readonly lost?: Failure | null;
  /** Servers that were declared while a turn ran; they hold from the next one on. */
  readonly nextServers: readonly SessionServer[] | null;
  /** True if the catalog must be renewed before the next turn: servers changed, or one of them failed. */
  readonly isStale: boolean;
  /** How often a renewal was asked for. */
  readonly renewal: number;
  readonly turn: number;
  readonly current: PromptRef | null;
  readonly queue: readonly PromptRef[];
  readonly notices: readonly HistoryItem[];
  /** Answers for the whole session. */
  readonly grants: readonly KeptGrant[];
  readonly asked: number;
  /** When questions about approvals were asked, as far as it matters for the next one (B28). */
  readonly asks?: readonly number[];
  /** How often grants were revoked. */
  readonly revocations?: number;
  readonly questions: readonly OpenQuestion[];
  /** Tasks that have not ended, in the order of their births. */
  readonly tasks?: readonly OwnTask[];
  /** Those of them whose end the model knows already, from a result. */
  /** What was spent by turns that have ended, and what children hold. */
  readonly ledger?: Ledger;
  /** Calls whose outcome nobody knows. */
  readonly doubts?: readonly Doubt[];
  readonly told?: readonly TaskNews[];
  /** Children that the latest turn has begun. */
  readonly begun?: { readonly turn: number; readonly children: number };
  /** Set once the session is being ended, for good. */
  readonly closing?: Closing;
  /** Tasks of it whose child agents wait for a person. */
  readonly blockedTasks?: readonly TaskId[];
  /** True if a child's task was told that the child waits for a person. */
  readonly toldBlocked?: boolean;
  /** Cancels that wait for what they stop. */
  readonly stops?: readonly Stop[];
  /** The last turn that was stopped together with its tasks: what it still opened is ended too. */
  readonly stoppedTurn?: number;
  /** What its turn waits for since its model failed. */
  readonly waiting?: TurnWait | null;
  /** Who let that turn go on, and is answered at its end. */
  readonly resumers?: readonly CommandRef[];
  /** True once the session was canceled as a whole: it takes no prompt any more. */
  readonly isClosed?: boolean;
}
