/** Which effects may start before their intent is durable: those whose repetition after a crash harms nobody (K9). */
import { entryOf } from "../../actors/library.ts";
import type { PortRequest } from "../../schemas/effect.ts";
import type { Kernel } from "./kernel.ts";
import type { LiveRoot } from "./live_root.ts";

/**
 * True for `model.generate` without a budget, for built-in reads inside the workspace, and for calls of servers' tools that the operator
 * calls idempotent; never while a person's answer stands before them in a unit that is not durable, and never under
 * `durability: strict`. No server's own word makes its tool idempotent, and what was taken out of arguments is lost with
 * this process: such a call waits.
 */
export function mayStartEarly(kernel: Kernel, root: LiveRoot, request: PortRequest): boolean {
  if (kernel.strict || root.undurableAnswers > 0) return false;
  // With a budget the intent is a reservation: spent before it is durable, it would be forgotten by a crash.
  if (request.port === "model.generate") return request.args.budget === undefined;
  if (request.port === "mcp.call") return request.effect === "idempotent" && request.args.redacted !== true;
  return request.port === "tool.call" && isBuiltInRead(request);
}

function isBuiltInRead(request: Extract<PortRequest, { readonly port: "tool.call" }>): boolean {
  const entry = entryOf(request.args.entry);
  if (entry === undefined || entry.adapter !== "builtin" || request.effect !== "idempotent") return false;
  return !entry.definition.sideEffects && (entry.sourceKind === "runtime" || entry.sourceKind === "troupe");
}
