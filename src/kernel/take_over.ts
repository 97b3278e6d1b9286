/** Takes over a root's open intents after a restart, by the table of kernel.md: ask again, verify, or say unknown. */
import { attemptsMax } from "../../actors/retry.ts";
import type { PortRequest } from "../../schemas/effect.ts";
import { failure } from "../../schemas/failure.ts";
import { comparePositions, intentKey } from "../../schemas/ids.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { Operation } from "../../schemas/retry.ts";
import type { PerformerResult } from "../effects/performer.ts";
import type { PortRecord } from "./desk.ts";
import { interrupted, onlyWaits, restart } from "./dispatch.ts";
import type { Kernel } from "./kernel.ts";
import type { LiveRoot } from "./live_root.ts";
import { writeNote } from "./note.ts";

/**
 * Decides on every open intent of a root that this runtime did not start itself, in the order of positions (R6),
 * and lets timers wait on, in the order in which they are due.
 */
export function takeOver(kernel: Kernel, root: LiveRoot): void {
  if (kernel.recovered.has(root.address)) return;
  kernel.recovered.add(root.address);
  const open = [...root.ports.values()].sort(inOrder);
  // A timer runs while its root sleeps; the one that woke it has fired already.
  const arrived = new Set(
    (kernel.parked.get(root.address) ?? []).map((mail) => "id" in mail ? mail.id : undefined),
  );
  for (const port of open) {
    if (arrived.has(port.id) || kernel.running.has(intentKey(root.address, port.id))) continue;
    decide(kernel, root, port);
  }
}

/** By position; timers behind the others, by their due times, so that those that are overdue fire in that order. */
function inOrder(left: PortRecord, right: PortRecord): number {
  const [leftDue, rightDue] = [dueOf(left.request), dueOf(right.request)];
  return leftDue === rightDue ? comparePositions(left.id, right.id) : leftDue < rightDue ? -1 : 1;
}

function dueOf(request: PortRequest): number {
  return request.port === "timer.set" ? request.args.dueAtMs : -Infinity;
}

function decide(kernel: Kernel, root: LiveRoot, port: PortRecord): void {
  const { effect, mechanism } = port.request;
  if (port.cancelAsked) return conclude(root, port, effect === "idempotent" ? canceled() : unknown());
  if (effect === "non_idempotent") return conclude(root, port, unknown());
  if (effect === "conditional" && mechanism !== "key") return conclude(root, port, unknown());
  askAgain(kernel, root, port);
}

/** The next attempt of the same intent, under the same key; counted in the journal (K7). */
function askAgain(kernel: Kernel, root: LiveRoot, port: PortRecord): void {
  const { request, id } = port;
  const isWaiting = onlyWaits(request.port);
  const attempt = (root.attempts.get(id) ?? 1) + (isWaiting ? 0 : 1);
  if (attempt > attemptsMax(request.effect)) {
    const why = interrupted(attempt - 1);
    const result: PerformerResult = request.effect === "idempotent"
      ? { status: "failed", failure: why }
      : { status: "unknown", failure: why };
    return conclude(root, port, result);
  }
  if (isWaiting) return restart(kernel, { root: root.address, record: port, attempt, early: false });
  root.attempts.set(id, attempt);
  const body = { id, attempt, ...retryOf(request) };
  writeNote(kernel, root, { kind: "note", type: "attempt", body }, {
    onDurable: () => restart(kernel, { root: root.address, record: port, attempt, early: false }),
  });
}

const operations: { readonly [K in PortRequest["port"]]?: Operation } = {
  "model.generate": "model_generate",
  "tool.call": "local_tool_call",
  "mcp.call": "mcp_tool_call",
};

/** What is tried again, as far as it is a model or a tool (AR-28). */
function retryOf({ port, effect }: PortRequest): JsonObject {
  const operation = operations[port];
  if (operation === undefined) return {};
  return {
    operation,
    idempotency: effect,
    maxAttempts: attemptsMax(effect),
    lastErrorCode: "interrupted" as const,
  };
}

/** Recovery's word on an intent is an ordinary message, before anything that waits (R6). */
function conclude(root: LiveRoot, port: PortRecord, result: PerformerResult): void {
  root.mailbox.push({ kind: "outcome", id: port.id, attempt: root.attempts.get(port.id) ?? 1, result });
}

function unknown(): PerformerResult {
  const message = "The runtime stopped while this call was under way, so its outcome is unknown";
  return { status: "unknown", failure: failure("tool_outcome_unknown", message) };
}

function canceled(): PerformerResult {
  return { status: "canceled", failure: failure("tool_canceled", "The call was canceled") };
}
