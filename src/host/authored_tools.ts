/** What a host runs authored tools with: jails of this program, its children like all others. */
import type { HostPolicy } from "../../schemas/config.ts";
import { TrustedTools, trustedToolsFolder } from "../authored/trusted_tools.ts";
import { JailPool } from "../jail/jail_pool.ts";
import { jailProgram } from "../jail/jail_program.ts";
import type { OwnProgram } from "../mcp/connections.ts";
import type { ProcessRegistry } from "../processes/registry.ts";
import type { KnownSecrets } from "../redact/known_secrets.ts";
import type { Clock } from "../seams.ts";
import type { HostAuthored } from "./host_performers.ts";

/** Options of {@linkcode hostAuthored}. */
export interface HostAuthoredOptions {
  readonly registry: Pick<ProcessRegistry, "start">;
  readonly clock: Clock;
  readonly self: OwnProgram;
  readonly trustFile: string | undefined;
  readonly policy: Pick<HostPolicy, "capabilities">;
  /** Values of the host's secrets, by name. */
  readonly valueOf: ReadonlyMap<string, string | undefined>;
  readonly known: KnownSecrets;
}

/** Makes it. Nothing is started before a session with such tools begins, or calls one. */
export function hostAuthored(options: HostAuthoredOptions): HostAuthored {
  const { registry, clock, self, trustFile, policy, valueOf, known } = options;
  const start: ProcessRegistry["start"] = (order) => registry.start(order);
  return {
    pool: new JailPool({ start, program: jailProgram(self), clock }),
    trusted: new TrustedTools(trustedToolsFolder(trustFile)),
    policy,
    readSecret: (name) => valueOf.get(name),
    onBound: (value, name) => void known.add({ value, name, source: "bound" }),
  };
}
