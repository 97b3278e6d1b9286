/** How a transport proves to one server who we are: a header for each request, and what to do when it is refused. */
import { failure } from "../../../schemas/failure.ts";
import type { HttpManifest } from "../../../schemas/manifest.ts";
import { AuthError, authFailed, authRequired, authUnavailable, scopeInsufficient } from "./auth_error.ts";
import { type Challenge, readChallenge } from "./challenge.ts";
import { clientSecretsOf, type ReadSecret } from "./client_secrets.ts";
import { Credential, type CredentialOptions } from "./credential.ts";
import type { GuardedFetch } from "./json_answer.ts";

/** What a transport asks. Every method throws `AuthError`, whose `failure` says what to do. */
export interface ServerAuthorization {
  /** `Authorization` of the next request; undefined: it is sent without. */
  header(): Promise<string | undefined>;
  /** The server refused a request with 401. Ends well if it is worth sending once more, with a new header. */
  on401(challenge: Challenge | undefined, sent: string | undefined): Promise<void>;
  /** The server refused a request with 403 for want of rights. Ends well if it is worth sending once more. */
  on403(challenge: Challenge, sent: string | undefined): Promise<void>;
  /** The server took what was sent. */
  accepted(sent: string | undefined): void;
}

/** What it is made of, for every server. */
export interface AuthorizationOptions extends Pick<CredentialOptions, "store" | "fetch" | "clock"> {
  /** A variable of ours or a secret of the host; asked for only once connecting was approved (DM-67). */
  readonly readSecret: ReadSecret;
}

/** One server. */
export interface ProtectedServer {
  readonly server: string;
  readonly manifest: HttpManifest;
}

/** The URL by which a login belongs to a server. */
export function endpointOf({ url }: Pick<HttpManifest, "url">): string {
  const parsed = new URL(url);
  parsed.hash = "";
  return parsed.href;
}

/** What the manifest says, and what `troupe mcp auth` made. */
export function authorizationOf(
  subject: ProtectedServer,
  options: AuthorizationOptions,
): ServerAuthorization {
  const { server, manifest: { auth, headers } } = subject;
  if (auth?.type === "bearer") return bearer(server, auth.token.slice(2, -1), options.readSecret);
  if (Object.keys(headers).some((name) => name.toLowerCase() === "authorization")) return fixed(server);
  const { readSecret, ...rest } = options;
  const credential = new Credential({
    ...rest,
    server,
    endpoint: endpointOf(subject.manifest),
    clientId: auth?.client_id,
    issuer: auth?.issuer,
    secrets: () => clientSecretsOf(auth, readSecret),
  });
  return oauth(server, credential);
}

function oauth(server: string, credential: Credential): ServerAuthorization {
  return {
    header: async () => {
      const token = await credential.token();
      return token === undefined ? undefined : `Bearer ${token}`;
    },
    on401: async (_, sent) => {
      if (sent === undefined && await credential.token() === undefined) throw authRequired(server, "");
      if (sent !== undefined) await credential.replace(tokenOf(sent));
    },
    on403: async ({ scopes = [] }, sent) => {
      if (sent === undefined) throw authRequired(server, "");
      await credential.widen(tokenOf(sent), scopes);
    },
    accepted: (sent) => sent === undefined ? undefined : credential.accepted(tokenOf(sent)),
  };
}

function tokenOf(header: string): string {
  return header.slice("Bearer ".length);
}

function bearer(server: string, name: string, readSecret: ReadSecret): ServerAuthorization {
  return {
    header: () => Promise.resolve(`Bearer ${requireSecret(server, name, readSecret)}`),
    on401: () =>
      Promise.reject(
        authFailed(`The server "${server}" refuses the token in ${name}: put another one there`),
      ),
    on403: ({ scopes = [] }) => Promise.reject(scopeInsufficientOf(server, name, scopes)),
    accepted: () => {},
  };
}

function scopeInsufficientOf(server: string, name: string, scopes: readonly string[]): AuthError {
  const { failure: why } = scopeInsufficient(server, scopes);
  const message = `${why.message.replace(/: run .*$/, "")}: put another one into ${name}`;
  return new AuthError({ ...why, message });
}

/** The manifest has a header of its own for this. */
function fixed(server: string): ServerAuthorization {
  const refused = () =>
    Promise.reject(authFailed(`The server "${server}" refuses the header Authorization of its manifest`));
  return { header: () => Promise.resolve(undefined), on401: refused, on403: refused, accepted: () => {} };
}

function requireSecret(server: string, name: string, readSecret: ReadSecret): string {
  const value = readSecret(name) ?? "";
  if (/^[\x21-\x7e]+$/.test(value)) return value;
  const problem = value === "" ? "is not set" : "holds what no header can carry";
  const message =
    `The server "${server}" is left out: its manifest names ${name}, which ${problem}; set it and try again`;
  throw new AuthError({ ...failure("mcp_variable_missing", message), classification: "authorization" });
}

/**
 * A fetch that proves who we are, and asks once more where that helps: once after 401, once after 403. Only the server's
 * own origin is sent anything; what cannot be sent twice is not.
 */
export function authorizedFetch(
  fetch: GuardedFetch,
  authorization: ServerAuthorization,
  endpoint: string,
): GuardedFetch {
  const { origin } = new URL(endpoint);
  return async (url, init = {}, bounds = {}) => {
    const isOwn = new URL(url).origin === origin;
    const tried = new Set<number>();
    while (true) {
      const sent = isOwn ? await authorization.header() : undefined;
      const headers = new Headers(init.headers);
      if (sent !== undefined) headers.set("authorization", sent);
      const response = await fetch(url, { ...init, headers }, bounds);
      const challenge = readChallenge(response.headers);
      const refused = isOwn ? refusalOf(response.status, challenge) : undefined;
      if (refused === undefined) {
        if (isOwn) authorization.accepted(sent);
        return response;
      }
      await response.body?.cancel();
      if (refused === 401) await authorization.on401(challenge, sent);
      else await authorization.on403(challenge ?? {}, sent);
      if (init.body instanceof ReadableStream || tried.has(refused)) {
        throw authUnavailable("The server refused a request that is not sent again by itself; try once more");
      }
      tried.add(refused);
    }
  };
}

function refusalOf(status: number, challenge: Challenge | undefined): 401 | 403 | undefined {
  if (status === 401) return 401;
  return status === 403 && challenge?.error === "insufficient_scope" ? 403 : undefined;
}
