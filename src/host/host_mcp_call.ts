/** How a host's sessions reach the tools of their MCP servers. */
import { sessionOf } from "../../schemas/ids.ts";
import type { Adapter } from "../effects/adapter.ts";
import { holdsKnownSecret, mayBeSecret } from "../effects/clean.ts";
import { createMcpCall } from "../effects/mcp_call.ts";
import type { Connections } from "../mcp/connections.ts";
import type { HostServices } from "../host_services.ts";

/** Makes the adapter of MCP tools. */
export function createHostMcpCall(services: HostServices, connections: Connections): Adapter {
  const { redactor, seams, suspended } = services;
  return createMcpCall({
    clientOf: (connection) => connections.clientOf(connection),
    fingerprintOf: (connection) => connections.fingerprintOf(connection),
    open: (connection) => services.tellConnection(connection, { type: "connection.open" }),
    refresh: (connection) => {
      const asked = services.tellConnection(connection, {
        type: "connection.refresh",
        rule: "call_refused",
      });
      asked.catch(() => {}); // Its answer is news for the next turn; a runtime that stops asks again when it starts.
    },
    subscriptions: {
      count: (connection) => connections.subscribed(sessionOf(connection) ?? connection),
      keep: async (connection, uri, isWanted) => {
        const type = isWanted ? "connection.subscribe" : "connection.unsubscribe";
        await services.tellConnection(connection, { type, uri });
      },
    },
    isSecret: (text) => mayBeSecret(redactor, text),
    holdsSecret: (text) => holdsKnownSecret(redactor, text),
    suspended,
    clock: seams.clock,
  });
}
