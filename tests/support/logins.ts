/** What a test of logins needs: servers, a guarded client that may reach them, and a folder for what is kept. */
import assert from "node:assert/strict";
import { HttpManifest } from "../../schemas/manifest.ts";
import { AuthError } from "../../src/mcp/oauth/auth_error.ts";
import { type Challenge, readChallenge } from "../../src/mcp/oauth/challenge.ts";
import { Credential } from "../../src/mcp/oauth/credential.ts";
import { logIn } from "../../src/mcp/oauth/login.ts";
import { authorizationOf, type ServerAuthorization } from "../../src/mcp/oauth/server_authorization.ts";
import type { TokenRecord } from "../../src/mcp/oauth/token_record.ts";
import { TokenStore } from "../../src/mcp/oauth/token_store.ts";
import type { Guarded } from "./guarded.ts";
import { withGuarded } from "./guarded.ts";
import { browse, type LoginFaults, type LoginServer, startLoginServer } from "./login_server.ts";

/** The stage of one test. */
export interface Logins extends Guarded {
  readonly login: LoginServer;
  readonly folder: string;
  readonly store: TokenStore;
  /** Secrets that were made known, in order. */
  readonly kept: string[];
  /** Variables that a manifest may name. */
  readonly variables: Map<string, string>;
  manifest(auth?: unknown): HttpManifest;
  /** Logs in with a browser that goes where it is sent; `open` stands for it. */
  begin(
    auth?: unknown,
    more?: { readonly open?: Browser; readonly challenge?: Challenge },
  ): Promise<TokenRecord>;
  credential(auth?: unknown): Credential;
  authorization(auth?: unknown): ServerAuthorization;
}

/** What a person does with the page that is shown. */
export type Browser = (url: string) => unknown;

/** Plays a test, and cleans up. */
export async function withLogins(
  faults: LoginFaults,
  play: (logins: Logins) => Promise<void>,
): Promise<void> {
  const login = startLoginServer(faults);
  const root = await Deno.makeTempDir({ prefix: "troupe-login-" });
  const folder = `${root}/credentials`;
  try {
    await withGuarded({ allow: ["127.0.0.1"] }, async (guarded) => {
      const { client: { fetch }, world: { seams } } = guarded;
      const kept: string[] = [];
      const keepSecret = (_: string, value: string) => kept.push(value) > 0;
      const store = new TokenStore({ folder, keepSecret, clock: seams.clock, digest: seams.digest });
      const variables = new Map<string, string>();
      const readSecret = (name: string) => variables.get(name);
      const manifest = (auth?: unknown) => {
        const parts = {
          transport: "streamable_http",
          url: login.url,
          ...(auth === undefined ? {} : { auth }),
        };
        return HttpManifest.parse(parts);
      };
      const deps = { store, fetch, clock: seams.clock, readSecret };
      await play({
        ...{ ...guarded, login, folder, store, kept, variables, manifest },
        begin: async (auth, { open = browse, challenge } = {}) =>
          await logIn({
            ...{ manifest: manifest(auth), fetch, store, seams, readSecret },
            show: async ({ url }) => void await open(url),
            signal: new AbortController().signal,
            ...(challenge === undefined ? {} : { challenge }),
          }),
        credential: () =>
          new Credential({
            ...{ store, fetch, clock: seams.clock, server: "docs", endpoint: login.url },
            ...{ clientId: undefined, issuer: undefined, secrets: () => ({}) },
          }),
        authorization: (auth) => authorizationOf({ server: "docs", manifest: manifest(auth) }, deps),
      });
    });
  } finally {
    await login.close();
    await Deno.remove(root, { recursive: true });
  }
}

/** The failure that a login, or its use, ends with. */
export async function refusalOf(work: Promise<unknown>): Promise<AuthError> {
  const error = await work.then(() => undefined, (reason: unknown) => reason);
  assert.ok(error instanceof AuthError, `expected an AuthError, got ${error}`);
  return error;
}

/** Asks the protected server with a token, and gives the status. */
export async function statusWith(url: string, token: string | undefined): Promise<number> {
  const headers: HeadersInit = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(url, { method: "POST", headers, body: "{}" });
  await response.body?.cancel();
  return response.status;
}

/** A challenge as a header has it. */
export function challengeOf(header: string): Challenge | undefined {
  return readChallenge(new Headers({ "www-authenticate": header }));
}
