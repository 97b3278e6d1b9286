/** `troupe mcp auth`. */
import { failure } from "../../../schemas/failure.ts";
import type { HttpManifest } from "../../../schemas/manifest.ts";
import { referencesOf } from "../../../schemas/mcp_auth.ts";
import type { LoadedAgent } from "../../host/agent_folder.ts";
import { type HostSettings, isAbsolute, readHostSettings, workspaceFolder } from "../../host/home.ts";
import { trustFile } from "../../host/trust.ts";
import type { ReadSecret } from "../../mcp/oauth/client_secrets.ts";
import { endpointOf } from "../../mcp/oauth/server_authorization.ts";
import type { TokenRecord } from "../../mcp/oauth/token_record.ts";
import { credentialsFolder, TokenStore } from "../../mcp/oauth/token_store.ts";
import { KnownSecrets } from "../../redact/known_secrets.ts";
import { type Cli, defineCommand, jsonOption } from "../cli.ts";
import { exitCodes, InterruptedError, UsageError } from "../exit.ts";
import { jsonLine } from "../json_line.ts";
import { withProgress } from "../progress.ts";
import { timeText } from "../table.ts";
import { safeText } from "../terminal.ts";
import { agentOption, workspaceOption } from "./ground.ts";

/** Logs in to a server, or out. */
export const command = defineCommand({
  args: ["NAME"],
  about: [
    "Logs in to an MCP server that is reached by HTTP, by OAuth: shows the page to open in a browser and waits until you",
    "come back from it. A run never does that by itself: it says when a server asks for a login, and uses the one that",
    "was made here. A client with grant: client_credentials in its manifest needs no browser.",
    "Logins are kept in the folder credentials beside the list of what is trusted, for your eyes alone. --logout forgets",
    "the login here; what was given out counts at the server until it ends.",
  ],
  options: {
    agent: agentOption,
    workspace: workspaceOption,
    logout: { kind: "flag", help: "forget the login" },
    json: jsonOption,
  },
  examples: [
    "troupe mcp auth docs",
    "troupe mcp auth docs --agent ./my-agent",
    "troupe mcp auth docs --logout",
  ],
  run: async ({ cli, options, args: [name = ""] }) => {
    const place = await placeOf(cli, name, options);
    const known = new KnownSecrets();
    const keepSecret = (label: string, value: string) => {
      const added = known.add({ name: label, value, source: "bound" });
      return added === "added" || added === "known";
    };
    const { clock, digest } = cli.seams;
    const store = new TokenStore({ folder: credentialsFolder(place.trust), keepSecret, clock, digest });
    if (options.logout) await logOut(cli, { place, store, json: options.json });
    else await logIn(cli, { place, store, json: options.json });
    return exitCodes.ok;
  },
});

/** One server, and where what is known of it stands. */
interface Place {
  readonly server: string;
  readonly manifest: HttpManifest;
  readonly settings: HostSettings;
  /** The file of what is trusted. */
  readonly trust: string;
  readonly readSecret: ReadSecret;
}

interface Work {
  readonly place: Place;
  readonly store: TokenStore;
  readonly json: boolean;
}

interface Asked {
  readonly agent: string | undefined;
  readonly workspace: string | undefined;
  readonly logout: boolean;
}

async function placeOf(cli: Cli, name: string, asked: Asked): Promise<Place> {
  const { loadAgent } = await import("../../host/agent_folder.ts");
  const settings = await readHostSettings(cli.env);
  const agent = await loadAgent(asked.agent ?? ".", { cwd: cli.cwd, digest: cli.seams.digest });
  const found = agent.servers.find(({ server }) => server === name);
  if (found === undefined) {
    const names = agent.servers.map(({ server }) => server).join(", ");
    const known = names === "" ? "it has none" : `there are: ${names}`;
    throw new UsageError("server_unknown", `The agent has no server ${JSON.stringify(name)}: ${known}`);
  }
  const { manifest } = found;
  if (manifest.transport !== "streamable_http") {
    const message =
      `The server "${name}" is a program on this machine: only servers reached by HTTP have a login`;
    throw new UsageError("server_not_http", message);
  }
  const trust = trustFile(cli.env);
  if (trust === undefined) {
    const message = "Cannot tell where logins are kept: no home folder is known; name a file in TROUPE_TRUST";
    throw new UsageError("trust_unplaced", message);
  }
  const hasSecrets = referencesOf(manifest.auth).length > 0;
  if (hasSecrets && !asked.logout) await checkMayUse(cli, { agent, name, settings, trust, asked });
  return { server: name, manifest, settings, trust, readSecret: await secretsFor(cli, settings) };
}

interface Use {
  readonly agent: LoadedAgent;
  readonly name: string;
  readonly settings: HostSettings;
  readonly trust: string;
  readonly asked: Asked;
}

/** A folder is data until it is trusted: what it names as a secret is read only under the rules of a run (DM-67). */
async function checkMayUse(cli: Cli, { agent, name, settings, trust, asked }: Use): Promise<void> {
  const { Declarer } = await import("../../host/declarer.ts");
  const { policy, secrets } = settings.config;
  const folder = workspaceFolder(asked.workspace, { env: cli.env, settings, cwd: cli.cwd });
  const workspace = await Deno.realPath(isAbsolute(folder) ? folder : `${cli.cwd}/${folder}`);
  const names = new Set(Object.keys(secrets));
  const declarer = new Declarer({ policy, digest: cli.seams.digest, secrets: names, trustFile: trust });
  const home = { agent: agent.home, workspace };
  const declarations = await declarer.declare(home, agent.servers, agent.definition.capabilities);
  const declared = declarations.find(({ server }) => server === name);
  if (declared?.problem !== undefined) {
    throw new RefusedError(declared.problem.code, declared.problem.message);
  }
  if (declared?.gate === "granted") return;
  const why = declared?.gate === "denied"
    ? "the policy of this host forbids connecting"
    : "its manifest names secrets, and it is not trusted: look at it with troupe trust AGENT, then log in";
  const { code, message } = failure("mcp_connect_denied", `Cannot log in to "${name}": ${why}`);
  throw new RefusedError(code, message);
}

/** What policy does not let happen. */
class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

async function secretsFor(cli: Cli, settings: HostSettings): Promise<ReadSecret> {
  const { readSecrets } = await import("../../host/secrets.ts");
  const secrets = await readSecrets(settings.config.secrets, cli.env);
  const values = new Map(secrets.map(({ name, value }) => [name, value]));
  return (name) => values.has(name) ? values.get(name) : cli.env(name);
}

async function logOut(cli: Cli, { place: { server, manifest }, store, json }: Work): Promise<void> {
  const { forget } = await import("../../mcp/oauth/login.ts");
  const forgotten = await forget(store, endpointOf(manifest));
  const { out } = cli.terminal;
  if (json) out.line(jsonLine({ server, forgotten }));
  else out.line(forgotten === 0 ? `There was no login for ${server}` : `Forgot the login for ${server}`);
}

async function logIn(cli: Cli, { place, store, json }: Work): Promise<void> {
  const [{ logIn: login }, { GuardedClient }, { UrlPolicy }] = await Promise.all([
    import("../../mcp/oauth/login.ts"),
    import("../../net/guarded_client.ts"),
    import("../../net/url_policy.ts"),
  ]);
  const { server, manifest, settings, readSecret } = place;
  const { seams, terminal: { out, err } } = cli;
  const leaving = new AbortController();
  const stop = cli.onInterrupt(() => leaving.abort(new InterruptedError("Left before the login was made")));
  const client = new GuardedClient({ policy: new UrlPolicy(settings.config.network), clock: seams.clock });
  const show = ({ url, issuer }: { readonly url: string; readonly issuer: string }) => {
    if (json) return out.line(jsonLine({ server, issuer, open: url }));
    err.line(safeText(`Open this page in a browser to log in to ${server} at ${issuer}:`));
    err.line(`  ${safeText(url)}`);
  };
  try {
    const record = await withProgress(
      cli,
      `waiting for the login to ${server}`,
      () => login({ manifest, fetch: client.fetch, store, seams, readSecret, show, signal: leaving.signal }),
    );
    tell(cli, { server, record, json });
  } finally {
    stop();
    client.close();
  }
}

interface Told {
  readonly server: string;
  readonly record: TokenRecord;
  readonly json: boolean;
}

/** What a login is, without anything of its tokens. */
function tell({ terminal: { out } }: Cli, { server, record, json }: Told): void {
  const { issuer, resource, scopes, client, expires_at: expiresAt, refresh_token, grant } = record;
  const renews = refresh_token !== undefined || grant === "client_credentials";
  if (json) {
    const ends = expiresAt === undefined ? {} : { expires_at: expiresAt };
    return out.line(jsonLine({ server, issuer, resource, client_id: client.id, scopes, renews, ...ends }));
  }
  out.line(safeText(`Logged in to ${server} at ${issuer}`));
  out.line(safeText(`  rights   ${scopes.length === 0 ? "not said" : scopes.join(" ")}`));
  const end = expiresAt === undefined ? "not said" : timeText(expiresAt);
  out.line(`  ends     ${renews ? "renewed by itself" : end}`);
}
