/** What a call waits for that has been begun and has not ended: what the port `mcp.call` yields in place of a result. */
import { z } from "zod";
import { limits } from "./limits.ts";

/** The server carries the call out as a task, which is found again by this handle: also by another session. */
export const CallTask = z.strictObject({
  type: z.literal("task"),
  id: z.string().min(1).max(limits.mcpTaskIdCharactersMax),
  /** How its result comes: `asked` for by itself (2025-11-25), or `told` with its state (2026-07-28). */
  result: z.enum(["asked", "told"]),
  /** How often the server wants to be asked. Milliseconds. */
  pollMs: z.int().min(limits.mcpTaskPollMsMin).max(limits.mcpTaskPollMsMax),
  /** Until when the server says that it keeps the task, in milliseconds since the epoch; null if it does not say. */
  keptUntilMs: z.number().nullable(),
  /** What the server said of its state, for people. */
  message: z.string().max(limits.mcpTaskMessageCharactersMax).exactOptional(),
});
/** The server carries the call out as a task. */
export type CallTask = z.infer<typeof CallTask>;

/** What a call waits for. */
export const CallPause = z.discriminatedUnion("type", [CallTask]);
/** What a call waits for. */
export type CallPause = z.infer<typeof CallPause>;

/** The value of an `mcp.call` outcome that is no end: the key tells it from a result. */
export const PausedCall = z.strictObject({ pause: CallPause });
/** The value of an `mcp.call` outcome that is no end. */
export type PausedCall = z.infer<typeof PausedCall>;
