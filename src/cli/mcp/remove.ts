/** `troupe mcp remove`. */
import { PrivateHomes } from "../../mcp/private_homes.ts";
import { type Cli, defineCommand, jsonOption, storeOption } from "../cli.ts";
import { CheckFailedError, exitCodes, UsageError } from "../exit.ts";
import { locateStore, openReading } from "../host.ts";
import { jsonLine } from "../json_line.ts";
import { safeText } from "../terminal.ts";
import { agentFolder, agentOption } from "./ground.ts";
import { findManifest } from "./manifest_file.ts";
import { fingerprintsOf, type ServerOfAgent } from "./records.ts";

/** Takes a declaration away. */
export const command = defineCommand({
  args: ["NAME"],
  about: [
    "Deletes mcp/NAME.yaml of the agent's folder, and the server's homes beside the store, with all that it kept there;",
    "--keep leaves them. Sessions that run close the server before their next turn. What was trusted stays trusted for",
    "the same declaration: troupe trust AGENT --remove takes that away; troupe mcp auth NAME --logout a login.",
  ],
  options: {
    keep: { kind: "flag", help: "leave the server's homes beside the store" },
    agent: agentOption,
    store: storeOption,
    json: jsonOption,
  },
  examples: ["troupe mcp remove docs", "troupe mcp remove docs --agent ./my-agent --keep"],
  run: async ({ cli, options, args: [name = ""] }) => {
    const folder = await agentFolder(cli, options);
    const found = await findManifest(folder, name);
    if (found === undefined) {
      throw new UsageError(
        "server_unknown",
        `The agent has no server ${JSON.stringify(name)}: see troupe mcp list`,
      );
    }
    const location = await locateStore(cli, options.store);
    const fingerprints = options.keep ? [] : await declaredIn(cli, location, { server: name, folder });
    await Deno.remove(`${folder}/${found}`);
    const declared = fingerprints.map((fingerprint) => ({ server: name, fingerprint }));
    const homes = await removeHomes(location, declared);
    const { out } = cli.terminal;
    if (options.json) out.line(jsonLine({ server: name, removed: found, homes }));
    else for (const one of [found, ...homes]) out.line(safeText(`Removed ${one}`));
    return exitCodes.ok;
  },
});

/** What a store knows of the server of this agent: a server of another agent may have the same name. */
async function declaredIn(cli: Cli, location: string, whose: ServerOfAgent): Promise<readonly string[]> {
  try {
    await Deno.stat(location);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
  }
  const host = await openReading(cli, location);
  try {
    return await fingerprintsOf(host, whose);
  } finally {
    await host.close();
  }
}

async function removeHomes(
  location: string,
  declared: readonly { readonly server: string; readonly fingerprint: string }[],
): Promise<readonly string[]> {
  if (declared.length === 0) return [];
  const homes = new PrivateHomes(location);
  try {
    return await homes.remove(declared);
  } catch (error) {
    const why = error instanceof Error ? error.name : String(error);
    const message =
      `The declaration is gone, but what the server kept beside the store cannot be removed (${why})`;
    throw new CheckFailedError("home_unremovable", `${message}: remove it by hand`);
  } finally {
    await homes.release();
  }
}
