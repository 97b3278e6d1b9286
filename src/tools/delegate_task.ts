/** `delegate_task`: gives one goal to a child agent and comes back with its answer (DM-113, DM-125..128). */
import { z } from "zod";
import { ownChildren } from "../../actors/profile.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { PermissionMode } from "../../schemas/mode.ts";
import { isEnd } from "../../schemas/task.ts";
import type { Child } from "../agents/agent_desk.ts";
import { answerView, noAgents } from "../agents/child_view.ts";
import { firstPrompt } from "../agents/first_prompt.ts";
import type { OwnAgents } from "../agents/own_agents.ts";
import {
  type BuiltinTool,
  defineTool,
  errorEnvelope,
  structuredEnvelope,
  type ToolUseContext,
} from "./tool.ts";

/** Time in which a result is made, taken off the call's own. Milliseconds. */
const marginMs = 1_000;

const slot = z.string().regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, "must be a name");

const input = z.strictObject({
  goal: z.string().min(1).max(limits.childMessageCharactersMax).describe("What the child is to achieve"),
  core_id: z.string().max(48).optional()
    .describe(
      "Who does it: this agent's own name, or the key of one of its profiles; left out: the usual child",
    ),
  context_mode: z.enum(["isolated", "fork"]).default("isolated")
    .describe(`fork: the child is told the last ${limits.forkMessagesMax} messages here, as data`),
  notify_policy: z.enum(["return_to_parent", "silent"]).default("return_to_parent")
    .describe(
      "return_to_parent: wait for the answer; silent: come back at once, and hear nothing of the end",
    ),
  max_depth: z.int().min(1).max(limits.agentDepthMax).optional()
    .describe("Depth at which nobody below begins children; can only be less than this agent's own"),
  tools: z.union([z.enum(["all", "none"]), z.array(z.string().min(1).max(256)).max(limits.childToolsMax)])
    .default("all").describe("Tools that are left to the child: all of its own, none, or these"),
  input_slots: z.record(slot, z.string().max(limits.childMessageCharactersMax)).optional()
    .describe("Data for the child, by name"),
  output_slots: z.array(slot).max(limits.childSlotsMax).optional()
    .describe("Names of what the child's answer is to hold"),
  use_bootstrap: z.boolean().default(false).describe("Noted with the child"),
  capabilities: z.array(z.string().max(200)).max(256).optional()
    .describe("Capabilities that are left to the child; left out: all of this agent's"),
  mode: PermissionMode.optional().describe("Mode of the child; never a freer one than here"),
  model: z.string().max(200).optional().describe("One of this agent's own models"),
  workspace: z.string().min(1).max(limits.pathCharactersMax).optional()
    .describe("A folder of this workspace that the child is kept in; it then has no MCP servers"),
});
type Input = z.output<typeof input>;

/** One goal, one child, one answer. */
export const delegateTask: BuiltinTool = defineTool({
  name: "delegate_task",
  title: "Delegate a task",
  description:
    "Gives one goal to a child agent with a session of its own, and comes back with its answer, which is evidence and no " +
    "order. Several of these calls in one step work side by side.",
  resource: { kind: "agent", scope: "session" },
  capability: ownChildren,
  parallelSafe: true,
  reach: { riskLevel: "medium", effectClass: "idempotent", approvalPolicy: "auto" },
  timeoutMs: limits.toolCallDurationMsMax,
  inputSchema: input,
  run: async (given, use) => {
    const { agents } = use;
    if (agents === undefined) return errorEnvelope(noAgents);
    const slots = Object.keys(given.input_slots ?? {}).length;
    if (slots > limits.childSlotsMax) {
      return errorEnvelope(failure("arguments_invalid", `A child takes ${limits.childSlotsMax} input slots`));
    }
    const child = await begin(given, use, agents);
    if ("code" in child) return errorEnvelope(child);
    if (given.notify_policy === "silent") return structuredEnvelope(viewOf(child));
    const { children: [now = child] } = await agents.untilTerminal([child], {
      required: (ended) => ended.length === 1,
      isDone: ({ status }) => isEnd(status),
      untilMs: use.deadlineAtMs - marginMs,
    });
    if (isEnd(now.status)) use.tasks?.told(now.id);
    return structuredEnvelope(viewOf(now));
  },
});

async function begin(
  given: Input,
  use: ToolUseContext,
  agents: OwnAgents,
): Promise<Child | Failure> {
  const { goal, context_mode: context, input_slots: inputs = {}, output_slots: outputs = [] } = given;
  const messages = context === "fork" ? await use.messages() : [];
  const { goal: _, input_slots: _inputs, ...requested } = given;
  return await agents.spawn({
    content: firstPrompt({ goal, messages, inputs, outputs }),
    title: goal.split("\n")[0] ?? "",
    scope: "task",
    wanted: {
      core: given.core_id,
      maxDepth: given.max_depth,
      tools: given.tools,
      capabilities: given.capabilities,
      mode: given.mode,
      model: given.model,
      workspace: given.workspace,
    },
    requested: { ...JSON.parse(JSON.stringify(requested)) as JsonObject, input_slots: Object.keys(inputs) },
    slots: { input: Object.keys(inputs), output: outputs },
    silent: given.notify_policy === "silent",
    untilMs: use.deadlineAtMs - marginMs,
  });
}

/** The answer as evidence, and what the child was given of what was asked for (DM-113). */
function viewOf(child: Child): JsonObject {
  const { requested, rights, slots } = child.agent;
  return { ...answerView(child), task_run_id: child.id, requested, resolved: { ...rights, slots } };
}
