/** The words of the turn machine: what it is given, told, remembers, and yields. */
import type { Budget, Ledger, Spent } from "../schemas/budget.ts";
import type { PortDone, PortFailed } from "../schemas/effect.ts";
import type { Failure } from "../schemas/failure.ts";
import type { HostCall, InvocationOutcome, InvocationResult } from "../schemas/invocation.ts";
import type { FormContent } from "../schemas/form.ts";
import type { Grant, KeptGrant } from "../schemas/grant.ts";
import type { PermissionMode } from "../schemas/mode.ts";
import type { CatalogRef } from "../schemas/catalog.ts";
import type { CommandRef, TurnOutcome } from "../schemas/message.ts";
import type { TaskNews } from "../schemas/ids.ts";
import type { JsonObject } from "../schemas/json.ts";
import type { HistoryItem, ModelCall } from "../schemas/model.ts";
import type { Decision } from "../schemas/question.ts";
import type { Continuation, Recovery, TurnWait } from "../schemas/recovery.ts";
import type { Doubt } from "./doubt.ts";
import type { NewChild } from "./child_budget.ts";
import type { StagePlan } from "./batch.ts";
import type { InvocationEnding, InvocationReport } from "./invocation_context.ts";

/** What a session gives to a turn. */
export interface TurnInput {
  readonly turn: number;
  readonly at: number;
  /** The runtime in which it starts, as far as that is known before anything comes back. */
  readonly epoch?: number;
  /** The prompt, and notices that came before it, as positions in the journal. */
  readonly append: readonly HistoryItem[];
  readonly catalog: CatalogRef;
  readonly model: string;
  /** Models that may answer instead, in this order, while those before are not to be had. */
  readonly fallbacks?: readonly string[];
  readonly maxOutputTokens: number;
  readonly roundsMax: number;
  readonly capabilities: readonly string[];
  readonly mode: PermissionMode;
  readonly grants: readonly KeptGrant[];
  /** The session's profile, if its agent has any. */
  readonly profile?: string | undefined;
  /** A call that a host makes: the turn is that call, and asks no model. */
  readonly given?: HostCall | undefined;
  /** Who makes it: as the host named him. */
  readonly principal?: string | undefined;
  /** Position of the entry that asked for the turn. */
  readonly input?: number | undefined;
  /** What is left of the session's budget. */
  readonly budget?: Budget | undefined;
  /** Calls of the session whose outcome nobody knows. */
  readonly doubts?: readonly Doubt[];
  /** How it goes on after failures of its model; without it there is nothing but a few tries. */
  readonly recovery?: Recovery;
  /** The form that its answer must have. */
  readonly output?: JsonObject;
}

/** What a turn is told. */
export type TurnEvent =
  | { readonly type: "turn.cancel"; readonly at: number }
  /** Somebody lets it go on although its wait is not over, or has no end of its own. */
  | { readonly type: "turn.resume"; readonly at: number }
  /** One call only: the turn goes on with what becomes of it. */
  | { readonly type: "turn.cancel_call"; readonly ordinal: string; readonly at: number }
  | {
    readonly type: "turn.decided";
    readonly ordinal: string;
    readonly decision: Decision;
    readonly via: string;
    /** What was filled in, if a server asked. */
    readonly content?: FormContent;
    /** What the answer allows for the rest of the session. */
    readonly grant?: Grant;
    readonly at: number;
    readonly epoch: number;
  }
  /** A program opens a call of its own tool. */
  | {
    readonly type: "turn.invoke";
    readonly program: string;
    readonly call: HostCall;
    readonly command: CommandRef | null;
    readonly at: number;
  }
  /** Something ended meanwhile of which the model is told before it is asked again (LC-28). */
  | { readonly type: "turn.notice"; readonly item: HistoryItem }
  /** A child agent wants its part of the budget; one that has ended gives back what it did not spend. */
  | { readonly type: "turn.child_begun"; readonly wanted: NewChild }
  | { readonly type: "turn.child_ended"; readonly child: string; readonly spent: Partial<Spent> }
  /** Earlier answers ended: these are left. */
  | { readonly type: "turn.revoked"; readonly grants: readonly KeptGrant[] }
  | InvocationReport
  | { readonly type: "xstate.done.actor.call"; readonly output: InvocationEnding; readonly actorId: string }
  /** The wall time that the budget leaves is over, or nobody can tell. */
  | { readonly type: "xstate.done.actor.wall"; readonly output: PortDone }
  | { readonly type: "xstate.error.actor.wall"; readonly error: PortFailed };

/** What a turn reports of its waits, and of what it stops, before it ends. */
export type TurnReport =
  /** It waits since its model failed; and it goes on by itself. */
  | { readonly type: "turn.waiting"; readonly wait: TurnWait }
  | { readonly type: "turn.went_on" }
  /** A call that was to be stopped has ended; `null`: there is no such call. */
  | {
    readonly type: "turn.call_stopped";
    readonly ordinal: string;
    readonly name: string;
    readonly outcome: InvocationOutcome | null;
  }
  /** Nothing of these runs, but a person must say what became of them. */
  | {
    readonly type: "turn.undecided";
    readonly calls: readonly { readonly ordinal: string; readonly name: string }[];
    /** True if the turn waits for nothing else. */
    readonly isAll: boolean;
  };

/** What a turn remembers. */
export interface TurnContext extends TurnInput {
  /** The runtime that the latest answer or result came to. Turns that an earlier release began know none. */
  readonly epoch?: number;
  /** Calls of this turn that were refused (LC-21). */
  readonly refusals?: number;
  readonly step: number;
  readonly attempt: number;
  /** Which fallback answers, from 1; 0 while it is the agent's own model. */
  readonly fallback: number;
  /** Attempts of this step before a person let it go on: they count no more. */
  readonly triedBefore?: number;
  /** How often this step waited for time to pass since then. */
  readonly waits?: number;
  readonly wait?: TurnWait | null;
  /** The step in which the conversation was found too long: it is made shorter once in a turn. */
  readonly compactedIn?: number;
  /** Tools of which the model is told in basic words: it did not take their schemas as they are. */
  readonly simplified?: readonly string[];
  /** Tools that the model is not told of, by its names for them: it did not take their schemas. */
  readonly hidden?: readonly string[];
  /** The parts of an answer that was cut off, while the model goes on with it. */
  readonly cutOff?: { readonly answers: readonly string[]; readonly text: string } | null;
  /** True once the model was told that its answer does not have its form. */
  readonly isRepaired?: boolean;
  /** Why the next request is not just that of another step. */
  readonly continuation?: Continuation | null;
  readonly calls: readonly ModelCall[];
  /** Calls that programs opened beside those of this step: numbered after them. */
  readonly opened?: readonly ModelCall[];
  /** How often each tool was called, by full name; snapshots of earlier releases do not know. */
  readonly bound?: { readonly [tool: string]: number };
  readonly plan: StagePlan | null;
  readonly stage: number;
  readonly live: readonly string[];
  readonly results: readonly InvocationResult[];
  /** Calls that a person refused in this turn: see `refusalKey`. */
  readonly refused: readonly string[];
  readonly cancelAsked: boolean;
  /** What the turn spent of its budget, and since when it runs; snapshots of earlier releases do not know. */
  readonly ledger?: Ledger;
  readonly startedAt?: number;
  /** The latest step in which a model was asked. */
  readonly asked?: number;
  /** The latest words of the model, kept while a budget may make them the last ones. */
  readonly partial?: { readonly intent: string; readonly text: string };
  /** Calls that were to be stopped and have not ended. */
  readonly stopping?: readonly string[];
  /** Those of them whose outcome a person must say. */
  readonly undecided?: readonly string[];
  readonly answer: string | null;
  /** The final text, set only in the crank that ends the turn: no snapshot holds it. */
  readonly text: string;
  readonly failure: Failure | null;
  /** What the model is told before it is asked again. */
  readonly notices?: readonly HistoryItem[];
  /** Tasks of whose end a result of this turn told the model. */
  readonly told?: readonly TaskNews[];
  /** The latest call of this turn of which nobody knows whether it happened. */
  readonly unsettled?: Unsettled;
  /** Why a call of the latest step that ended was not made for want of a person. */
  readonly needed?: Failure | null;
}

/** A call that ended as `unknown`. */
export interface Unsettled {
  /** `turn/<n>/call/<step>.<i>`. */
  readonly call: string;
  readonly name: string;
}

/** How a turn ended, and when. `answer` is the intent whose outcome holds the final text. */
export interface TurnResult {
  readonly turn: number;
  readonly at: number;
  readonly outcome: TurnOutcome;
  readonly steps: number;
  readonly text: string;
  readonly answer: string | null;
  readonly failure: Failure | null;
  /** Set for a call that a host made: how it ended, or null if it never began. */
  readonly call?: InvocationResult | null;
  /** True if the text is one JSON value of the form that was asked for. */
  readonly isStructured?: true;
  /** What came for the model and was not told to it any more. */
  readonly notices?: readonly HistoryItem[];
  /** What it spent, and what its children hold. */
  readonly ledger?: Ledger;
  readonly told?: readonly TaskNews[];
  readonly doubts?: readonly Doubt[];
}

/** When an event of the turn happened, in milliseconds since the epoch; of one that does not say, the time of the one before. */
export function timeOf(context: TurnContext, event: TurnEvent): number {
  return "at" in event ? event.at : context.at;
}
