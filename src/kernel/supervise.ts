/** Tells the supervisor of a crash, and does what it decides: let a root go on, start it anew, or take it away. */
import type { Failure } from "../../schemas/failure.ts";
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

/** Performs `child.start`: the root was rebuilt already, so it only has to be let go on. */
export function createChildStart(kernel: () => Kernel): Performer<"child.start"> {
  return ({ request }) => {
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
