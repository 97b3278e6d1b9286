/** `subagent_spawn`: begins a child agent in a session of its own (CM-102, CM-124). */
import { z } from "zod";
import { ownChildren } from "../../actors/profile.ts";
import { limits } from "../../schemas/limits.ts";
import { childId, noAgents, statusView } from "../agents/child_view.ts";
import { firstPrompt } from "../agents/first_prompt.ts";
import { type BuiltinTool, defineTool, errorEnvelope, structuredEnvelope } from "./tool.ts";

/** Begins a child that can be spoken to until it is closed, or until the turn ends. */
export const subagentSpawn: BuiltinTool = defineTool({
  name: "subagent_spawn",
  title: "Begin a child agent",
  description:
    "Begins a child agent in a session of its own, which works beside you: it may do what you may do, and no more. " +
    "Comes back once the child is there, not once it is done: wait with subagent_wait. A child that is no longer " +
    "needed is ended with subagent_close.",
  resource: { kind: "agent", scope: "session" },
  capability: ownChildren,
  parallelSafe: false,
  reach: { riskLevel: "medium", effectClass: "idempotent", approvalPolicy: "auto" },
  inputSchema: z.strictObject({
    content: z.string().min(1).max(limits.childMessageCharactersMax).describe(
      "What the child is asked to do",
    ),
    scope: z.enum(["conversation", "turn"]).default("conversation")
      .describe("turn: the child ends with this turn; conversation: it lives until it is closed"),
    profile_key: z.string().max(48).optional()
      .describe("Profile whose tools the child sees; default, or nothing: the usual one for children"),
    task_payload: z.record(z.string(), z.unknown()).optional().describe("Data for the child, as JSON"),
  }),
  run: async ({ content, scope, profile_key: profile, task_payload: payload }, use) => {
    const { agents } = use;
    if (agents === undefined) return errorEnvelope(noAgents);
    const child = await agents.spawn({
      content: firstPrompt({ goal: content, payload }),
      title: content.split("\n")[0] ?? "",
      scope,
      wanted: { profile },
      requested: { profile_key: profile ?? null, scope, has_payload: payload !== undefined },
      slots: { input: payload === undefined ? [] : ["task_payload"], output: [] },
      silent: false,
      untilMs: use.deadlineAtMs,
    });
    if ("code" in child) return errorEnvelope(child);
    return structuredEnvelope({
      ...statusView(child),
      conversation_id: childId(child),
      turn_id: `turn/${child.turn ?? 0}`,
      workflow_run_id: null,
      task_run_id: child.id,
      profile: child.agent.rights.profile ?? null,
      depth: child.agent.rights.depth,
      scope,
    });
  },
});
