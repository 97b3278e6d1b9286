/** One request to a token endpoint: what a client proves itself with, what it asks for, and what a token must be. */
import { z } from "zod";
import { limits } from "../../../schemas/limits.ts";
import { type AuthError, authFailed, authUnavailable } from "./auth_error.ts";
import { readScopes } from "./challenge.ts";
import { askJson, type GuardedFetch } from "./json_answer.ts";
import { originOf } from "./metadata.ts";
import type { OAuthClient } from "./oauth_client.ts";

/** The secrets of a client that the manifest names, as they are now. Used for one request and dropped. */
export interface ClientSecrets {
  readonly clientSecret?: string;
  readonly privateKey?: string;
  readonly algorithm?: string;
}

/** What is asked of a token endpoint. */
export interface TokenRequest {
  readonly fetch: GuardedFetch;
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly client: OAuthClient;
  readonly secrets: ClientSecrets;
  readonly resource: string;
  /** Of the grant: `grant_type` and what belongs to it. */
  readonly fields: { readonly [name: string]: string };
  readonly signal?: AbortSignal | undefined;
}

/** What it gave. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  /** How long the access token counts from now on, if it says so. Milliseconds. */
  readonly lifeMs: number | undefined;
  /** Undefined if it gave what was asked for. */
  readonly scopes: readonly string[] | undefined;
}

/** What a header can carry and the redactor can find again. */
const Token = z.string().max(limits.oauthTokenCharactersMax).regex(/^[\x21-\x7e]+$/);

const TokenAnswer = z.looseObject({
  access_token: Token,
  token_type: z.string().max(64).regex(/^bearer$/i),
  expires_in: z.coerce.number().min(0).max(315_360_000).optional(),
  refresh_token: Token.optional(),
  scope: z.string().max(limits.oauthScopesMax * limits.oauthScopeCharactersMax).optional(),
});

const Refusal = z.looseObject({ error: z.string().regex(/^[\x21-\x7e]{1,64}$/) });

/** Asks for tokens. Throws `AuthError`: `mcp_auth_unavailable` where another try may help, else with the server's reason. */
export async function requestTokens(request: TokenRequest): Promise<Tokens> {
  const { fetch, tokenEndpoint: url, issuer, signal, resource } = request;
  const name = originOf(issuer);
  const form = new URLSearchParams({ ...request.fields, resource });
  const headers = new Headers({ "content-type": "application/x-www-form-urlencoded" });
  await authenticate(request, headers, form);
  const { status, body } = await askJson({
    ...{ fetch, url, signal, method: "POST", what: `the tokens of ${name}` },
    headers: Object.fromEntries(headers),
    body: form.toString(),
  });
  if (status >= 400) throw refusalOf(name, status, body);
  const parsed = TokenAnswer.safeParse(body);
  if (!parsed.success) {
    const field = parsed.error.issues[0]?.path.map(String).join(".") || "it";
    throw authFailed(
      `Cannot use the tokens of ${name}: "${field.slice(0, 64)}" is missing or is not what it must be`,
    );
  }
  const { access_token, refresh_token, expires_in, scope } = parsed.data;
  return {
    accessToken: access_token,
    refreshToken: refresh_token,
    lifeMs: expires_in === undefined ? undefined : Math.floor(expires_in * 1_000),
    scopes: scope === undefined ? undefined : readScopes(scope),
  };
}

function refusalOf(name: string, status: number, body: unknown): AuthError {
  if (status >= 500 || status === 429) {
    return authUnavailable(`Cannot get a token: ${name} answers with status ${status}`);
  }
  const refusal = Refusal.safeParse(body);
  const reason = refusal.success ? refusal.data.error : `status ${status}`;
  return authFailed(`Cannot get a token: ${name} refuses (${reason})`, reason);
}

async function authenticate(
  { client: { id, method, secret }, secrets, issuer, tokenEndpoint }: TokenRequest,
  headers: Headers,
  form: URLSearchParams,
): Promise<void> {
  if (method === "private_key_jwt") {
    await signInto(form, { id, secrets, issuer, tokenEndpoint });
    return;
  }
  const proof = secret ?? secrets.clientSecret;
  if (method === "none") form.set("client_id", id);
  else if (proof === undefined) {
    throw authFailed(`Cannot get a token of ${originOf(issuer)}: the secret of the client is not known`);
  } else if (method === "client_secret_basic") {
    headers.set("authorization", `Basic ${btoa(`${formEncoded(id)}:${formEncoded(proof)}`)}`);
  } else {
    form.set("client_id", id);
    form.set("client_secret", proof);
  }
}

interface Signing extends Pick<TokenRequest, "secrets" | "issuer" | "tokenEndpoint"> {
  readonly id: string;
}

async function signInto(
  form: URLSearchParams,
  { id, secrets, issuer, tokenEndpoint }: Signing,
): Promise<void> {
  const { privateKey, algorithm = "ES256" } = secrets;
  const refuse = (why: string) => authFailed(`Cannot get a token of ${originOf(issuer)}: ${why}`);
  if (privateKey === undefined) throw refuse("the private key of the client is not known");
  const { createPrivateKeyJwtAuth } = await import("../sdk_v1.ts");
  const sign = createPrivateKeyJwtAuth({
    issuer: id,
    subject: id,
    privateKey,
    alg: algorithm,
    audience: issuer,
  });
  try {
    await sign(new Headers(), form, tokenEndpoint);
  } catch {
    // The library's words may hold a part of the key.
    throw refuse(`the private key of the client is none in PEM (PKCS #8) for ${algorithm}`);
  }
}

/** As a form writes it: what RFC 6749 (2.3.1) wants in the header. */
function formEncoded(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}
