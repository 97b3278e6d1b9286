/** `troupe init`. */
import { AgentName } from "../../schemas/agent.ts";
import { loadAgent } from "../host/agent_folder.ts";
import { fingerprintOf } from "../host/declare.ts";
import { type Env, isAbsolute } from "../host/home.ts";
import { sourceFolder } from "../host/source_folder.ts";
import { trustFile, TrustStore } from "../host/trust.ts";
import { agentFiles, type TemplateFile, templateServer } from "../templates/agent_folder.ts";
import { type Cli, defineCommand, jsonOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { jsonLine } from "./json_line.ts";
import { safeText } from "./terminal.ts";

/** Where a new agent lies if nobody says where. */
const folderDefault = "./my-agent";
const nameCharactersMax = 48;

/** Makes the folder of a new agent. */
export const command = defineCommand({
  args: ["[FOLDER]"],
  about: [
    `Makes a folder with an agent that runs at once, without a key; without FOLDER it is ${folderDefault}. It has an`,
    "agent.yaml, an MCP server in mcp/files.yaml, and a script that stands for its model. Files that exist are never",
    "replaced without --force. You made it, so its server is trusted: see troupe trust.",
  ],
  options: {
    name: { kind: "text", value: "NAME", help: "name of the agent; default: made of the folder's name" },
    force: { kind: "flag", help: "replace those files of the folder that this command writes" },
    json: jsonOption,
  },
  examples: ["troupe init", "troupe init ./agents/reader --name reader"],
  run: async ({ cli, options, args }) => {
    const shown = shownFolder(args[0] ?? folderDefault);
    const folder = isAbsolute(shown) ? shown : `${cli.cwd}/${shown}`;
    const name = await agentName(options.name, { folder, shown });
    const files = agentFiles(name);
    const place = { folder, shown, force: options.force, nextId: cli.seams.nextId };
    const isTrusted = await writeAll(files, place, () => trust(cli, shown));
    const { out } = cli.terminal;
    if (options.json) {
      out.line(jsonLine({ folder: await Deno.realPath(folder), files: files.map(({ path }) => path) }));
    } else await tell(cli, { shown, files, isTrusted });
    return exitCodes.ok;
  },
});

/** A folder as it is shown: never like an option, nor like the name of an agent that comes with troupe. */
function shownFolder(given: string): string {
  if (given === "") {
    throw new UsageError("argument_invalid", "The folder's name is empty: say where to write");
  }
  const plain = given.replace(/(?<=[^/\\:])[/\\]+$/, "");
  return isAbsolute(plain) || /^\.{1,2}([/\\]|$)/.test(plain) ? plain : `./${plain}`;
}

/** The name that was asked for, or one made of the folder's. */
async function agentName(
  asked: string | undefined,
  { folder, shown }: { readonly folder: string; readonly shown: string },
): Promise<string> {
  const checked = AgentName.safeParse(asked ?? nameFrom(await lastSegment(folder)));
  if (checked.success) return checked.data;
  const rule = checked.error.issues[0]?.message ?? "";
  if (asked !== undefined) {
    throw new UsageError("option_invalid", `Cannot name an agent ${JSON.stringify(asked)}: it ${rule}`);
  }
  const message = `Cannot make an agent's name of the folder "${shown}": write --name NAME; it ${rule}`;
  throw new UsageError("argument_invalid", message);
}

/** The last part of a path; of `.` and `..` the name of the folder that they mean. */
async function lastSegment(folder: string): Promise<string> {
  const isNamed = !/(^|[/\\])\.{1,2}$/.test(folder);
  const path = isNamed ? folder : await Deno.realPath(folder).catch(() => "");
  return path.split(/[/\\]/).at(-1) ?? "";
}

/** What of a text an agent may be called; empty if nothing is left. */
function nameFrom(text: string): string {
  const letters = text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  const dashed = letters.replaceAll(/[^a-z0-9]+/g, "-").replace(/^[^a-z]+/, "");
  return dashed.slice(0, nameCharactersMax).replace(/-+$/, "");
}

interface Place {
  readonly folder: string;
  /** The folder as it was named, for messages. */
  readonly shown: string;
  readonly force: boolean;
  readonly nextId: (prefix: string) => string;
}

/** Steps that take back what was done, and steps for when nothing is taken back any more. */
interface Ledger {
  readonly undo: (() => Promise<void>)[];
  readonly settle: (() => Promise<void>)[];
}

/** Writes all files and does `last`, or leaves everything as it was. */
async function writeAll<T>(
  files: readonly TemplateFile[],
  place: Place,
  last: () => Promise<T>,
): Promise<T> {
  for (const { path } of files) await refuseTaken(path, place);
  const ledger: Ledger = { undo: [], settle: [] };
  try {
    for (const file of files) await writeOne(file, place, ledger);
    const result = await last();
    for (const step of ledger.settle) await step().catch(() => {});
    return result;
  } catch (error) {
    // What others put there meanwhile stays: a folder that is not empty is not removed.
    for (const step of ledger.undo.reverse()) await step().catch(() => {});
    throw error;
  }
}

async function refuseTaken(path: string, { folder, shown, force }: Place): Promise<void> {
  const info = await statOf(`${folder}/${path}`);
  if (info === undefined) return;
  if (info.isDirectory) {
    throw new UsageError("file_exists", `Cannot write "${shown}/${path}": a folder has this name`);
  }
  if (force) return;
  const message =
    `Cannot write "${shown}/${path}": it exists; name another folder, or use --force to replace it`;
  throw new UsageError("file_exists", message);
}

async function writeOne(file: TemplateFile, place: Place, ledger: Ledger): Promise<void> {
  const path = `${place.folder}/${file.path}`;
  try {
    await makeFolder(path.slice(0, path.lastIndexOf("/")), ledger);
    if (place.force) await setAside(path, place, ledger);
    await Deno.writeTextFile(path, "", { createNew: true });
    ledger.undo.push(() => Deno.remove(path));
    await Deno.writeTextFile(path, file.text);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw unwritable(`${place.shown}/${file.path}`, error);
  }
}

/** Makes a folder and those above it. */
async function makeFolder(path: string, ledger: Ledger): Promise<void> {
  const info = await Deno.stat(path || "/").catch(() => undefined);
  if (info?.isDirectory) return;
  if (info !== undefined) {
    throw new UsageError("file_exists", `Cannot write below "${path}": it is no folder`);
  }
  await makeFolder(path.replace(/[/\\]*[^/\\]*[/\\]*$/, ""), ledger);
  await Deno.mkdir(path);
  ledger.undo.push(() => Deno.remove(path));
}

/** Moves a file that shall be replaced out of the way, until it is sure that nothing is taken back. */
async function setAside(path: string, { nextId }: Place, ledger: Ledger): Promise<void> {
  if (await statOf(path) === undefined) return;
  const aside = `${path}.${nextId("old")}`;
  await Deno.rename(path, aside);
  ledger.undo.push(() => Deno.rename(aside, path));
  ledger.settle.push(() => Deno.remove(aside));
}

async function statOf(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.lstat(path);
  } catch {
    return undefined;
  }
}

function unwritable(path: string, error: unknown): UsageError {
  // Somebody was faster between the look and the write.
  const isTaken = error instanceof Deno.errors.AlreadyExists;
  const reason = isTaken
    ? "something of this name exists"
    : error instanceof Error
    ? error.message
    : String(error);
  return new UsageError(isTaken ? "file_exists" : "file_unwritable", `Cannot write "${path}": ${reason}`);
}

/** Trusts the server that was just written, and no other of the folder. False if there is no place to remember it. */
async function trust(cli: Cli, shown: string): Promise<boolean> {
  const { digest, clock } = cli.seams;
  const { servers } = await loadAgent(shown, { cwd: cli.cwd, digest });
  const path = trustFile(cli.env);
  if (path === undefined) return false;
  const ours = servers.filter(({ server }) => server === templateServer);
  await new TrustStore(path).add(
    await Promise.all(ours.map(async (one) => ({
      // A server of our own depends on no workspace.
      fingerprint: await fingerprintOf(one, { digest, workspace: "" }),
      server: one.server,
      folder: one.folder,
      at: clock.now(),
    }))),
  );
  return true;
}

interface Made {
  readonly shown: string;
  readonly files: readonly TemplateFile[];
  readonly isTrusted: boolean;
}

/** Says what was written, and what to type next. */
async function tell(cli: Cli, { shown, files, isTrusted }: Made): Promise<void> {
  const { out } = cli.terminal;
  const troupe = await ownCommand(cli);
  const folder = shellWord(shown);
  out.line(safeText(`Wrote ${files.map(({ path }) => `${shown}/${path}`).join(", ")}`));
  out.line(
    isTrusted
      ? `Its MCP server "${templateServer}" is trusted, since you made it: ${troupe} trust shows what is`
      : `No home folder is known, so a run will ask before it starts the MCP server "${templateServer}"`,
  );
  out.line("");
  out.line(out.style.bold("Next"));
  out.line(safeText(`  ${troupe} run ${folder} "What is in here?" --workspace ${folder}`));
  const [log, replay] = [`  ${troupe} log last`, `  ${troupe} replay last`].map(safeText);
  out.line(`${log}     ${out.style.dim("# the journal, entry by entry")}`);
  out.line(`${replay}  ${out.style.dim("# the same entries, fed to the machines again and compared")}`);
}

/** How this very program is called from a shell here. */
async function ownCommand({ cwd, env }: Cli): Promise<string> {
  const source = sourceFolder();
  if (Deno.build.standalone) return await nameOnPath("troupe", env);
  if (source === undefined) return "troupe";
  const deno = env("npm_lifecycle_event") === "npx"
    ? `npx -y deno@${Deno.version.deno}`
    : await nameOnPath("deno", env);
  return cwd === source ? `${deno} task troupe` : `${deno} run -A ${shellWord(`${source}/main.ts`)}`;
}

/** The name of the running program if the shell finds it by that, else its path. */
async function nameOnPath(name: string, env: Env): Promise<string> {
  const own = Deno.execPath();
  const isWindows = Deno.build.os === "windows";
  const places = (env("PATH") ?? "").split(isWindows ? ";" : ":").filter((place) => place !== "");
  for (const place of places) {
    const found = await Deno.realPath(`${place}/${name}${isWindows ? ".exe" : ""}`).catch(() => undefined);
    if (found !== undefined) return found === await Deno.realPath(own) ? name : shellWord(own);
  }
  return shellWord(own);
}

/** A word of a shell's command line, in quotes if it needs them. */
function shellWord(text: string): string {
  return /^[\w./@%+=:,\\-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
