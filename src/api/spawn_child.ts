/** `spawn` with a parent: the parent's session begins the child by its own tool, under its own gates and budget. */
import { z } from "zod";
import type { ApiGiven, ApiResult } from "../../schemas/api.ts";
import { type RootAddress, taskAddress, TaskId } from "../../schemas/ids.ts";
import { readLineage } from "../agents/lineage.ts";
import { readJson } from "../border.ts";
import type { Runtime } from "../runtime.ts";
import { ApiFailure } from "./api_failure.ts";
import type { ApiCallContext } from "./api_parts.ts";

/** What the tool says of a child that it began. */
const Begun = z.looseObject({ task_run_id: TaskId });

/** Begins a child agent of a session. What a child cannot be given is refused, never left out. */
export async function spawnChild(
  { parts: { runtime }, caller, key, trace }: ApiCallContext,
  given: ApiGiven<"spawn"> & { readonly parent: string },
): Promise<ApiResult<"spawn">> {
  const { parent, agent, prompt } = given;
  for (const field of ["name", "labels", "budget", "rights", "title", "on_parent_exit"] as const) {
    if (given[field] === undefined) continue;
    throw new ApiFailure("params_invalid", `${field} cannot be said of a child agent: its parent settles it`);
  }
  if (prompt === undefined) {
    throw new ApiFailure("params_invalid", "A child agent needs a prompt: it begins to work at once");
  }
  if (typeof agent !== "string") {
    throw new ApiFailure(
      "params_invalid",
      "A child agent is one of its parent's: name the agent or a profile",
    );
  }
  const call = {
    tool: "subagent_spawn",
    arguments: { content: prompt, ...await profileOf(runtime, parent, agent) },
  };
  const { report } = await runtime.call(parent, call, { key, by: caller.principal, trace });
  const { call: ended, failure } = await report;
  if (ended === undefined || ended.outcome !== "succeeded") {
    const why = ended?.failure ?? failure;
    throw new ApiFailure(
      why?.code ?? "agent_not_begun",
      why?.message ?? ended?.text ?? "The child was not begun",
    );
  }
  const { task_run_id: task } = Begun.parse(readJson(ended.text, { bytesMax: 1_048_576 }));
  const record = runtime.kernel.records.values().find((one) => one.parent === taskAddress(task, parent));
  if (record === undefined) {
    throw new ApiFailure("child_not_found", `The child ${task} has no session yet: see tree`, "applied");
  }
  return { address: record.address, is_new: true };
}

/** The parent's agent itself is the usual child of it; any other name is one of its profiles, or refused. */
async function profileOf(
  { kernel }: Runtime,
  parent: RootAddress,
  agent: string,
): Promise<{ readonly profile_key?: string }> {
  const own = (await readLineage(kernel, parent))?.agent.name;
  return agent === own ? {} : { profile_key: agent };
}
