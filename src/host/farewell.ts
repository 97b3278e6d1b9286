/** How a runtime that stops takes leave of MCP servers. */
import { limits } from "../../schemas/limits.ts";
import type { HostServices } from "../host_services.ts";
import type { Connections } from "../mcp/connections.ts";

/** Ends every server in the journal too, so that the next start finds nothing open. What does not answer is killed. */
export async function part(
  connections: Connections,
  { tellConnection, seams: { clock } }: HostServices,
): Promise<void> {
  const message = {
    type: "connection.close",
    reason: "The runtime stops",
    drainMs: limits.mcpFarewellDrainMs,
  } as const;
  const told = connections.busy.map((root) => tellConnection(root, message).catch(() => {}));
  if (told.length === 0) return;
  const enough = new AbortController();
  const late = clock.sleepUntil(clock.now() + limits.mcpFarewellMs, enough.signal);
  await Promise.race([Promise.all(told), late]);
  enough.abort();
}
