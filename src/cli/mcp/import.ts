/** `troupe mcp import`. */
import { limits } from "../../../schemas/limits.ts";
import { defineCommand, jsonOption } from "../cli.ts";
import { CheckFailedError, exitCodes, UsageError } from "../exit.ts";
import { isAbsolute } from "../../host/home.ts";
import { jsonLine } from "../json_line.ts";
import { safeText } from "../terminal.ts";
import { agentFolder, agentOption } from "./ground.ts";
import { type Foreign, foreignServers } from "./foreign_servers.ts";
import { writeManifest } from "./manifest_file.ts";

/** Largest file that is read, in bytes. */
const fileBytesMax = 1_048_576;

/** Takes servers over from another host's file. */
export const command = defineCommand({
  args: ["FILE"],
  about: [
    'Reads the servers of a JSON file of another host, under "mcpServers" or "servers", and writes mcp/<server>.yaml for',
    "each. Names become ids of servers. A value of env or of headers that is or may be a secret is not written: its place",
    "takes ${NAME}, and a line says what to set. What cannot be taken over is said line by line; exit code 1 if a server",
    "was left out. Nothing is started and nothing is granted.",
  ],
  options: {
    force: { kind: "flag", help: "replace declarations that are there" },
    agent: agentOption,
    json: jsonOption,
  },
  examples: [
    "troupe mcp import .mcp.json",
    "troupe mcp import ~/.cursor/mcp.json --agent ./my-agent",
  ],
  run: async ({ cli, options: { agent, force, json }, args: [name = ""] }) => {
    const folder = await agentFolder(cli, { agent });
    const file = isAbsolute(name) ? name : `${cli.cwd}/${name}`;
    const { out } = cli.terminal;
    const servers = foreignServers(await readJsonFile(file, name));
    let left = 0;
    for (const foreign of servers) {
      const { told, written } = await take(foreign, { folder, force });
      if (written === undefined) left += 1;
      if (json) {
        out.line(jsonLine({ name: foreign.name, server: foreign.server, file: written ?? null, told }));
      } else {
        out.line(safeText(written === undefined ? `Left out ${foreign.name}` : `Wrote ${written}`));
        for (const line of told) out.line(safeText(`  ${line}`));
      }
    }
    if (left === 0) return exitCodes.ok;
    const what = `${left} of ${servers.length} servers`;
    throw new CheckFailedError("import_incomplete", `${what} could not be taken over: see above`);
  },
});

interface Taken {
  readonly told: readonly string[];
  /** Where the manifest was written, if it was. */
  readonly written: string | undefined;
}

async function take(
  { server, fields, told }: Foreign,
  { folder, force }: { readonly folder: string; readonly force: boolean },
): Promise<Taken> {
  if (fields === undefined) return { told, written: undefined };
  try {
    return { told, written: await writeManifest({ folder, server, fields, force }) };
  } catch (error) {
    const isExpected = error instanceof UsageError ||
      (error instanceof Error && error.name === "ConfigError");
    if (!isExpected) throw error;
    return { told: [...told, (error as Error).message], written: undefined };
  }
}

async function readJsonFile(file: string, name: string): Promise<unknown> {
  const refuse = (why: string) =>
    new UsageError("import_invalid", `Cannot read ${JSON.stringify(name)}: ${why}`);
  let text: string;
  try {
    if ((await Deno.stat(file)).size > fileBytesMax) throw refuse(`it has more than ${fileBytesMax} bytes`);
    text = await Deno.readTextFile(file);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw refuse(error instanceof Deno.errors.NotFound ? "there is no such file" : "it cannot be read");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse("it is not JSON; take comments and commas at the ends of lists out");
  }
  const count = foreignServers(value).length;
  if (count === 0) throw refuse('it has no servers under "mcpServers" or "servers"');
  if (count > limits.mcpServersPerSessionMax) {
    throw refuse(`it has ${count} servers, at most ${limits.mcpServersPerSessionMax} fit an agent`);
  }
  return value;
}
