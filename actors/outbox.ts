/** The one action by which a machine hands messages to other roots, replies and notes to the kernel. */
import type { Json } from "../schemas/json.ts";
import type { Outgoing, Stamp } from "../schemas/message.ts";

/**
 * The unwired `post` action: does nothing. Machines are written against it, `setup({ actions: { post } })`, and call
 * it with one {@linkcode Outgoing}; the kernel provides the real one by `machine.provide`, collects what a crank
 * posted, and writes it into the crank's unit (K13, K14). At most 1,000 a crank (K8).
 */
export function post(_: unknown, _params: Outgoing): void {}

/** The reply to the command that brought `event`, or undefined if no command did, so nobody waits for one. */
export function replyTo(event: Stamp, status: "ok" | "failed", value: Json): Outgoing | undefined {
  return event.command === undefined ? undefined : { kind: "reply", command: event.command, status, value };
}
