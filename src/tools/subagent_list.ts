/** `subagent_list`: the child agents of this session (CM-102). */
import { z } from "zod";
import { noAgents, statusView } from "../agents/child_view.ts";
import { type BuiltinTool, defineTool, errorEnvelope, structuredEnvelope } from "./tool.ts";

/** Lists own children only. */
export const subagentList: BuiltinTool = defineTool({
  name: "subagent_list",
  title: "List child agents",
  description:
    "Lists the child agents of this session, the oldest first, with what they do and how they ended.",
  resource: { kind: "agent", scope: "session" },
  parallelSafe: true,
  inputSchema: z.strictObject({}),
  run: async (_, { agents }) => {
    if (agents === undefined) return errorEnvelope(noAgents);
    const children = (await agents.list()).map((child) => ({
      ...statusView(child),
      task_run_id: child.id,
      title: child.title,
      profile: child.agent.rights.profile ?? null,
      scope: child.agent.scope,
      depth: child.agent.rights.depth,
      answers: child.agent.answers,
    }));
    return structuredEnvelope({ children });
  },
});
