/** One login, from the question where to make it to the token on disk. A person begins it; no run ever does. */
import type { HttpManifest } from "../../../schemas/manifest.ts";
import type { OAuthAuth } from "../../../schemas/mcp_auth.ts";
import { createToken } from "../../door/token.ts";
import type { Seams } from "../../seams.ts";
import { authFailed } from "./auth_error.ts";
import { Callback } from "./callback.ts";
import { type Challenge, readScopes, unionOf } from "./challenge.ts";
import { clientSecretsOf, type ReadSecret } from "./client_secrets.ts";
import { discover, type Discovered } from "./discovery.ts";
import type { GuardedFetch } from "./json_answer.ts";
import { chooseClient, type OAuthClient } from "./oauth_client.ts";
import { probe } from "./probe.ts";
import { endpointOf } from "./server_authorization.ts";
import type { TokenRecord } from "./token_record.ts";
import { requestTokens, type Tokens } from "./token_request.ts";
import type { TokenStore } from "./token_store.ts";

/** What a login needs. */
export interface LoginOptions {
  readonly manifest: Pick<HttpManifest, "url" | "auth">;
  readonly fetch: GuardedFetch;
  readonly store: TokenStore;
  readonly seams: Pick<Seams, "clock" | "digest">;
  readonly readSecret: ReadSecret;
  /** Shows a person what to open in a browser. Never called for a client that is its own user. */
  readonly show: (page: { readonly url: string; readonly issuer: string }) => void | Promise<void>;
  readonly signal: AbortSignal;
  /** What the server asked for, if it is known; else it is asked. */
  readonly challenge?: Challenge;
}

/** What the steps of a login share. */
interface Journey extends LoginOptions {
  readonly auth: OAuthAuth | undefined;
  readonly found: Discovered;
  readonly scopes: readonly string[];
}

/** What a login came to, before it is kept. */
interface Grant {
  readonly client: OAuthClient;
  readonly tokens: Tokens;
}

/** Logs in and keeps the login in place of an older one for the same server. Throws `AuthError`, or the signal's reason. */
export async function logIn(options: LoginOptions): Promise<TokenRecord> {
  const { manifest, fetch, signal, store } = options;
  if (manifest.auth?.type === "bearer") {
    throw authFailed("Cannot log in: the manifest has a token of its own (auth: bearer)");
  }
  const { auth } = manifest;
  const endpoint = endpointOf(manifest);
  const asked = options.challenge ?? await probe(fetch, endpoint, signal);
  const isInteractive = auth?.grant !== "client_credentials";
  const found = await discover({
    fetch,
    endpoint,
    challenge: asked,
    issuer: auth?.issuer,
    isInteractive,
    signal,
  });
  const older = (await store.find(endpoint)).filter(([, { issuer }]) => issuer === found.server.issuer);
  const scopes = scopesOf(auth, asked, { found, older: older.map(([, record]) => record) });
  const journey = { ...options, auth, found, scopes };
  const grant = isInteractive ? await byBrowser(journey) : await byItself(journey);
  return await keep(journey, grant, endpoint);
}

/** What is asked for: what the manifest says, or the server; and what it asked for since the last login. */
function scopesOf(
  auth: OAuthAuth | undefined,
  challenge: Challenge | undefined,
  { found, older }: { readonly found: Discovered; readonly older: readonly TokenRecord[] },
): readonly string[] {
  const base = auth?.scopes ?? challenge?.scopes ?? readScopes(found.scopes?.join(" "));
  // Else the login would end with its first token (OpenID Connect).
  const mayStay = auth?.grant !== "client_credentials" &&
    (found.server.scopes_supported ?? []).includes("offline_access");
  const stepUp = older.filter(({ wanted }) => wanted.length > 0).flatMap((
    { wanted, scopes },
  ) => [...scopes, ...wanted]);
  return unionOf(base, stepUp, mayStay ? ["offline_access"] : []);
}

async function byBrowser(journey: Journey): Promise<Grant> {
  const { auth, seams, signal, found: { server, resource }, fetch, scopes, show } = journey;
  const callback = new Callback(auth?.callback_port, seams);
  try {
    const { redirectUri } = callback;
    const client = await chooseClient({ fetch, server, auth, redirectUri, scopes, signal });
    const state = await createToken();
    const { startAuthorization } = await import("../sdk_v1.ts");
    const { authorizationUrl, codeVerifier } = await startAuthorization(server.issuer, {
      metadata: {
        ...server,
        authorization_endpoint: server.authorization_endpoint ?? "",
        response_types_supported: ["code"],
      },
      clientInformation: { client_id: client.id },
      redirectUrl: redirectUri,
      state,
      resource,
      ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
    });
    const coming = callback.wait({ state, server }, signal);
    coming.catch(() => {}); // It is awaited below, whatever showing the page comes to.
    await show({ url: authorizationUrl.href, issuer: server.issuer });
    const code = await coming;
    const fields = {
      grant_type: "authorization_code",
      code,
      code_verifier: codeVerifier,
      redirect_uri: redirectUri,
    };
    return { client, tokens: await tokensFor(journey, client, fields) };
  } finally {
    await callback.close();
  }
}

async function byItself(journey: Journey): Promise<Grant> {
  const { auth, found: { server }, fetch, scopes, signal } = journey;
  const client = await chooseClient({ fetch, server, auth, redirectUri: undefined, scopes, signal });
  const fields = {
    grant_type: "client_credentials",
    ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
  };
  return { client, tokens: await tokensFor(journey, client, fields) };
}

async function tokensFor(
  { fetch, auth, readSecret, signal, found: { server, resource } }: Journey,
  client: OAuthClient,
  fields: { readonly [name: string]: string },
): Promise<Tokens> {
  return await requestTokens({
    ...{ fetch, client, resource, fields, signal },
    issuer: server.issuer,
    tokenEndpoint: server.token_endpoint,
    secrets: clientSecretsOf(auth, readSecret),
  });
}

/** The new login first, then the older ones go: a crash between leaves one too many, never none. */
async function keep(journey: Journey, { client, tokens }: Grant, endpoint: string): Promise<TokenRecord> {
  const { store, auth, scopes, seams: { clock }, found: { server, resource } } = journey;
  const key = { issuer: server.issuer, resource, client };
  const name = await store.nameOf(key);
  const nowMs = clock.now();
  const record = await store.change(name, (before) =>
    Promise.resolve({
      v: 1,
      ...key,
      grant: auth?.grant ?? "authorization_code",
      token_endpoint: server.token_endpoint,
      endpoints: [...new Set([...before?.endpoints ?? [], endpoint])],
      access_token: tokens.accessToken,
      ...(tokens.refreshToken === undefined ? {} : { refresh_token: tokens.refreshToken }),
      got_at: nowMs,
      ...(tokens.lifeMs === undefined ? {} : { expires_at: nowMs + tokens.lifeMs }),
      scopes: [...tokens.scopes ?? scopes],
      wanted: [],
      generation: (before?.generation ?? 0) + 1,
    }));
  if (record === undefined) throw new Error("Cannot keep a login: the store gave nothing back");
  await forget(store, endpoint, name);
  return record;
}

/** Forgets the logins of a server, but for one. Returns how many there were. */
export async function forget(store: TokenStore, endpoint: string, except?: string): Promise<number> {
  const old = (await store.find(endpoint)).filter(([name]) => name !== except);
  for (const [name, { endpoints }] of old) {
    const rest = endpoints.filter((one) => one !== endpoint);
    if (rest.length === 0) await store.remove(name);
    else await store.change(name, (record) => Promise.resolve(record && { ...record, endpoints: rest }));
  }
  return old.length;
}
