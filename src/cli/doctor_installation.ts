/** What `troupe doctor` says of the installation, and of an agent's MCP servers. */
import { type Check, checkInstallation } from "../host/installation.ts";
import { readHostSettings } from "../host/home.ts";
import type { Cli } from "./cli.ts";
import { CheckFailedError } from "./exit.ts";
import { safeText } from "./terminal.ts";

/** Looks at the installation and, if an agent is named, at its servers: each that is trusted is started. */
export async function lookAtInstallation(
  cli: Cli,
  location: string,
  agent: string | undefined,
): Promise<readonly Check[]> {
  const { file: configFile } = await readHostSettings(cli.env);
  const checks = await checkInstallation({ location, configFile, clock: cli.seams.clock });
  return agent === undefined ? checks : [...checks, ...await checkServers(cli, agent)];
}

async function checkServers(cli: Cli, agent: string): Promise<readonly Check[]> {
  const [{ readGrounds }, { probeServer }, { obstacle }] = await Promise.all([
    import("./mcp/ground.ts"),
    import("./mcp/probe.ts"),
    import("../../actors/connection_rules.ts"),
  ]);
  const grounds = await readGrounds(cli, { agent });
  const checks: Check[] = [];
  for (const ground of grounds.servers) {
    const { loaded: { server }, declaration } = ground;
    const check = `server ${server}`;
    // Nobody is asked here: what is not trusted is not started.
    if (declaration.gate !== "granted" && obstacle({ declaration }) === null) {
      const message = `it is not trusted, so it is not started: troupe mcp trust ${server} --agent ${agent}`;
      checks.push({ check, isWell: false, message });
      continue;
    }
    const { failure, greeting, list } = await probeServer(cli, grounds, ground, { answer: undefined });
    const seen = `${greeting?.server.name ?? "it"} offers ${list?.source.tools.length ?? 0} tools`;
    checks.push({ check, isWell: failure === undefined, message: failure?.message ?? seen });
  }
  return checks;
}

/** Prints it for people. */
export function printInstallation(
  { terminal: { out } }: Pick<Cli, "terminal">,
  checks: readonly Check[],
): void {
  const width = Math.max(...checks.map(({ check }) => check.length));
  for (const { check, isWell, message } of checks) {
    const sign = isWell ? out.style.green("✓") : out.style.red("✗");
    out.line(`  ${sign} ${safeText(check).padEnd(width)}  ${safeText(message)}`);
  }
}

/** Throws if anything is not well: the last line says what is first. */
export function judgeInstallation(checks: readonly Check[]): void {
  const [first, ...rest] = checks.filter(({ isWell }) => !isWell);
  if (first === undefined) return;
  const more = rest.length === 0 ? "" : `, and ${rest.length} more`;
  throw new CheckFailedError(
    "installation_needs_attention",
    `The installation needs a look: ${first.check}: ${first.message}${more}`,
  );
}
