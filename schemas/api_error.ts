/** What a program is told of a request that was not carried out: one shape on every carrier. */
import { z } from "zod";

/**
 * What is certain about the effect of a command that was refused or broke off: nothing was done, it was accepted and
 * goes on, or nobody can say and the same key must be sent again.
 */
export const ApiOutcome = z.enum(["not_applied", "applied", "unknown"]);
/** What is certain about the effect of a command. */
export type ApiOutcome = z.infer<typeof ApiOutcome>;

/** Why a request was not carried out. No stack, no path, nothing of the request is echoed. */
export const ApiError = z.strictObject({
  /** Stable, in snake case; see `troupe schema failure` for those of calls and turns. */
  code: z.string().max(100),
  /** One line: what was wrong and what to do. */
  message: z.string().max(2_000),
  /** True if the same request may succeed later. */
  retryable: z.boolean(),
  outcome: ApiOutcome,
  request_id: z.string().max(128),
});
/** Why a request was not carried out. */
export type ApiError = z.infer<typeof ApiError>;
