/** What a turn asks of its model: only what is new; the rest of the conversation is in the journal. */
import { z } from "zod";
import { Budget } from "./budget.ts";
import { CatalogRef } from "./catalog.ts";
import { HistoryItem, ToolChoice } from "./model.ts";
import { Continuation } from "./recovery.ts";
import { recoveryLimits } from "./recovery_limits.ts";

/** Arguments of `model.generate`. */
export const GenerateArgs = z.strictObject({
  model: z.string().max(200),
  turn: z.int().min(1),
  step: z.int().min(0),
  catalog: CatalogRef,
  /** What this step adds to the conversation; the rest is in the journal already. */
  append: z.array(HistoryItem),
  toolChoice: ToolChoice,
  maxOutputTokens: z.int().min(1),
  /** Which attempt of this step at this model; absent on the first. */
  attempt: z.int().min(2).optional(),
  /** Why it is not the first request of its turn; absent in the first, and in entries of earlier releases. */
  continuation: Continuation.exactOptional(),
  /** Old results of the conversation become references from here on: it was too long for the model. */
  compact: z.literal(true).exactOptional(),
  /** Tools that the model is not told of, by its names for them: it does not take their schemas. */
  hidden: z.array(z.string().max(128)).max(recoveryLimits.toolsHiddenMax).exactOptional(),
  /** Tools of which the model is told in basic words only: it did not take their schemas as they are. */
  simplified: z.array(z.string().max(128)).max(recoveryLimits.toolsHiddenMax).exactOptional(),
  /** What the session may still spend, if that is bounded: the intent is the reservation, and starts once it is durable. */
  budget: Budget.pick({ tokens: true, cost_usd: true }).exactOptional(),
});
/** Arguments of `model.generate`. */
export type GenerateArgs = z.infer<typeof GenerateArgs>;
