/** `agent.open`: makes the session of a child agent, with a catalog and connections of its own (DM-128). */
import { exceeded, excessOf, narrow } from "../../actors/child_rights.ts";
import { failure } from "../../schemas/failure.ts";
import { readLineage } from "../agents/lineage.ts";
import { createChildSession } from "../births.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Performer, PerformerResult } from "./performer.ts";

/**
 * Makes the performer. What it makes has names that follow from the task, so a repeat finds what is there already. What
 * the child may do is compared with its parent's rights once more, whoever wrote it down (I10).
 */
export function createAgentOpen(kernelOf: () => Kernel): Performer<"agent.open"> {
  return async ({ root, request }) => {
    const kernel = kernelOf();
    const { owner, work, budget } = request.args;
    const lineage = await readLineage(kernel, owner);
    if (lineage === undefined) {
      return refused(failure("child_lost", `The session "${owner}" cannot be read: no child of it is begun`));
    }
    const holder = narrow(lineage, work.rights);
    const excess = excessOf(holder, lineage);
    if (excess !== undefined) return refused(exceeded(excess));
    await createChildSession(kernel, {
      address: work.child,
      lineage,
      holder,
      parent: { task: root, session: owner, path: work.path },
      budget,
    });
    return { status: "ok", value: { child: work.child } };
  };
}

function refused(why: ReturnType<typeof failure>): PerformerResult {
  return { status: "failed", failure: why };
}
