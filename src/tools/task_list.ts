/** `task_list`: the background tasks of this session (DM-114, DM-117). */
import { z } from "zod";
import { limits } from "../../schemas/limits.ts";
import { isEnd } from "../../schemas/task.ts";
import { tasksIn, taskView } from "./task_view.ts";
import { type BuiltinTool, defineTool, errorEnvelope, structuredEnvelope } from "./tool.ts";

/** Lists tasks, the newest first; those that have ended without their summaries. */
export const taskList: BuiltinTool = defineTool({
  name: "task_list",
  title: "List tasks",
  description: "Lists the background tasks of this session, the newest first. task_status tells more of one.",
  resource: { kind: "task", scope: "session" },
  capability: "task.control",
  parallelSafe: false,
  inputSchema: z.strictObject({
    open: z.boolean().default(false).describe("Only those that have not ended"),
  }),
  run: async ({ open }, use) => {
    const tasks = tasksIn(use);
    if ("code" in tasks) return errorEnvelope(tasks);
    const all = (await tasks.list()).filter(({ status }) => !open || !isEnd(status));
    const shown = all.slice(0, limits.tasksListedMax).map((record) => {
      const { summary: _, ...rest } = taskView(record);
      return rest;
    });
    return structuredEnvelope({ tasks: shown, of: all.length });
  },
});
