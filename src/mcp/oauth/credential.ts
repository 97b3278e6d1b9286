/** The login of one server: gives its token, renews it once for everybody who waits, and stops where a person is needed. */
import { limits } from "../../../schemas/limits.ts";
import type { Clock } from "../../seams.ts";
import { AuthError, authRequired, scopeInsufficient } from "./auth_error.ts";
import { unionOf } from "./challenge.ts";
import type { GuardedFetch } from "./json_answer.ts";
import { isSameIssuer } from "./metadata.ts";
import { isDocumentId } from "./oauth_client.ts";
import { isEnding, isOver, renewed, type TokenRecord } from "./token_record.ts";
import { type ClientSecrets, requestTokens } from "./token_request.ts";
import type { TokenStore } from "./token_store.ts";

/** Options of {@linkcode Credential}. */
export interface CredentialOptions {
  readonly store: TokenStore;
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  /** The server's name, for messages. */
  readonly server: string;
  /** The server's URL, as it is kept with the login. */
  readonly endpoint: string;
  /** The client that the manifest names; a login of another one is not used. */
  readonly clientId: string | undefined;
  /** The only authorization server whose tokens are used, if the manifest names one. */
  readonly issuer: string | undefined;
  /** The secrets of that client, looked up anew each time. Throws `AuthError` if one is missing. */
  readonly secrets: () => ClientSecrets;
}

/** One server's login. Keeps no token between calls: each call reads what is on disk, so that another login counts at once. */
export class Credential {
  readonly #options: CredentialOptions;
  #name: string | undefined;
  #flight: Promise<TokenRecord> | undefined;
  /** Tokens that came and could not be written: not used before they are on disk, and not asked for again. */
  #unsaved: TokenRecord | undefined;
  /** A login that nothing renews any more, by its token. */
  #refused: { readonly token: string; readonly why: AuthError } | undefined;
  /** A token that the server refused for good. */
  #dead: string | undefined;
  /** A token that came because the server refused the one before, and that it has not taken yet. */
  #unproven: string | undefined;
  #held: { readonly untilMs: number; readonly why: AuthError } | undefined;

  constructor(options: CredentialOptions) {
    this.#options = options;
  }

  /** `auth_required`: only a person can help. A new login ends that by itself. */
  get state(): "ready" | "auth_required" {
    return this.#refused === undefined ? "ready" : "auth_required";
  }

  /** The token to send now; undefined if nobody logged in. Throws `AuthError`. */
  async token(): Promise<string | undefined> {
    const record = await this.#read();
    if (record === undefined) return undefined;
    const nowMs = this.#options.clock.now();
    const refused = this.#refusedOf(record);
    if (refused !== undefined && this.#dead === record.access_token) throw refused;
    if (!isEnding(record, nowMs) && this.#unsaved === undefined) return record.access_token;
    try {
      return (await this.#renew(record.access_token)).access_token;
    } catch (error) {
      // What ends soon counts until then.
      const mayGoOn = error instanceof AuthError && error.code !== "mcp_credentials_unusable";
      if (mayGoOn && !isOver(record, nowMs)) return record.access_token;
      throw error;
    }
  }

  /** Replaces a token that the server refused. Throws `AuthError` where a person is needed: `mcp_auth_required`. */
  async replace(rejected: string): Promise<void> {
    const record = await this.#read();
    if (record === undefined) throw authRequired(this.#options.server, "");
    if (record.access_token !== rejected) return;
    try {
      if (this.#unproven === rejected) throw this.#refuse(record, ": it refuses even a fresh token");
      this.#unproven = (await this.#renew(rejected)).access_token;
    } catch (error) {
      if (error instanceof AuthError && error.code === "mcp_auth_required") this.#dead = rejected;
      throw error;
    }
  }

  /** The server took the token. */
  accepted(token: string): void {
    if (this.#unproven === token) this.#unproven = undefined;
  }

  /**
   * Gets more rights than the token has that the server refused: at once for a client that is its own user, else by the
   * next login, which will ask for all of them. Each right is asked for once.
   */
  async widen(rejected: string, scopes: readonly string[]): Promise<void> {
    const { server } = this.#options;
    const record = await this.#read();
    if (record === undefined) throw authRequired(server, "");
    if (record.access_token !== rejected) return;
    const isAsked = scopes.every((scope) => record.wanted.includes(scope) || record.scopes.includes(scope));
    if (isAsked) throw scopeInsufficient(server, scopes);
    try {
      if (record.grant === "authorization_code") throw scopeInsufficient(server, scopes);
      await this.#renew(rejected, scopes);
    } catch (error) {
      if (error instanceof AuthError && error.code === "mcp_scope_insufficient") await this.#want(scopes);
      throw error;
    }
  }

  async #want(scopes: readonly string[]): Promise<void> {
    await this.#options.store.change(this.#name ?? "", (current) => {
      return Promise.resolve(current && { ...current, wanted: [...unionOf(current.wanted, scopes)] });
    });
  }

  async #read(): Promise<TokenRecord | undefined> {
    const { store, endpoint } = this.#options;
    const known = this.#name === undefined ? undefined : await store.read(this.#name);
    if (known !== undefined) return known;
    const found = (await store.find(endpoint)).find(([, record]) => this.#isOurs(record));
    this.#name = found?.[0];
    return found?.[1];
  }

  #isOurs({ client, issuer }: TokenRecord): boolean {
    const { clientId, issuer: wanted } = this.#options;
    if (wanted !== undefined && !isSameIssuer(wanted, issuer)) return false;
    if (client.kind !== "registered") return client.id === clientId;
    return clientId === undefined || isDocumentId(clientId);
  }

  #refusedOf({ access_token: token }: TokenRecord): AuthError | undefined {
    if (this.#refused?.token === token) return this.#refused.why;
    this.#refused = undefined; // Somebody logged in again.
    return undefined;
  }

  #refuse({ access_token: token }: TokenRecord, why: string): AuthError {
    const refused = authRequired(this.#options.server, why);
    this.#refused = { token, why: refused };
    return refused;
  }

  /** One renewal at a time, whoever asks; all get what it brings. */
  #renew(old: string, scopes: readonly string[] = []): Promise<TokenRecord> {
    this.#flight ??= this.#renewOnce(old, scopes).finally(() => this.#flight = undefined);
    return this.#flight;
  }

  async #renewOnce(old: string, scopes: readonly string[]): Promise<TokenRecord> {
    const { store, clock, server } = this.#options;
    if (this.#held !== undefined && clock.now() < this.#held.untilMs) throw this.#held.why;
    this.#held = undefined;
    try {
      const record = await store.change(this.#name ?? "", async (current) => {
        if (current === undefined) throw authRequired(server, "");
        const unsaved = this.#unsaved;
        if (unsaved !== undefined && unsaved.generation > current.generation) return unsaved;
        // Another process, or a caller before us, was faster.
        if (current.access_token !== old) return current;
        const refused = this.#refusedOf(current);
        if (refused !== undefined) throw refused;
        return this.#unsaved = await this.#ask(current, scopes);
      });
      this.#unsaved = undefined;
      if (record === undefined) throw authRequired(server, "");
      return record;
    } catch (error) {
      if (error instanceof AuthError && error.code === "mcp_auth_unavailable") {
        this.#held = { untilMs: clock.now() + limits.oauthFailureHoldMs, why: error };
      }
      throw error;
    }
  }

  /** Asks for the next token; with `more`, for more rights. Who is refused more keeps what it has. */
  async #ask(record: TokenRecord, more: readonly string[]): Promise<TokenRecord> {
    const { fetch, secrets, clock, server } = this.#options;
    const { issuer, resource, client, token_endpoint: tokenEndpoint } = record;
    const scopes = unionOf(record.scopes, more);
    const fields = fieldsOf(record, scopes);
    if (fields === undefined) throw this.#refuse(record, ": its token has ended, and nothing renews it");
    try {
      const tokens = await requestTokens({
        ...{ fetch, issuer, resource, client, tokenEndpoint, fields },
        secrets: secrets(),
      });
      const next = renewed(record, { ...tokens, scopes: tokens.scopes ?? scopes }, clock.now());
      return more.length === 0 ? next : { ...next, wanted: [...unionOf(next.wanted, more)] };
    } catch (error) {
      if (!(error instanceof AuthError) || error.code !== "mcp_auth_failed") throw error;
      if (more.length > 0) throw scopeInsufficient(server, more);
      throw this.#refuse(record, ` again (${error.reason ?? error.message})`);
    }
  }
}

/** What renews a login; undefined if nothing does. */
function fieldsOf({ grant, refresh_token }: TokenRecord, scopes: readonly string[]) {
  if (grant === "client_credentials") {
    return { grant_type: grant, ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }) };
  }
  return refresh_token === undefined ? undefined : { grant_type: "refresh_token", refresh_token };
}
