/** What the runtime tells connections in its own name, and asks the open servers of a session (AR-15). */
import type { Failure } from "../schemas/failure.ts";
import { type RootAddress, rootKindOf, sessionOf } from "../schemas/ids.ts";
import type { ConnectionMessage } from "../schemas/message.ts";
import { submit } from "./kernel/command.ts";
import { type Kernel, KernelError, type StoredReply } from "./kernel/kernel.ts";

/** What became of the wish to ask a server again. */
export interface RefreshReport {
  readonly server: string;
  readonly result: "ready" | "not_open" | "failed";
  readonly failure?: Failure | undefined;
}

/**
 * Asks the open servers of a session for their tools again. Of the others only those are started that are held back
 * after failures: whoever asks wants to know whether they work now.
 */
export async function refreshServers(
  kernel: Kernel,
  session: RootAddress,
): Promise<readonly RefreshReport[]> {
  if (!kernel.records.has(session)) {
    throw new KernelError("root_not_found", `No actor has the address "${session}"`);
  }
  const connections = [...kernel.records.keys()]
    .filter((root) => rootKindOf(root) === "connection" && sessionOf(root) === session);
  return await Promise.all(connections.map(async (connection): Promise<RefreshReport> => {
    const server = connection.slice(connection.indexOf("/") + 1, connection.indexOf("@"));
    const { status, value } = await tellConnection(kernel, connection, {
      type: "connection.refresh",
      rule: "manual",
    });
    const { result, failure } = value as { readonly result?: string; readonly failure?: Failure };
    if (status !== "ok") return { server, result: "failed", failure };
    return { server, result: result === "not_open" ? "not_open" : "ready" };
  }));
}

/** Tells a connection something; resolves with its reply, once that is durable. */
export async function tellConnection(
  kernel: Kernel,
  connection: RootAddress,
  message: ConnectionMessage,
): Promise<StoredReply> {
  const ref = { principal: "program:runtime", key: kernel.seams.nextId("cmd") };
  const { reply } = await submit(kernel, { root: connection, message: message as never, ref, isFresh: true });
  return await reply;
}
