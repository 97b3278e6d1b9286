/** Stops a session, or a part of it, for clients: answered once what was to be stopped has ended. */
import { CancelReport, type CancelScope } from "../../schemas/cancel.ts";
import { Failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { KernelError } from "../kernel/kernel.ts";
import type { Runtime } from "../runtime.ts";
import type { GivenBy } from "../spawn_order.ts";

/** What is to be stopped, and why. */
export interface CancelOrder {
  readonly reason: string;
  /** The turn, if nothing is said. */
  readonly scope?: CancelScope | undefined;
  /** Which call, for the scope `call`. */
  readonly call?: string | undefined;
}

/** Stops; resolves with what was stopped, what goes on, and what was not there. */
export async function cancelSession(
  runtime: Pick<Runtime, "send">,
  session: RootAddress,
  { reason, scope, call }: CancelOrder,
  given?: GivenBy,
): Promise<CancelReport> {
  const message = {
    type: "session.cancel" as const,
    reason,
    ...(scope === undefined ? {} : { scope }),
    ...(call === undefined ? {} : { call }),
  };
  const { accepted, reply } = await runtime.send(session, message, given);
  await accepted();
  const { value } = await reply;
  const report = CancelReport.safeParse(value);
  if (report.success) return report.data;
  const { failure: why } = Object(value) as { readonly failure?: unknown };
  const failed = Failure.safeParse(why);
  if (failed.success) throw new KernelError(failed.data.code, failed.data.message);
  throw new KernelError("reply_unreadable", `"${session}" answered the cancel in a way that nobody can read`);
}
