/** `subagent_close`: ends a child agent (CM-102, CM-104). */
import { z } from "zod";
import { CloseStrictness } from "../../schemas/child_agent.ts";
import { limits } from "../../schemas/limits.ts";
import { isEnd } from "../../schemas/task.ts";
import { newsOf } from "../agents/agent_desk.ts";
import { answerView, noAgents, notFound } from "../agents/child_view.ts";
import { type BuiltinTool, defineTool, errorEnvelope, structuredEnvelope } from "./tool.ts";

/** Time beyond the child's own, in which the answer comes back. Milliseconds. */
const marginMs = 10_000;

/** Ends a child, and waits for that. */
export const subagentClose: BuiltinTool = defineTool({
  name: "subagent_close",
  title: "End a child agent",
  description:
    "Ends a child agent and all that is its own, and waits for that. graceful: its turn may end within " +
    `${limits.childGraceMs / 1_000} s, then it is canceled; forced: it is canceled at once.`,
  resource: { kind: "agent", scope: "session" },
  parallelSafe: false,
  reach: { riskLevel: "low", effectClass: "idempotent", approvalPolicy: "auto" },
  timeoutMs: limits.childGraceMs + limits.childForceMs + marginMs,
  inputSchema: z.strictObject({
    child_id: z.string().min(1).max(128).describe("The child's session id"),
    strictness: CloseStrictness.default("graceful"),
  }),
  run: async ({ child_id: id, strictness }, { agents, tasks }) => {
    if (agents === undefined) return errorEnvelope(noAgents);
    const child = await agents.find(id);
    if (child === undefined) return errorEnvelope(notFound(id));
    const ended = await agents.close(child, strictness);
    if (isEnd(ended.status)) tasks?.told(newsOf(ended));
    return structuredEnvelope(answerView(ended));
  },
});
