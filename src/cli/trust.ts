/** `troupe trust`. */
import { authText } from "../../schemas/mcp_auth.ts";
import type { LoadedServer } from "../host/declare.ts";
import { isAbsolute, readHostSettings, workspaceFolder } from "../host/home.ts";
import { pinFolder, PinStore } from "../host/pins.ts";
import { permissionRows } from "../host/npm_paths.ts";
import { type GivenTrust, type TrustedServer, trustFile, TrustStore } from "../host/trust.ts";
import { visible } from "../tools/visible.ts";
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
    "Shows which MCP servers are started without a question, or, with AGENT, the servers of that folder, and trusts",
    "them once you say so. Trust is for what was shown: a server that would be started in another way is asked",
    "about again. A server may load what lies in the workspace, so trust is for one workspace, but for troupe's own.",
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
      listAll(cli, await store.list(), options.json);
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

function listAll(cli: Cli, trusted: readonly TrustedServer[], json: boolean): void {
  const { out, err } = cli.terminal;
  if (json) { for (const one of trusted) out.line(jsonLine(one)); }
  else if (trusted.length === 0) {
    err.line("Nothing is trusted: troupe trust AGENT looks at the servers of an agent");
  } else {
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
  const removed = await store.remove(folder);
  const { out } = cli.terminal;
  if (json) out.line(jsonLine({ folder, removed }));
  else if (removed === 0) out.line(safeText(`Nothing of ${folder} was trusted`));
  else {out.line(
      safeText(`${countOf(removed)} of ${folder} ${removed === 1 ? "is" : "are"} not trusted any more`),
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

interface Candidate extends TrustedServer {
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
  const candidates = await candidatesOf(cli, options, workspace);
  const { out, err } = cli.terminal;
  if (!json) show(cli, candidates, workspace);
  const isNeeded = candidates.some(({ isTrusted, level, before }) => !isTrusted || level !== before);
  if (isNeeded && !yes && !(await ask(cli))) return err.line("Nothing was trusted");
  const trusted = candidates.map(({ fingerprint, server, folder, at, level }) => {
    return { fingerprint, server, folder, at, level };
  });
  if (isNeeded) await store.add(trusted);
  if (json) { for (const one of trusted) out.line(jsonLine(one)); }
  else if (candidates.length === 0) out.line("The agent has no MCP servers that need trust");
  else {
    const words = isNeeded ? "Trusted" : "Trusted already";
    out.line(
      `${words}: ${countOf(candidates.length)}; what would be started in another way is asked about again`,
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
): Promise<readonly Candidate[]> {
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
  return await Promise.all(servers.map(async (loaded) => {
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
}

function show(cli: Cli, candidates: readonly Candidate[], workspace: string): void {
  const { out } = cli.terminal;
  for (const { server, loaded: { manifest, origin, folder }, isTrusted, before } of candidates) {
    const trust = isTrusted ? `trusted as ${before}` : "not trusted";
    const state = [trust, ...(manifest.enabled ? [] : ["off"])].join(", ");
    out.line(`${out.style.bold(server)} (${state})`);
    for (const [label, text] of linesOf(manifest, workspace)) {
      out.line(`  ${label.padEnd(8)} ${visible(text)}`);
    }
    out.line(`  file     ${visible(`${folder}/${origin}`)}`);
  }
}

/** What a server's start depends on, for people. Values of variables and headers may be secrets: only names are shown. */
function linesOf(
  manifest: LoadedServer["manifest"],
  workspace: string,
): readonly (readonly [label: string, text: string])[] {
  const calls = ["calls", `risk ${manifest.risk}, approval ${manifest.approval_policy}`] as const;
  const names = (label: string, values: object) => {
    const keys = Object.keys(values);
    return keys.length === 0 ? [] : [[label, keys.join(", ")] as const];
  };
  if (manifest.transport === "stdio") {
    const { command = "", args, cwd, env, run } = manifest;
    return [
      ...(run === undefined ? [["command", [command, ...args].map(quoted).join(" ")] as const] : [
        ["npm", [run.npm, ...run.args].map(quoted).join(" ")] as const,
        ...permissionRows(run).filter(([, text]) => text !== ""),
      ]),
      ["cwd", command === "troupe" ? "the workspace" : cwd === undefined ? workspace : `${workspace}/${cwd}`],
      ...names("env", env),
      calls,
    ];
  }
  const auth = manifest.auth === undefined ? [] : [["auth", authText(manifest.auth)] as const];
  return [["url", withoutLogin(manifest.url)], ...names("headers", manifest.headers), ...auth, calls];
}

/** One argument, so that its beginning and its end can be seen. */
function quoted(text: string): string {
  return /^[\w./@%+=:,-]+$/.test(text) ? text : JSON.stringify(text);
}

function withoutLogin(url: string): string {
  const parsed = new URL(url);
  [parsed.username, parsed.password] = ["", ""];
  return parsed.href;
}

async function ask(cli: Cli): Promise<boolean> {
  if (cli.terminal.canAsk) return await askPerson(cli, "Start these servers without asking from now on?");
  const message =
    "Nobody can be asked here whether these servers may be started: look at them, then give --yes";
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

function countOf(servers: number): string {
  return servers === 1 ? "1 server" : `${servers} servers`;
}
