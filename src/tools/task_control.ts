/** `task_control`: ends a background task of this session (DM-114). */
import { z } from "zod";
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { noSuchTask, tasksIn, toldView } from "./task_view.ts";
import { type BuiltinTool, defineTool, errorEnvelope, structuredEnvelope } from "./tool.ts";

/** Cancels a task, and answers when nothing of it is left. A repeat harms nobody: what has ended stays as it is. */
export const taskControl: BuiltinTool = defineTool({
  name: "task_control",
  title: "End a task",
  description:
    "Ends a background task of this session, and answers when nothing of it runs any more. The only action is cancel.",
  resource: { kind: "task", scope: "session" },
  capability: "task.control",
  parallelSafe: false,
  reach: { riskLevel: "medium", effectClass: "idempotent", approvalPolicy: "auto" },
  timeoutMs: limits.taskEndingMsMax + limits.commandEndingMs,
  inputSchema: z.strictObject({
    task: z.string().max(128).describe("Id of the task"),
    action: z.string().max(64).describe("cancel"),
    reason: z.string().max(500).default("The agent wanted it").describe("Why, for the record"),
  }),
  run: async ({ task, action, reason }, use) => {
    const tasks = tasksIn(use);
    if ("code" in tasks) return errorEnvelope(tasks);
    if (action !== "cancel") {
      const why = "Cannot do this to a task: the only action is cancel";
      return errorEnvelope(failure("task_action_unsupported", why));
    }
    const record = await tasks.cancel(task, reason);
    return record === undefined ? noSuchTask() : structuredEnvelope(toldView(tasks, record));
  },
});
