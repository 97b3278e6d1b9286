/** How a turn ended, for whoever began it: read from the reply and the journal. */
import { outputIn } from "../actors/output.ts";
import type { Failure } from "../schemas/failure.ts";
import type { RootAddress } from "../schemas/ids.ts";
import type { InvocationOutcome, InvocationResult } from "../schemas/invocation.ts";
import type { Json } from "../schemas/json.ts";
import type { TurnOutcome } from "../schemas/message.ts";
import type { Attachment } from "../schemas/tool.ts";
import type { ToolError } from "../schemas/tool_error.ts";
import type { Conversations } from "./effects/conversation.ts";
import type { StoredReply } from "./kernel/kernel.ts";

/** How a turn ended, with its final text. */
export interface TurnReport {
  readonly turn: number;
  readonly outcome: TurnOutcome;
  readonly steps: number;
  readonly text: string;
  readonly failure: Failure | undefined;
  /** The value that the answer is, if its agent says which form answers have. */
  readonly output?: Json | undefined;
  /** Set for a host's call: how it ended. */
  readonly call?: CallReport | undefined;
}

/** How a host's call ended. `text` is what a model would be told of it. */
export interface CallReport {
  readonly outcome: InvocationOutcome;
  readonly attempts: number;
  readonly text: string;
  readonly isError: boolean;
  /** The whole result, if `text` is only a part of it: a blob. */
  readonly full?: Attachment | undefined;
  readonly failure?: Failure | undefined;
  /** Why a tool that ran said no. */
  readonly error?: ToolError | undefined;
}

interface TurnReply {
  readonly turn?: number;
  readonly outcome?: TurnOutcome;
  readonly steps?: number;
  readonly answer?: string | null;
  readonly failure?: Failure;
  readonly call?: InvocationResult | null;
  readonly structured?: true;
}

/** The report of a turn, from the reply to what began it. */
export async function reportOf(
  conversations: Conversations,
  session: RootAddress,
  stored: StoredReply,
): Promise<TurnReport> {
  const reply = stored.value as TurnReply;
  const { call } = reply;
  // The model says itself what it needs a person for; a turn that its budget ended answers with the latest words of its model.
  const isAnswer = reply.outcome === "completed" || reply.outcome === "needs_user" ||
    reply.failure?.code === "budget_exhausted" || reply.failure?.code === "output_invalid";
  const hasAnswer = isAnswer && typeof reply.answer === "string";
  const text = hasAnswer ? await conversations.answerText(session, reply.answer ?? "") : "";
  const output = reply.structured === true ? outputIn(text) : undefined;
  return {
    turn: reply.turn ?? 0,
    outcome: reply.outcome ?? "failed",
    steps: reply.steps ?? 0,
    text,
    failure: reply.failure,
    ...(output === undefined ? {} : { output: output.value }),
    ...(call === undefined || call === null
      ? {}
      : { call: await callReportOf(conversations, session, call) }),
  };
}

async function callReportOf(
  conversations: Conversations,
  session: RootAddress,
  { outcome, attempts, outcomeOf, failure }: InvocationResult,
): Promise<CallReport> {
  const yielded = outcomeOf === undefined ? undefined : await conversations.returnOf(session, outcomeOf);
  return {
    outcome,
    attempts,
    text: yielded?.model ?? failure?.message ?? "",
    isError: yielded?.isError ?? outcome !== "succeeded",
    ...(yielded?.full === undefined ? {} : { full: yielded.full }),
    ...(failure === undefined ? {} : { failure }),
    ...(yielded?.error === undefined ? {} : { error: yielded.error }),
  };
}
