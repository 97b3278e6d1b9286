/** Finds out where a server wants its users to log in. What it is told is checked at each step, and nothing is guessed. */
import { z } from "zod";
import { authFailed, authUnavailable } from "./auth_error.ts";
import type { Challenge } from "./challenge.ts";
import { askJson, type GuardedFetch } from "./json_answer.ts";
import { isOpenable, isSameIssuer, originOf, ResourceMetadata, ServerMetadata } from "./metadata.ts";

/** What is looked for. */
export interface Search {
  readonly fetch: GuardedFetch;
  /** The server's URL, without fragment. */
  readonly endpoint: string;
  readonly challenge?: Challenge | undefined;
  /** The only authorization server that counts, if the manifest names one. */
  readonly issuer?: string | undefined;
  /** True if a browser will be sent there. */
  readonly isInteractive: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Where and for what a login is made. */
export interface Discovered {
  /** What tokens are for (RFC 8707). */
  readonly resource: string;
  readonly scopes: readonly string[] | undefined;
  readonly server: ServerMetadata;
}

/** Reads the metadata of a server, then of its authorization server. Throws `AuthError`. */
export async function discover(search: Search): Promise<Discovered> {
  const described = await readResource(search);
  const { resource, authorization_servers: servers, scopes_supported: scopes } = described ??
    { resource: search.endpoint };
  if (described !== undefined) checkResource(described.resource, search.endpoint);
  // Servers of 2025-03-26 have no metadata of their own: they are their own authorization server.
  const offered = servers === undefined || servers.length === 0 ? [new URL(search.endpoint).origin] : servers;
  const issuer = chooseIssuer(offered, search.issuer);
  const server = await readServer(issuer, search);
  return { resource, scopes, server };
}

/** The document that the challenge names, then the one for the path, then the one for the whole host. */
async function readResource(
  { fetch, endpoint, challenge, signal }: Search,
): Promise<ResourceMetadata | undefined> {
  const { origin, pathname, search } = new URL(endpoint);
  const known = `${origin}/.well-known/oauth-protected-resource`;
  const path = pathname.replace(/\/$/, "");
  const places = [
    ...(challenge?.resourceMetadata === undefined ? [] : [challenge.resourceMetadata]),
    `${known}${path}${search}`,
    known,
  ];
  for (const url of new Set(places)) {
    const found = await readDocument({ fetch, url, signal, what: "what the server says of its login" });
    if (found !== undefined) return fit(ResourceMetadata, found, "what the server says of its login");
  }
  return undefined;
}

/** A server may speak for itself and what lies below it, never for another (RFC 9728, 3.3). */
function checkResource(resource: string, endpoint: string): void {
  const own = new URL(endpoint);
  const named = URL.parse(resource);
  const path = named?.pathname.replace(/\/$/, "") ?? "";
  const isWithin = own.pathname === path || own.pathname.startsWith(`${path}/`);
  if (named !== null && named.origin === own.origin && isWithin && named.hash === "") return;
  throw authFailed(`Cannot log in: the server describes ${originOf(resource)}, which it is not`);
}

function chooseIssuer(offered: readonly string[], wanted: string | undefined): string {
  const chosen = wanted === undefined ? offered[0] : offered.find((one) => isSameIssuer(one, wanted));
  if (chosen !== undefined) return chosen;
  const named = offered.map(originOf).join(", ");
  throw authFailed(
    `Cannot log in: the manifest says that ${
      originOf(wanted ?? "")
    } issues tokens, and the server names ${named}; ` +
      "correct issuer in the manifest if that is meant",
  );
}

async function readServer(issuer: string, { fetch, signal, isInteractive }: Search): Promise<ServerMetadata> {
  const what = `the metadata of ${originOf(issuer)}`;
  if (URL.parse(issuer) === null) {
    throw authFailed("Cannot log in: the server names an authorization server that is no URL");
  }
  const { buildDiscoveryUrls } = await import("../sdk_v1.ts");
  for (const { url } of buildDiscoveryUrls(issuer)) {
    const found = await readDocument({ fetch, url: url.href, signal, what });
    if (found === undefined) continue;
    const server = fit(ServerMetadata, found, what);
    // Else whoever answers could pass for another, and be sent its codes and tokens (RFC 8414, 3.3).
    if (!isSameIssuer(server.issuer, issuer)) {
      throw authFailed(`Cannot log in: ${originOf(issuer)} says that it is ${originOf(server.issuer)}`);
    }
    if (isInteractive) checkInteractive(server);
    return server;
  }
  throw authFailed(`Cannot log in: ${originOf(issuer)} does not say how`);
}

function checkInteractive(server: ServerMetadata): void {
  const name = originOf(server.issuer);
  if (server.authorization_endpoint === undefined) {
    throw authFailed(
      `Cannot log in: ${name} has no page for that; use grant: client_credentials if it is meant`,
    );
  }
  if (!isOpenable(server.authorization_endpoint)) {
    throw authFailed(`Cannot log in: the page that ${name} names is no plain https URL`);
  }
  if (!(server.response_types_supported ?? ["code"]).includes("code")) {
    throw authFailed(`Cannot log in: ${name} gives no authorization codes`);
  }
  if (!(server.code_challenge_methods_supported ?? []).includes("S256")) {
    throw authFailed(`Cannot log in: ${name} does not protect codes with PKCE (S256)`);
  }
}

/** The document, or undefined where there is none. */
async function readDocument(
  question: {
    readonly fetch: GuardedFetch;
    readonly url: string;
    readonly what: string;
    readonly signal: AbortSignal | undefined;
  },
): Promise<{ readonly [key: string]: unknown } | undefined> {
  const { status, body } = await askJson(question);
  if (status >= 500 || status === 429) {
    throw authUnavailable(
      `Cannot read ${question.what}: ${originOf(question.url)} answers with status ${status}`,
    );
  }
  if (status >= 400) return undefined;
  if (typeof body === "object" && body !== null) return body as { readonly [key: string]: unknown };
  throw authFailed(`Cannot read ${question.what}: it is no JSON object`);
}

function fit<S extends z.ZodType>(schema: S, found: unknown, what: string): z.infer<S> {
  const parsed = schema.safeParse(found);
  if (parsed.success) return parsed.data;
  const field = parsed.error.issues[0]?.path.map(String).join(".") ?? "";
  throw authFailed(`Cannot read ${what}: "${field.slice(0, 100)}" is missing or is not what it must be`);
}
