/** `task_status`: how far a background task of this session is, or how it ended (DM-114, DM-116). */
import { z } from "zod";
import { noSuchTask, tasksIn, toldView } from "./task_view.ts";
import { type BuiltinTool, defineTool, errorEnvelope, structuredEnvelope } from "./tool.ts";

/** Shows one task. */
export const taskStatus: BuiltinTool = defineTool({
  name: "task_status",
  title: "Look at a task",
  description: "Shows how far a background task of this session is, or how it ended.",
  resource: { kind: "task", scope: "session" },
  capability: "task.control",
  parallelSafe: false,
  inputSchema: z.strictObject({ task: z.string().max(128).describe("Id of the task") }),
  run: async ({ task }, use) => {
    const tasks = tasksIn(use);
    if ("code" in tasks) return errorEnvelope(tasks);
    const record = await tasks.find(task);
    return record === undefined ? noSuchTask() : structuredEnvelope(toldView(tasks, record));
  },
});
