/** What a host runs authored tools with: jails of this program, its children like all others. */
import type { HostConfig } from "../../schemas/config.ts";
import { TrustedTools, trustedToolsFolder } from "../authored/trusted_tools.ts";
import { JailPool } from "../jail/jail_pool.ts";
import { jailProgram } from "../jail/jail_program.ts";
import type { OwnProgram } from "../mcp/connections.ts";
import type { ProcessRegistry } from "../processes/registry.ts";
import type { KnownSecrets } from "../redact/known_secrets.ts";
import type { Seams } from "../seams.ts";
import type { Env } from "./home.ts";
import type { HostAuthored } from "./host_performers.ts";
import { trustFile } from "./trust.ts";

/** Options of {@linkcode hostAuthored}. */
export interface HostAuthoredOptions {
  readonly registry: Pick<ProcessRegistry, "start">;
  readonly seams: Pick<Seams, "clock">;
  readonly self: OwnProgram;
  readonly env: Env;
  readonly config: Pick<HostConfig, "policy">;
  /** Values of the host's secrets, by name. */
  readonly valueOf: ReadonlyMap<string, string | undefined>;
  readonly known: KnownSecrets;
}

/** Makes it. Nothing is started before a session with such tools begins, or calls one. */
export function hostAuthored(options: HostAuthoredOptions): HostAuthored {
  const { registry, seams: { clock }, self, env, config: { policy }, valueOf, known } = options;
  const start: ProcessRegistry["start"] = (order) => registry.start(order);
  return {
    pool: new JailPool({ start, program: jailProgram(self), clock }),
    trusted: new TrustedTools(trustedToolsFolder(trustFile(env))),
    policy,
    readSecret: (name) => valueOf.get(name),
    onBound: (value, name) => void known.add({ value, name, source: "bound" }),
  };
}
