/** `subagent_send`: gives a child agent another prompt (CM-102). */
import { z } from "zod";
import { limits } from "../../schemas/limits.ts";
import { childId, noAgents, notFound, statusView } from "../agents/child_view.ts";
import { type BuiltinTool, defineTool, errorEnvelope, structuredEnvelope } from "./tool.ts";

/** Tells a child something; refused once it is being closed. */
export const subagentSend: BuiltinTool = defineTool({
  name: "subagent_send",
  title: "Speak to a child agent",
  description:
    "Gives a child agent another prompt. What it answers comes by subagent_wait, or as news. Refused once the child is " +
    "being closed.",
  resource: { kind: "agent", scope: "session" },
  parallelSafe: false,
  reach: { riskLevel: "low", effectClass: "idempotent", approvalPolicy: "auto" },
  inputSchema: z.strictObject({
    child_id: z.string().min(1).max(128).describe("The child's session id"),
    content: z.string().min(1).max(limits.childMessageCharactersMax).describe("What it is told"),
  }),
  run: async ({ child_id: id, content }, { agents, idempotencyKey }) => {
    if (agents === undefined) return errorEnvelope(noAgents);
    const child = await agents.find(id);
    if (child === undefined) return errorEnvelope(notFound(id));
    const refused = await agents.send(child, content);
    if (refused !== undefined) return errorEnvelope(refused);
    const now = await agents.find(id) ?? child;
    return structuredEnvelope({
      ...statusView(now),
      conversation_id: childId(now),
      message_id: idempotencyKey,
    });
  },
});
