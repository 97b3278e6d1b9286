/** The adapter of the tools of simulated servers: the runtime's own, with nothing that has to be loaded first. */
import type { Adapter } from "../../src/effects/adapter.ts";
import { mayBeSecret } from "../../src/effects/clean.ts";
import { followTask } from "../../src/effects/mcp_task.ts";
import { createHostMcpCall } from "../../src/host/host_mcp_call.ts";
import type { HostServices } from "../../src/host_services.ts";
import type { SimulatedServers } from "./servers.ts";

/** Makes the adapter. A module that is loaded in the middle of a run would come at a moment that no seed decides. */
export function servedCalls(services: HostServices, servers: SimulatedServers): Adapter {
  const usual = createHostMcpCall(services, servers as never);
  const { redactor, seams, suspended } = services;
  const isSecret = (text: string) => mayBeSecret(redactor, text);
  const options = {
    clientOf: servers.clientOf.bind(servers),
    open: (connection: string) => services.tellConnection(connection, { type: "connection.open" }),
    isSecret,
    holdsSecret: isSecret,
    suspended,
    clock: seams.clock,
  };
  return async (routed) =>
    await (routed.task === undefined ? usual(routed) : followTask({ ...routed, task: routed.task }, options));
}
