/** A login as it is kept: what a token is for, who gave it to whom, and how the next one is got. */
import { z } from "zod";
import { limits } from "../../../schemas/limits.ts";
import { OAuthScope } from "../../../schemas/mcp_auth.ts";
import { OAuthClient } from "./oauth_client.ts";
import type { Tokens } from "./token_request.ts";

const text = z.string().min(1).max(2_048);
const token = z.string().min(1).max(limits.oauthTokenCharactersMax);
const scopes = z.array(OAuthScope).max(limits.oauthScopesMax);

/** One login: of one client at one authorization server, for one resource. */
export const TokenRecord = z.strictObject({
  v: z.literal(1),
  issuer: text,
  resource: text,
  client: OAuthClient,
  grant: z.enum(["authorization_code", "client_credentials"]),
  token_endpoint: text,
  /** URLs of servers for which a person made this login: its tokens are sent nowhere else. */
  endpoints: z.array(text).min(1).max(limits.oauthEndpointsMax),
  access_token: token,
  refresh_token: token.optional(),
  /** When the access token came, and when it ends; in milliseconds since the epoch. */
  got_at: z.int().nonnegative(),
  expires_at: z.int().nonnegative().optional(),
  scopes,
  /** What servers asked for besides: the next login asks for it too. */
  wanted: scopes,
  /** Counts the tokens: of two records the one with more is the newer. */
  generation: z.int().min(1),
});
/** One login. */
export type TokenRecord = Readonly<z.infer<typeof TokenRecord>>;

/** The record with other tokens. What an answer does not say stays as it was. */
export function renewed(record: TokenRecord, tokens: Tokens, nowMs: number): TokenRecord {
  const { expires_at: _, ...rest } = record;
  return {
    ...rest,
    access_token: tokens.accessToken,
    ...(tokens.refreshToken === undefined ? {} : { refresh_token: tokens.refreshToken }),
    got_at: nowMs,
    ...(tokens.lifeMs === undefined ? {} : { expires_at: nowMs + tokens.lifeMs }),
    scopes: [...tokens.scopes ?? record.scopes],
    generation: record.generation + 1,
  };
}

/** All of a record that must never be seen. */
export function secretsOf(record: TokenRecord): readonly (readonly [name: string, value: string])[] {
  const { access_token, refresh_token, client } = record;
  return [
    ["access_token", access_token],
    ...(refresh_token === undefined ? [] : [["refresh_token", refresh_token] as const]),
    ...(client.secret === undefined ? [] : [["client_secret", client.secret] as const]),
  ];
}

/** True if the token should be replaced now: its last minute has begun, or the last half of a shorter life. */
export function isEnding({ got_at, expires_at }: TokenRecord, nowMs: number): boolean {
  if (expires_at === undefined) return false;
  return nowMs >= expires_at - Math.min(limits.oauthRefreshAheadMs, (expires_at - got_at) / 2);
}

/** True if the token certainly counts no more. */
export function isOver({ expires_at }: TokenRecord, nowMs: number): boolean {
  return expires_at !== undefined && nowMs >= expires_at;
}
