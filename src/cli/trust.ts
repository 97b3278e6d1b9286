/** `troupe trust`. */
import type { LoadedAgent } from "../host/agent_folder.ts";
import type { LoadedServer } from "../host/declare.ts";
import { isAbsolute, readHostSettings, workspaceFolder } from "../host/home.ts";
import { pinFolder, PinStore } from "../host/pins.ts";
import { type GivenTrust, type TrustedServer, trustFile, TrustStore } from "../host/trust.ts";
import { show } from "./trust_shown.ts";
import type { LookedAtTools } from "./trust_tools.ts";
import { type Cli, defineCommand, jsonOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { jsonLine } from "./json_line.ts";
import { printTable, timeText } from "./table.ts";
import { safeText } from "./terminal.ts";

/** Answers that come faster were typed before the question was read, in milliseconds. */
const readingMs = 150;

/** Shows and changes what is trusted. */
export const command = defineCommand({
  args: ["[AGENT]"],
  about: [
    "Shows which MCP servers are started without a question, and which tools of agents' folders may be run, or,",
    "with AGENT, those of that folder, and trusts them once you say so. A tool is asked what it is without any right.",
    "Trust is for what was shown: a server that would be started in another way is asked about again, and a tool",
    "whose file was changed is not run. A server may load what lies in the workspace, so trust in it is for one",
    "workspace, but for troupe's own.",
    "Agents that come with troupe need no trust.",
    "The list is $TROUPE_TRUST, or troupe/trusted.json in the user's data folder.",
  ],
  options: {
    workspace: {
      kind: "text",
      value: "FOLDER",
      help: "the workspace that they are trusted for; default: that of troupe run",
    },
    yes: { kind: "flag", short: "y", help: "trust the agent's servers without asking" },
    remove: { kind: "flag", help: "trust no server of the agent's folder any more" },
    json: jsonOption,
  },
  examples: [
    "troupe trust",
    "troupe trust ./my-agent",
    "troupe trust ./my-agent --yes --json",
    "troupe trust ./my-agent --remove",
  ],
  run: async ({ cli, options, args }) => {
    const store = openStore(cli);
    const [name] = args;
    if (name === undefined) {
      if (options.yes || options.remove) {
        throw new UsageError("argument_missing", "troupe trust needs AGENT for that: name a folder");
      }
      const { listTools } = await import("./trust_tools.ts");
      const tools = await listTools(cli, options.json);
      listAll(cli, await store.list(), { json: options.json, tools });
    } else if (options.remove) {
      if (options.yes) {
        throw new UsageError(
          "option_invalid",
          "--yes trusts and --remove takes trust away: give one of them",
        );
      }
      await remove(cli, { store, name, json: options.json });
    } else await trustAgent(cli, { store, name, ...options });
    return exitCodes.ok;
  },
});

/** Opens the file of what is trusted. */
export function openStore(cli: Cli): TrustStore {
  const path = trustFile(cli.env);
  if (path !== undefined) return new TrustStore(path);
  const message = "Cannot tell where trust is kept: no home folder is known; name a file in TROUPE_TRUST";
  throw new UsageError("trust_unplaced", message);
}

function listAll(
  cli: Cli,
  trusted: readonly TrustedServer[],
  { json, tools }: { readonly json: boolean; readonly tools: number },
): void {
  const { out, err } = cli.terminal;
  if (json) { for (const one of trusted) out.line(jsonLine(one)); }
  else if (trusted.length === 0 && tools === 0) {
    err.line("Nothing is trusted: troupe trust AGENT looks at the servers of an agent");
  } else if (trusted.length > 0) {
    printTable(
      cli.terminal,
      ["SERVER", "TRUSTED", "AS", "FINGERPRINT", "FOLDER"],
      trusted.map((
        { server, at, level = "third_party", fingerprint, folder },
      ) => [server, timeText(at), level, short(fingerprint), folder]),
    );
  }
}

interface RemoveOptions {
  readonly store: TrustStore;
  readonly name: string;
  readonly json: boolean;
}

async function remove(cli: Cli, { store, name, json }: RemoveOptions): Promise<void> {
  const folder = await folderOf(name, cli.cwd);
  // Whoever is trusted again is a stranger: what was approved of its tools goes with the trust.
  const pins = new PinStore(pinFolder(trustFile(cli.env)));
  for (const one of await store.list()) if (one.folder === folder) await pins.remove(one.fingerprint);
  const { openTools } = await import("./trust_tools.ts");
  const [servers, tools] = [await store.remove(folder), await openTools(cli).remove(folder)];
  const removed = servers + tools;
  const { out } = cli.terminal;
  if (json) out.line(jsonLine({ folder, removed }));
  else if (removed === 0) out.line(safeText(`Nothing of ${folder} was trusted`));
  else {out.line(
      safeText(
        `${countOf(servers, tools)} of ${folder} ${removed === 1 ? "is" : "are"} not trusted any more`,
      ),
    );}
}

/** The folder that a name means. The agent need not be sound, nor be there: its trust can be taken away. */
async function folderOf(name: string, cwd: string): Promise<string> {
  const path = isAbsolute(name) ? name : `${cwd}/${name}`;
  const plain = path.replace(/(?<=[^/\\])[/\\]+$/, "");
  try {
    const real = await Deno.realPath(plain);
    return (await Deno.stat(real)).isFile ? real.replace(/[/\\][^/\\]*$/, "") : real;
  } catch {
    return plain.replaceAll(/[/\\]\.(?=[/\\]|$)/g, "").replace(/[/\\]agent\.yaml$/, "");
  }
}

/** A server that may be trusted. */
export interface Candidate extends TrustedServer {
  readonly level: GivenTrust;
  readonly loaded: LoadedServer;
  readonly isTrusted: boolean;
  /** How far it was trusted so far. */
  readonly before: GivenTrust;
}

/** What of an agent is trusted, and where. */
export interface TrustOptions extends RemoveOptions {
  readonly yes: boolean;
  readonly workspace: string | undefined;
  /** The server that alone is meant. */
  readonly only?: string;
  /** How far it is trusted. Default: as far as it was, or as a third party's. */
  readonly level?: GivenTrust | undefined;
}

/** Shows the servers of an agent, asks, and trusts exactly what was shown. */
export async function trustAgent(cli: Cli, options: TrustOptions): Promise<void> {
  const { store, yes, json } = options;
  const workspace = await realWorkspace(cli, options.workspace);
  const { home, candidates } = await candidatesOf(cli, options, workspace);
  const own = await import("./trust_tools.ts");
  const isFolder = home.kind === "folder" && options.only === undefined;
  const tools = isFolder ? await own.lookAtTools(cli, home.path, options.level) : own.noTools;
  const { out, err } = cli.terminal;
  if (!json) show(cli, candidates, workspace);
  if (!json) own.showTools(cli, tools);
  const isNeeded = candidates.some(({ isTrusted, level, before }) => !isTrusted || level !== before) ||
    tools.candidates.some(({ isTrusted }) => !isTrusted);
  if (isNeeded && !yes && !(await ask(cli, tools))) return err.line("Nothing was trusted");
  const trusted = candidates.map(({ fingerprint, server, folder, at, level }) => {
    return { fingerprint, server, folder, at, level };
  });
  if (isNeeded && trusted.length > 0) await store.add(trusted);
  if (isNeeded) await own.trustTools(cli, tools);
  const count = candidates.length + tools.candidates.length;
  if (json) {
    for (const one of trusted) out.line(jsonLine(one));
    own.printTools(cli, tools);
  } else if (count === 0) out.line("The agent has no MCP servers that need trust");
  else {
    const words = isNeeded ? "Trusted" : "Trusted already";
    out.line(
      `${words}: ${
        countOf(candidates.length, tools.candidates.length)
      }; what would be started in another way, or was changed, is asked about again`,
    );
  }
}

async function realWorkspace(cli: Cli, asked: string | undefined): Promise<string> {
  const settings = await readHostSettings(cli.env);
  const folder = workspaceFolder(asked, { env: cli.env, settings, cwd: cli.cwd });
  try {
    return await Deno.realPath(isAbsolute(folder) ? folder : `${cli.cwd}/${folder}`);
  } catch {
    throw new UsageError("workspace_invalid", `Cannot use "${folder}" as workspace: there is no such folder`);
  }
}

async function candidatesOf(
  cli: Cli,
  { store, name, only, level }: Pick<TrustOptions, "store" | "name" | "only" | "level">,
  workspace: string,
): Promise<{ readonly home: LoadedAgent["home"]; readonly candidates: readonly Candidate[] }> {
  const { digest, clock } = cli.seams;
  const [{ loadAgent }, { fingerprintOf }] = await Promise.all([
    import("../host/agent_folder.ts"),
    import("../host/declare.ts"),
  ]);
  const agent = await loadAgent(name, { cwd: cli.cwd, digest });
  // The servers of an agent that comes with troupe are ours.
  const servers = agent.home.kind === "folder"
    ? agent.servers.filter(({ server }) => server === (only ?? server))
    : [];
  const known = new Map((await store.list()).map((one) => [one.fingerprint, one]));
  const candidates = await Promise.all(servers.map(async (loaded) => {
    const { server, folder } = loaded;
    const fingerprint = await fingerprintOf(loaded, { digest, workspace });
    const before = known.get(fingerprint);
    return {
      fingerprint,
      server,
      folder,
      at: before?.at ?? clock.now(),
      level: level ?? before?.level ?? "third_party",
      before: before?.level ?? "third_party",
      loaded,
      isTrusted: before !== undefined,
    };
  }));
  return { home: agent.home, candidates };
}

async function ask(cli: Cli, { candidates }: LookedAtTools): Promise<boolean> {
  const what = candidates.length === 0
    ? "Start these servers without asking from now on?"
    : "Trust all of this from now on?";
  if (cli.terminal.canAsk) return await askPerson(cli, what);
  const message = "Nobody can be asked here whether these may be trusted: look at them, then give --yes";
  throw new UsageError("trust_needs_answer", message);
}

/** Asks the person at the terminal. Silence and the end of input are no consent. */
export async function askPerson({ terminal, seams: { clock } }: Cli, question: string): Promise<boolean> {
  const { err } = terminal;
  const never = new AbortController().signal;
  for (;;) {
    err.write(`${question} ${err.style.bold("y")} yes, ${err.style.bold("n")} no: `);
    const shownAt = clock.now();
    const line = await terminal.readLine(never);
    const given = line?.trim().toLowerCase();
    if (given === undefined || given === "n" || given === "no") return false;
    if ((given === "y" || given === "yes") && clock.now() - shownAt >= readingMs) return true;
  }
}

function short(fingerprint: string): string {
  return fingerprint.slice("sha256:".length).slice(0, 12);
}

function countOf(servers: number, tools: number): string {
  const named = [
    servers === 1 ? "1 server" : `${servers} servers`,
    tools === 1 ? "1 tool" : `${tools} tools`,
  ];
  if (tools === 0 || servers === 0) return named[tools === 0 ? 0 : 1] ?? "";
  return named.join(" and ");
}
