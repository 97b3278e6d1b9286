/** What an invocation is created with, told, remembers, and tells. */
import type { Ledger, Spent } from "../schemas/budget.ts";
import type { CallTask } from "../schemas/call_pause.ts";
import type { CommandReview } from "../schemas/command_review.ts";
import type { Failure } from "../schemas/failure.ts";
import type { FormContent } from "../schemas/form.ts";
import type { KeptGrant } from "../schemas/grant.ts";
import type { TaskNews } from "../schemas/ids.ts";
import type { InvocationRequest, InvocationResult } from "../schemas/invocation.ts";
import type { PermissionMode } from "../schemas/mode.ts";
import type { Decision } from "../schemas/question.ts";
import type { Opening } from "./inquiry.ts";
import type { Pause } from "./invocation_rounds.ts";

/** What a turn gives to an invocation. `at`: when it was proposed, in milliseconds; `epoch`: in which runtime. */
export interface InvocationInput {
  readonly request: InvocationRequest;
  readonly capabilities: readonly string[];
  readonly mode: PermissionMode;
  /** Earlier answers for the whole session. */
  readonly grants: readonly KeptGrant[];
  /** True if a person refused this very call before, in the same turn. */
  readonly wasRefused?: boolean;
  /** The call before it that was the same, and of which nobody knows whether it happened. */
  readonly doubt?: string;
  readonly at: number;
  readonly epoch: number;
  /** What its turn may still spend, if that is bounded. */
  readonly ledger?: Ledger;
}

/** What an invocation is told. */
export type InvocationEvent =
  | { readonly type: "invocation.cancel"; readonly at: number }
  | {
    readonly type: "question.decided";
    readonly decision: Decision;
    readonly via: string;
    /** What was filled in, if a server asked. */
    readonly content?: FormContent;
    readonly at: number;
    readonly epoch: number;
  };

/** What an invocation remembers. */
export interface InvocationContext extends InvocationInput {
  readonly attempt: number;
  readonly cancelAsked: boolean;
  /** What was found about the command that the call would run; absent if nobody looked. */
  readonly review?: CommandReview;
  readonly verdict: "allow" | "ask" | "deny" | "undecided";
  readonly reason: string;
  readonly rule: string;
  readonly failure: Failure | null;
  readonly deadlineAtMs: number;
  /** True while an attempt may have been applied and nothing has told yet. */
  readonly isDoubtful: boolean;
  /** The first attempt's intent: the idempotency key of later ones. */
  readonly firstIntent: string | null;
  readonly outcomeOf: string | null;
  readonly isError: boolean;
  readonly changesState?: boolean;
  /** Tasks of whose end the result tells the model. */
  readonly told?: readonly TaskNews[];
  readonly via: "operator" | "verify" | null;
  /** The task that the attempt became, if its server carries it out as one. */
  readonly task?: CallTask;
  /** How often its server wanted something first, within this attempt. */
  readonly round?: number;
  /** What its server wants, or wanted last, and the answers. */
  readonly pause?: Pause | null;
  /** How often the model answered its server. */
  readonly samples?: number;
  /** What that cost. */
  readonly spent?: Spent;
  /** Requests of its server that no person answered: the model is told. */
  readonly unheard?: readonly string[];
  /** Who needed a person while nobody was there: the tool itself, or its server. */
  readonly unasked?: "tool" | "server";
}

/** How an invocation ended, and when: its turn's time goes on from there. */
export interface InvocationEnding extends InvocationResult {
  readonly at: number;
  readonly epoch: number;
  /** What models cost that answered its server. */
  readonly spent?: Spent;
}

/** What a parent is told while an invocation lives. */
export type InvocationReport =
  | Opening
  | { readonly type: "question.withdraw"; readonly ordinal: string };
