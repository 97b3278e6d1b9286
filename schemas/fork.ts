/** A fork: a session of its own that goes on from an entry of another one (K24). */
import { z } from "zod";
import { Digest, IntentId, RootAddress } from "./ids.ts";

/** Where a fork comes from: the session, its last entry that the fork has too, and a hash over all up to there. */
export const ForkOrigin = z.strictObject({ address: RootAddress, seq: z.int().min(1), hash: Digest });
/** Where a fork comes from. */
export type ForkOrigin = z.infer<typeof ForkOrigin>;

/** What of a session a fork does not go on with. */
export const ForkClosedKind = z.enum(["turn", "question", "task", "child", "prompt", "grant", "schedule"]);
/** What of a session a fork does not go on with. */
export type ForkClosedKind = z.infer<typeof ForkClosedKind>;

const text = z.string().max(300);

/** One thing that was open in the session and is not in its fork. */
export const ForkClosed = z.strictObject({ kind: ForkClosedKind, name: text });
/** One thing that was open in the session and is not in its fork. */
export type ForkClosed = z.infer<typeof ForkClosed>;

/** An intent that was open; in the fork it is over, `canceled` with the code `forked`. */
export const ForkSettled = z.strictObject({ id: IntentId, what: text, harmful: z.boolean() });
/** An intent that was open. */
export type ForkSettled = z.infer<typeof ForkSettled>;

/** A fork as it was made: the body of its note `session.forked`, too. */
export const ForkReport = z.strictObject({
  session: RootAddress,
  origin: ForkOrigin,
  settled: z.array(ForkSettled).max(10_000),
  closed: z.array(ForkClosed).max(10_000),
});
/** A fork as it was made. */
export type ForkReport = z.infer<typeof ForkReport>;
