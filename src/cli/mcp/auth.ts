/** `troupe mcp auth`. */
import { failure } from "../../../schemas/failure.ts";
import type { HttpManifest, McpDeclaration } from "../../../schemas/manifest.ts";
import { referencesOf } from "../../../schemas/mcp_auth.ts";
import type { HostSettings } from "../../host/home.ts";
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
import { agentOption, type Grounds, readGrounds, serverOf, workspaceOption } from "./ground.ts";

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
    const trusted = trustFile(cli.env);
    if (trusted === undefined) {
      const message =
        "Cannot tell where logins are kept: no home folder is known; name a file in TROUPE_TRUST";
      throw new UsageError("trust_unplaced", message);
    }
    const place = await placeOf(cli, await readGrounds(cli, options), name, options);
    const known = new KnownSecrets();
    const keepSecret = (label: string, value: string) => {
      const added = known.add({ name: label, value, source: "bound" });
      return added === "added" || added === "known";
    };
    const { clock, digest } = cli.seams;
    const store = new TokenStore({ folder: credentialsFolder(trusted), keepSecret, clock, digest });
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
  readonly readSecret: ReadSecret;
}

interface Work {
  readonly place: Place;
  readonly store: TokenStore;
  readonly json: boolean;
}

async function placeOf(
  cli: Cli,
  grounds: Grounds,
  name: string,
  { logout }: { readonly logout: boolean },
): Promise<Place> {
  const { loaded: { server, manifest }, declaration } = serverOf(grounds, name);
  if (manifest.transport !== "streamable_http") {
    const message =
      `The server "${server}" is a program on this machine: only servers reached by HTTP have a login`;
    throw new UsageError("server_not_http", message);
  }
  if (referencesOf(manifest.auth).length > 0 && !logout) checkMayUse(declaration, grounds.workspace);
  const { settings } = grounds;
  return { server, manifest, settings, readSecret: await secretsFor(cli, settings) };
}

/** A folder is data until it is trusted: what it names as a secret is read only under the rules of a run (DM-67). */
function checkMayUse({ server, gate, problem }: McpDeclaration, workspace: string): void {
  if (problem !== undefined) throw new RefusedError(problem.code, problem.message);
  if (gate === "granted") return;
  const why = gate === "denied"
    ? "the policy of this host forbids connecting"
    : `its manifest names secrets, and it is not trusted for the workspace "${workspace}": look at it with ` +
      "troupe trust AGENT, then log in";
  const { code, message } = failure("mcp_connect_denied", `Cannot log in to "${server}": ${why}`);
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
