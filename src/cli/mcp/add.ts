/** `troupe mcp add`. */
import { McpManifest } from "../../../schemas/manifest.ts";
import { connectRefusal } from "../../host/declare.ts";
import { type Call, type Cli, defineCommand } from "../cli.ts";
import { CheckFailedError, exitCodes, UsageError } from "../exit.ts";
import { agentFolder, agentOf, agentOption } from "./ground.ts";
import { writeManifest } from "./manifest_file.ts";
import { fetchPackage } from "./probe.ts";

function text(value: string, help: string) {
  return { kind: "text", value, help } as const;
}

const options = {
  url: text("URL", "a server that is reached by Streamable HTTP, instead of a command"),
  npm: text("PACKAGE@VERSION", "a package of npm, run by Deno under permissions; ARGS are its arguments"),
  read: text("PATHS", "with --npm: files and folders that it may read, separated by commas"),
  write: text("PATHS", "with --npm: files and folders that it may write"),
  net: text("HOSTS", "with --npm: hosts that it may reach"),
  env: text(
    "NAMES",
    "variables of yours that it is given, separated by commas; their values are never written",
  ),
  force: { kind: "flag", help: "replace a declaration that is there" },
  agent: agentOption,
} as const;

/** Declares a server. */
export const command = defineCommand({
  args: ["NAME", "[ARGS...]"],
  about: [
    "Writes mcp/NAME.yaml in the agent's folder: a COMMAND with its ARGS behind --, a package of npm, or a URL. Nothing",
    "is started, and nothing is granted: agent.yaml must have mcp.connect:NAME and mcp.call:NAME among its capabilities.",
    "A package of npm is fetched at once, by deno cache; from then on its starts need no network.",
  ],
  options,
  examples: [
    "troupe mcp add docs -- docs-server --port 0",
    "troupe mcp add memory --npm @modelcontextprotocol/server-memory@2026.8.31 --read . --write .",
    "troupe mcp add wiki --url https://wiki.example/mcp --agent ./my-agent",
  ],
  run,
});

async function run({ cli, options: given, args }: Call<typeof options>): Promise<0> {
  const [server = "", ...words] = args;
  const fields = fieldsOf(given, words);
  const folder = await agentFolder(cli, given);
  const file = await writeManifest({ folder, server, fields, force: given.force });
  const { out, err } = cli.terminal;
  out.line(`Wrote ${file}`);
  const manifest = McpManifest.parse(fields);
  if (manifest.transport === "stdio" && manifest.run !== undefined) {
    const why = await fetchPackage(cli, { loaded: { server, manifest, folder, origin: file } });
    if (why !== undefined) throw new CheckFailedError(why.code, why.message);
    out.line(`Fetched npm:${manifest.run.npm} into Deno's cache (deno cache)`);
  }
  for (const line of await missing(cli, agentOf(given), server)) err.line(line);
  err.line(
    `Look at it with troupe mcp check ${server}, then let it start unasked with troupe mcp trust ${server}`,
  );
  return exitCodes.ok;
}

/** The manifest that the options ask for, with nothing in it that is a default. */
function fieldsOf(given: Call<typeof options>["options"], words: readonly string[]): object {
  const ways = [given.url, given.npm].filter((way) => way !== undefined).length +
    (given.npm === undefined && words.length > 0 ? 1 : 0);
  if (ways !== 1) {
    const message = "Give one of a command behind --, --npm PACKAGE@VERSION, and --url URL";
    throw new UsageError(ways === 0 ? "argument_missing" : "option_invalid", message);
  }
  const env = namesIn(given.env);
  const variables = Object.fromEntries(env.map((one) => {
    const [, name = one, value] = /^([^=]*)=(.*)$/s.exec(one) ?? [];
    return [name, value ?? `\${${name}}`];
  }));
  const more = env.length === 0 ? {} : { env: variables };
  if (given.npm !== undefined) return { run: runOf(given, words), ...more };
  for (const name of ["read", "write", "net"] as const) {
    if (given[name] === undefined) continue;
    throw new UsageError("option_invalid", `--${name} is a permission of a package of npm: give --npm too`);
  }
  if (given.url === undefined) {
    const [command, ...args] = words;
    return { command, ...(args.length === 0 ? {} : { args }), ...more };
  }
  if (env.length > 0) {
    throw new UsageError("option_invalid", "--env is for a process: a URL has headers instead");
  }
  return { transport: "streamable_http", url: given.url };
}

function runOf(given: Call<typeof options>["options"], args: readonly string[]): object {
  const asked = { read: namesIn(given.read), write: namesIn(given.write), net: namesIn(given.net) };
  const permissions = Object.fromEntries(Object.entries(asked).filter(([, names]) => names.length > 0));
  return {
    npm: given.npm,
    ...(args.length === 0 ? {} : { args }),
    ...(Object.keys(permissions).length === 0 ? {} : { permissions }),
  };
}

function namesIn(text: string | undefined): readonly string[] {
  return (text ?? "").split(",").map((name) => name.trim()).filter((name) => name !== "");
}

/** What agent.yaml lacks for the server to be of use. */
async function missing(cli: Cli, agent: string, server: string): Promise<readonly string[]> {
  const [{ loadAgent }, { matchCapability }] = await Promise.all([
    import("../../host/agent_folder.ts"),
    import("../../../actors/policy/capability.ts"),
  ]);
  const { definition: { capabilities } } = await loadAgent(agent, { cwd: cli.cwd, digest: cli.seams.digest });
  const lacks = [
    ...(connectRefusal(server, capabilities) === undefined ? [] : [`mcp.connect:${server}`]),
    ...(matchCapability(capabilities, `mcp.call:${server}`) === undefined ? [`mcp.call:${server}`] : []),
  ];
  return lacks.length === 0 ? [] : [`Add to capabilities in agent.yaml: ${lacks.join(", ")}`];
}
