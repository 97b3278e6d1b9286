/** How turns end. */
import { z } from "zod";

/** How a turn ended. */
export const TurnOutcome = z.enum(["completed", "needs_user", "failed", "canceled", "lost", "unknown"]);
/** How a turn ended. */
export type TurnOutcome = z.infer<typeof TurnOutcome>;
