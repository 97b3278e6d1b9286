/** `yield_until`: waits for the end of a background task of this session, for a while (DM-121). */
import { z } from "zod";
import { limits } from "../../schemas/limits.ts";
import { noSuchTask, tasksIn, taskView, toldView } from "./task_view.ts";
import { type BuiltinTool, defineTool, errorEnvelope, structuredEnvelope } from "./tool.ts";

/** Waits until a task has ended or needs a person, at most 30 s by default. The task goes on whatever becomes of this. */
export const yieldUntil: BuiltinTool = defineTool({
  name: "yield_until",
  title: "Wait for a task",
  description:
    "Waits until a background task of this session has ended, or needs a person. If that takes longer than it may, you " +
    "are told where the task is, with timed_out, and it goes on.",
  resource: { kind: "task", scope: "session" },
  capability: "task.control",
  parallelSafe: false,
  timeoutMs: limits.yieldMsMax + limits.commandEndingMs,
  inputSchema: z.strictObject({
    task: z.string().max(128).describe("Id of the task"),
    timeout_ms: z.int().min(1).max(limits.yieldMsMax).default(limits.yieldMsDefault)
      .describe("How long to wait, in milliseconds"),
  }),
  run: async ({ task, timeout_ms: timeoutMs }, use) => {
    const tasks = tasksIn(use);
    if ("code" in tasks) return errorEnvelope(tasks);
    const awaited = await tasks.untilEnded(task, use.clock.now() + timeoutMs);
    if (awaited === undefined) return noSuchTask();
    const { record, isTimedOut } = awaited;
    if (isTimedOut) return structuredEnvelope({ ...taskView(record), timed_out: true });
    return structuredEnvelope({ ...toldView(tasks, record), timed_out: false });
  },
});
