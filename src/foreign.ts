/** Keeps everybody but its parent from telling a child agent's session what to do. */
import { notYours } from "../actors/session_close.ts";
import { type RootAddress, sessionOf } from "../schemas/ids.ts";
import type { SessionMessage } from "../schemas/message.ts";
import { type Kernel, KernelError } from "./kernel/kernel.ts";

/** What only a child's parent may do to it, and nobody else: whoever runs the store may look, stop and answer (CM-107). */
export function refuseForeign({ records }: Kernel, session: RootAddress, message: SessionMessage): void {
  const targets = message.type === "session.relay" ? [session, message.to] : [session];
  const child = targets.map((one) => records.get(one)?.parent).find((parent) => parent !== undefined);
  const isHarmless = message.type === "session.cancel" || message.type === "session.revoke";
  if (child === undefined || isHarmless) return;
  throw new KernelError("session_not_yours", notYours(sessionOf(child) ?? child));
}
