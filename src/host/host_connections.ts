/** What the MCP servers of a host are started and reached with. */
import { Connections } from "../mcp/connections.ts";
import type { PrivateHomes } from "../mcp/private_homes.ts";
import type { ServerLog } from "../mcp/server_log.ts";
import type { GuardedClient } from "../net/guarded_client.ts";
import type { ProcessRegistry } from "../processes/registry.ts";
import type { KnownSecrets } from "../redact/known_secrets.ts";
import { eraFile, EraStore } from "./eras.ts";
import { createLogins } from "./logins.ts";
import type { OwnerOptions } from "./open_host.ts";
import { trustFile } from "./trust.ts";

/** What servers are started and reached with. */
export function hostConnections(
  { registry, homes, known, readSecret, serverLog, http, seams: { clock, digest }, env, self }:
    & Pick<OwnerOptions, "seams" | "env" | "self">
    & {
      readonly registry: ProcessRegistry;
      readonly homes: PrivateHomes;
      readonly known: KnownSecrets;
      readonly readSecret: (name: string) => string | undefined;
      readonly serverLog: ServerLog;
      readonly http: GuardedClient;
    },
): Connections {
  const way = { fetch: http.fetch, clock, digest };
  return new Connections({
    registry,
    clock,
    env: readSecret,
    onBound: (value) => void known.add({ value, name: "variable", source: "bound" }),
    homes,
    self,
    onEnd: (end) => serverLog.note(end),
    fetch: http.fetch,
    authorize: createLogins({ ...way, trustFile: trustFile(env), known, readSecret }),
    eras: new EraStore(eraFile(trustFile(env)), clock),
  });
}
