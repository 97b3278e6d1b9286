/**
 * How a turn ended, for whoever waits for it (DM-133): how its machine stopped, and what its calls left open.
 *
 * - `unknown`: one of its calls ended as `unknown`, so it may have happened (DM-134), and no answer of the model took
 *   that into account: the turn was canceled, or failed, or is a host's own call. A model that was told, and answered
 *   all the same, has completed its turn. What may have happened once is told by nothing later: the same call again
 *   would be another one.
 * - `needs_user`: a call of the last step was not made because a person was needed and nobody was there, and then the
 *   model ended the turn. If it made other calls first, it found a way to go on.
 * - `completed`, `failed`, `canceled`: as the machine stopped.
 *
 * `lost` is no ending that a turn comes to: whoever waits for the turn of a session in quarantine is told so
 * (`src/lost_turn.ts`).
 */
import { type Failure, failure, type FailureCode, reworded } from "../schemas/failure.ts";
import type { InvocationResult } from "../schemas/invocation.ts";
import { TurnOutcome } from "../schemas/message.ts";
import type { TurnContext, TurnResult } from "./turn_context.ts";

/** Calls that failed so were not made since a person was to do something first, and what that is. */
const wants: { readonly [code in FailureCode]?: string } = {
  approval_expired: "ask again while somebody is there to answer, or let policy allow the call",
  approval_unavailable: "ask again while somebody is there to answer, or let policy allow the call",
  mcp_auth_required: "log in, then ask again",
  mcp_login_required: "log in, then ask again",
};

/** What a turn remembers of a call that ended without anybody knowing how. */
export function unsettledWith(
  { turn }: Pick<TurnContext, "turn">,
  { ordinal, name, outcome }: InvocationResult,
): Pick<TurnContext, "unsettled"> {
  return outcome === "unknown" ? { unsettled: { call: `turn/${turn}/${ordinal}`, name } } : {};
}

/** What the calls of a step wanted of a person while nobody was there; null if they wanted nothing. */
export function neededBy(results: readonly InvocationResult[]): Failure | null {
  for (const { name, failure: why, unasked } of results) {
    const remedy = why === undefined ? undefined : wants[why.code];
    if (why !== undefined && remedy !== undefined) {
      return reworded(why, `"${name}" needed a person. ${why.message}: ${remedy}`);
    }
    if (unasked === true) {
      return failure(
        "approval_unavailable",
        `"${name}" asked a person, and nobody answered: ask again while somebody is there to answer`,
      );
    }
  }
  return null;
}

/** How the turn ended, and why. `stopped` is the output of the final state reached. */
export function endingOf(
  context: TurnContext,
  stopped: unknown,
): Pick<TurnResult, "outcome" | "failure" | "isStructured"> {
  const outcome = TurnOutcome.parse(stopped);
  const { failure: why, unsettled, given, results } = context;
  const isOwnCall = given !== undefined;
  if (unsettled !== undefined && (outcome !== "completed" || isOwnCall)) {
    const { call, name } = unsettled;
    const told =
      `the outcome of "${name}" (${call}) is unknown, it may have happened: look before repeating it`;
    const first = why ?? failure("tool_outcome_unknown", "Nobody knows how the call ended");
    return { outcome: "unknown", failure: reworded(first, `${first.message}; ${told}`) };
  }
  const needed = isOwnCall ? neededBy(results) : context.needed ?? null;
  // What completes with a form to its answer was found to have it; a host's call is no answer.
  const isStructured = outcome === "completed" && context.output !== undefined && !isOwnCall;
  const form: Pick<TurnResult, "isStructured"> = isStructured ? { isStructured: true } : {};
  if (outcome === "completed" && needed !== null) {
    return { outcome: "needs_user", failure: needed, ...form };
  }
  return { outcome, failure: why, ...form };
}

/** How the call of a host ended, beside those that programs opened meanwhile; nothing for the turn of a model. */
export function givenResult({ given, results }: TurnContext): Pick<TurnResult, "call"> {
  if (given === undefined) return {};
  return { call: results.find(({ ordinal }) => ordinal === "call/0.0") ?? null };
}
