/** `auth` of an MCP server's manifest: how we prove to a server that is reached by HTTP who we are. No secret stands here. */
import { z } from "zod";
import { limits } from "./limits.ts";

/** The only way to name a secret: a variable of ours, or a secret of the host. Never a value. */
const SecretReference = z.string().regex(
  /^\$\{[A-Za-z_][A-Za-z0-9_]{0,127}\}$/,
  "must name a variable, like ${NAME}: a secret does not stand in a manifest",
);

/** One scope, as RFC 6749 allows it: no space, no quote, no backslash. */
export const OAuthScope = z.string().max(limits.oauthScopeCharactersMax).regex(
  /^[\x21\x23-\x5b\x5d-\x7e]+$/,
  "must be a scope: visible characters without space, quote and backslash",
);

function isSecure(text: string): boolean {
  const url = URL.parse(text);
  const isLoopback = /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url?.hostname ?? "");
  return url?.protocol === "https:" || url?.protocol === "http:" && isLoopback;
}

/** A token that somebody gave us: sent as it is. */
export const BearerAuth = z.strictObject({
  type: z.literal("bearer"),
  token: SecretReference,
});

/** A login by OAuth 2.1. Without `auth` a server may be logged in to as well, as a client that registers itself. */
export const OAuthAuth = z.strictObject({
  type: z.literal("oauth"),
  /** What is asked for. Default: what the server says that it needs. */
  scopes: z.array(OAuthScope).max(limits.oauthScopesMax).optional(),
  /** A client that is known to the authorization server, or the https URL of a client's metadata document. */
  client_id: z.string().regex(/^[\x20-\x7e]{1,2048}$/, "must be visible characters, at most 2048").optional(),
  client_secret: SecretReference.optional(),
  /** A private key in PEM (PKCS #8), by which the client proves who it is instead of a secret. */
  private_key: SecretReference.optional(),
  signing_algorithm: z.enum(["ES256", "ES384", "RS256", "RS512", "PS256"]).optional(),
  /** `client_credentials`: the client itself is the user, and no browser is needed. */
  grant: z.enum(["authorization_code", "client_credentials"]).default("authorization_code"),
  /** The only authorization server that is asked. A secret of a client is sent nowhere else. */
  issuer: z.string().max(2_048).refine(isSecure, "must be an https URL, or one of this machine").optional(),
  /** The port of this machine to which the browser comes back, if the client is registered with one. */
  callback_port: z.int().min(1_024).max(65_535).optional(),
}).superRefine((auth, { addIssue }) => {
  const refuse = (field: string, message: string) =>
    addIssue({ code: "custom", path: [field], message, input: auth });
  const { client_id, client_secret, private_key, grant, issuer, signing_algorithm } = auth;
  const secret = client_secret !== undefined ? "client_secret" : "private_key";
  const hasSecret = client_secret !== undefined || private_key !== undefined;
  if (client_secret !== undefined && private_key !== undefined) {
    refuse("private_key", "must not stand beside client_secret: leave one of them out");
  }
  if (hasSecret && client_id === undefined) refuse(secret, "needs client_id");
  if (hasSecret && issuer === undefined) refuse(secret, "needs issuer: else the server says who is sent it");
  if (signing_algorithm !== undefined && private_key === undefined) {
    refuse("signing_algorithm", "needs private_key");
  }
  if (grant === "client_credentials" && !hasSecret) {
    refuse("grant", "client_credentials needs client_id with client_secret or private_key");
  }
});
/** A login by OAuth 2.1. */
export type OAuthAuth = z.infer<typeof OAuthAuth>;

/** How we prove to a server who we are. */
export const McpAuth = z.discriminatedUnion("type", [BearerAuth, OAuthAuth], {
  error: ({ code }) => code === "invalid_union" ? "must be oauth or bearer" : undefined,
});
/** How we prove to a server who we are. */
export type McpAuth = z.infer<typeof McpAuth>;

/** The templates in it that name variables. */
export function referencesOf(auth: McpAuth | undefined): readonly string[] {
  if (auth === undefined) return [];
  if (auth.type === "bearer") return [auth.token];
  return [auth.client_secret, auth.private_key].filter((one) => one !== undefined);
}

/** What people are shown of it: names, never values. */
export function authText(auth: McpAuth): string {
  if (auth.type === "bearer") return `bearer ${auth.token.slice(2, -1)}`;
  const parts = [
    auth.type,
    ...(auth.grant === "client_credentials" ? [auth.grant] : []),
    ...(auth.client_id === undefined ? [] : [`client ${auth.client_id}`]),
    ...referencesOf(auth).map((one) => `secret ${one.slice(2, -1)}`),
    ...(auth.issuer === undefined ? [] : [`at ${auth.issuer}`]),
    ...(auth.scopes === undefined ? [] : [`scopes ${auth.scopes.join(" ")}`]),
  ];
  return parts.join(", ");
}
