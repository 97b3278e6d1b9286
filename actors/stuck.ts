/** A turn that seems stuck: many of its calls were refused (LC-21). */
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { TurnContext } from "./turn_context.ts";

/** Calls of the turn that were refused, those of this step included. */
export function refusalsAfter({ refusals = 0, results }: TurnContext): number {
  return refusals + results.filter(({ outcome }) => outcome === "denied").length;
}

/** The note of a turn that seems stuck, once: when so many refusals have come together (LC-21). */
export function stuckNotes({ turn, refusals = 0 }: TurnContext, now: number): readonly Outgoing[] {
  if (refusals >= limits.refusalsStuck || now < limits.refusalsStuck) return [];
  return [{ kind: "note", type: "turn.stuck", body: { turn, refusals: now } }];
}

/** What the model is told then. */
export function stuckHint(refusals: number): string {
  return `. ${refusals} calls of this turn were refused, so you seem stuck: try no variation of them, go on without ` +
    "them, or end the turn and say what you need";
}
