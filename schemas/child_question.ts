/** What a child's session tells of its questions to a person: to its task, which tells the session above. */
import { z } from "zod";
import { TaskId } from "./ids.ts";

/** What a child's session tells its task. */
export const childQuestionMessages = [
  /** The child, or one below it, waits for a person. */
  z.strictObject({ type: z.literal("child.blocked") }),
  z.strictObject({ type: z.literal("child.unblocked") }),
  /** Something of it was refused because nobody could be asked: its parent's model is told so (peers' ask 15). */
  z.strictObject({ type: z.literal("child.unasked"), tool: z.string().max(256) }),
] as const;

/** What the task of a child tells its own session. */
export const taskQuestionLetters = [
  z.strictObject({ type: z.literal("task.blocked"), task: TaskId }),
  z.strictObject({ type: z.literal("task.unblocked"), task: TaskId }),
] as const;
