/** Tells the supervisor of a crash, and does what it decides: let a root go on, start it anew, or take it away. */
import { type Failure, failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Performer } from "../effects/performer.ts";
import type { Kernel } from "./kernel.ts";
import { quarantine } from "./poison.ts";
import { deliver, makeReady } from "./route.ts";

/** Reports a crash to the supervisor; the root stays held until the supervisor starts it again. */
export function report(kernel: Kernel, child: RootAddress, why: Failure): void {
  if (kernel.supervisor === undefined) return;
  const message = { type: "child.crashed", child, failure: { ...why } };
  deliver(kernel, kernel.supervisor, { kind: "input", body: { message } });
}

/** True if somebody decides when a crashed root goes on. A supervisor that is out of service decides nothing. */
export function isSupervised(kernel: Kernel, child: RootAddress): boolean {
  const { supervisor } = kernel;
  if (supervisor === undefined || supervisor === child) return false;
  return kernel.records.get(supervisor)?.status === "active";
}

/** Lets every root go on that waited for a supervisor which is now out of service. */
export function release(kernel: Kernel): void {
  for (const root of kernel.roots.values()) {
    if (!root.held) continue;
    root.held = false;
    makeReady(kernel, root);
  }
}

/**
 * Performs `child.start`: the root was rebuilt already, so it only has to be let go on. All roots of this release have a
 * journal, which a `clean` start would contradict; kinds of roots that can begin anew bring it with them.
 */
export function createChildStart(kernel: () => Kernel): Performer<"child.start"> {
  return ({ request }) => {
    if (request.args.mode === "clean") {
      const message = `"${request.args.child}" has a journal, so it can only come back by resume`;
      return Promise.resolve({ status: "failed", failure: failure("clean_start_refused", message) });
    }
    const root = kernel().roots.get(request.args.child);
    if (root !== undefined) {
      root.held = false;
      makeReady(kernel(), root);
    }
    return Promise.resolve({ status: "ok", value: { child: request.args.child, found: root !== undefined } });
  };
}

/** Performs `child.stop`: holds a root; with `quarantine`, takes it out of service. */
export function createChildStop(kernel: () => Kernel): Performer<"child.stop"> {
  return ({ request }) => {
    const { child, quarantine: isFinal } = request.args;
    const root = kernel().roots.get(child);
    if (isFinal) quarantine(kernel(), child, "It crashed more often than its supervisor allows");
    else if (root !== undefined) root.held = true;
    return Promise.resolve({ status: "ok", value: { child, found: root !== undefined } });
  };
}
