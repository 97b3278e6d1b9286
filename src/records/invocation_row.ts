/** What is told of one tool call of a session. */
import type { ToolStatus } from "../../actors/tool_status.ts";
import type { InvocationOutcome, ResultMark } from "../../schemas/invocation.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { RetryContext } from "../../schemas/retry.ts";
import type { ToolError } from "../../schemas/tool_error.ts";

/** One tool call. */
export interface InvocationRow {
  readonly turn: number;
  /** `call/<step>.<i>`, as in the journal. */
  readonly ordinal: string;
  /** The full name once the call was taken from the catalog, before that the name that the model gave. */
  tool: string;
  effect: string;
  /** What it was called with. */
  arguments: JsonObject;
  /** By what a repeat of it is known: the model's id in its step, or the key of the host's command. */
  readonly key: string;
  /** The how manieth call of its tool in its turn (CM-58). */
  number: number;
  /** How a repeat is made harmless, where the class is `conditional` (AR-30). */
  mechanism: string;
  /** Intents of its effect, by their position in the stream, in order; recoveries of one count as attempts too. */
  readonly intents: string[];
  attempts: number;
  /** The final outcome, or `running`, or `waiting` for a person. */
  outcome: InvocationOutcome | "running" | "waiting";
  /** Its attempts after the first: which of how many, and why (AR-28). */
  readonly retries: RetryContext[];
  /** What was decided about it, and by whom, in order. */
  readonly decisions: string[];
  /** Its result's status, once it is over (DM-43); see `toolStatus`. */
  status: ToolStatus | undefined;
  /** Why it did not succeed, as a record (DM-45). */
  error: ToolError | undefined;
  /** Why it did not succeed. */
  why: string;
  /** What it yielded, as its outcome has it in the event view; empty if nothing. */
  response: JsonObject;
  /** What was taken out of its result. */
  secrets: readonly Omit<ResultMark, "at">[];
  readonly proposedAt: number;
  settledAt: number | undefined;
}
