/** `subagent_wait`: waits for children: one, all of several, or as many of a group as are needed (CM-108, GA-53). */
import { z } from "zod";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { type Child, isTerminal, newsOf } from "../agents/agent_desk.ts";
import { answerView, childId, noAgents, notFound } from "../agents/child_view.ts";
import {
  type BuiltinTool,
  defineTool,
  errorEnvelope,
  structuredEnvelope,
  type ToolUseContext,
} from "./tool.ts";

/** Time in which a result is made, taken off the call's own. Milliseconds. */
const marginMs = 1_000;
const secondsMax = (limits.toolCallDurationMsMax - marginMs) / 1_000;

const id = z.string().min(1).max(128);

const Group = z.strictObject({
  members: z.array(id).min(limits.agentGroupMembersMin).max(limits.agentGroupMembersMax),
  strategy: z.enum(["all", "any", "quorum"]),
  required_successes: z.int().min(1).max(limits.agentGroupMembersMax).optional()
    .describe("For quorum: how many must succeed"),
});

const input = z.strictObject({
  child_id: id.optional().describe("The child's session id"),
  child_ids: z.array(id).min(1).max(limits.tasksOpenMax).optional()
    .describe("Several children: comes back when every one of them is done"),
  agent_group: Group.optional()
    .describe(
      "A group: all must succeed, any one, or a quorum; comes back once that is certain, one way or the other",
    ),
  timeout_seconds: z.number().min(0).max(secondsMax).describe("How long to wait at most"),
});
type Input = z.output<typeof input>;

/** What is waited for. */
interface Wanted {
  readonly ids: readonly string[];
  /** Successes that are needed; null for a barrier, which only waits for the ends. */
  readonly successes: number | null;
  readonly strategy: string;
}

/** Waits, and changes nothing: whoever is not waited for any more goes on. */
export const subagentWait: BuiltinTool = defineTool({
  name: "subagent_wait",
  title: "Wait for child agents",
  description:
    "Waits until child agents are done, and tells what they answered. Give one of child_id, child_ids, agent_group. " +
    "Those of a group that are not needed any more go on: end them with subagent_close.",
  resource: { kind: "agent", scope: "session" },
  parallelSafe: false,
  timeoutMs: limits.toolCallDurationMsMax,
  inputSchema: input,
  run: async (given, use) => {
    const wanted = wantedOf(given);
    if ("code" in wanted) return errorEnvelope(wanted);
    const { agents } = use;
    if (agents === undefined) return errorEnvelope(noAgents);
    const found = await Promise.all(wanted.ids.map((one) => agents.find(one)));
    const missing = found.indexOf(undefined);
    if (missing >= 0) return errorEnvelope(notFound(wanted.ids[missing] ?? ""));
    const children = found.filter((child) => child !== undefined);
    const untilMs = Math.min(
      use.clock.now() + given.timeout_seconds * 1_000,
      use.deadlineAtMs - marginMs,
    );
    const required = (terminal: readonly Child[]) => isCertain(wanted, children.length, terminal);
    const met = await agents.untilTerminal(children, { required, untilMs });
    tellOf(use, met.children);
    const [only] = met.children;
    if (given.child_id !== undefined && only !== undefined) {
      return structuredEnvelope({ timed_out: met.isTimedOut, ...answerView(only) });
    }
    return structuredEnvelope({
      timed_out: met.isTimedOut,
      ...(wanted.successes === null ? {} : groupView(wanted, met.children)),
      children: met.children.map(answerView),
    });
  },
});

function wantedOf({ child_id: one, child_ids: many, agent_group: group }: Input): Wanted | Failure {
  if ([one, many, group].filter((given) => given !== undefined).length !== 1) {
    return failure("arguments_invalid", "Give exactly one of child_id, child_ids and agent_group");
  }
  if (group === undefined) {
    return { ids: [...new Set(many ?? [one ?? ""])], successes: null, strategy: "all" };
  }
  const ids = [...new Set(group.members)];
  const { strategy, required_successes: quorum } = group;
  const needed = strategy === "all" ? ids.length : strategy === "any" ? 1 : quorum;
  if (needed === undefined || needed > ids.length || ids.length < limits.agentGroupMembersMin) {
    const text =
      `A group has at least ${limits.agentGroupMembersMin} different members, and a quorum says how many of ` +
      "them must succeed";
    return failure("arguments_invalid", text);
  }
  return { ids, successes: needed, strategy };
}

function succeeded({ agent }: Child): boolean {
  return agent.outcome === "completed";
}

/** A barrier opens when all are done; a group is decided once enough succeeded, or too few are left that could. */
function isCertain({ successes }: Wanted, count: number, terminal: readonly Child[]): boolean {
  if (successes === null) return terminal.length === count;
  const well = terminal.filter(succeeded).length;
  return well >= successes || terminal.length - well > count - successes;
}

function groupView({ strategy, successes }: Wanted, children: readonly Child[]): JsonObject {
  const well = children.filter((one) => isTerminal(one) && succeeded(one)).length;
  return {
    strategy,
    required_successes: successes,
    successes: well,
    succeeded: well >= (successes ?? 0),
    left_running: children.filter((one) => !isTerminal(one)).map(childId),
  };
}

/** What this result tells, no notice tells again (DM-121). */
function tellOf({ tasks }: ToolUseContext, children: readonly Child[]): void {
  for (const child of children) if (isTerminal(child)) tasks?.told(newsOf(child));
}
