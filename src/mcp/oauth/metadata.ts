/** What servers say of themselves before a login: RFC 9728, RFC 8414 and OpenID Connect Discovery, as far as it is used. */
import { z } from "zod";

const text = z.string().min(1).max(2_048);
const words = z.array(z.string().max(256)).max(1_000);

/** What a protected server says of itself. */
export const ResourceMetadata = z.looseObject({
  resource: text,
  authorization_servers: z.array(text).max(32).optional(),
  scopes_supported: words.optional(),
});
/** What a protected server says of itself. */
export type ResourceMetadata = z.infer<typeof ResourceMetadata>;

/** What an authorization server says of itself. */
export const ServerMetadata = z.looseObject({
  issuer: text,
  authorization_endpoint: text.optional(),
  token_endpoint: text,
  registration_endpoint: text.optional(),
  scopes_supported: words.optional(),
  response_types_supported: words.optional(),
  code_challenge_methods_supported: words.optional(),
  token_endpoint_auth_methods_supported: words.optional(),
  client_id_metadata_document_supported: z.boolean().optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
});
/** What an authorization server says of itself. */
export type ServerMetadata = z.infer<typeof ServerMetadata>;

/** What a registration brings. */
export const Registration = z.looseObject({
  client_id: z.string().regex(/^[\x20-\x7e]{1,2048}$/),
  client_secret: z.string().regex(/^[\x20-\x7e]{1,2048}$/).optional(),
  token_endpoint_auth_method: z.string().max(64).optional(),
});
/** What a registration brings. */
export type Registration = z.infer<typeof Registration>;

/** What of a URL may be shown in a message: no path, no query. */
export function originOf(url: string): string {
  return URL.parse(url)?.origin ?? "an unreadable URL";
}

/**
 * True for a URL that a person may be shown to open in a browser: https, or http of this machine; no login, no fragment,
 * and nothing that could mean something to a shell or a page (B78).
 */
export function isOpenable(text: string): boolean {
  const url = /[\s"'`<>\\^{|}]|[^\x21-\x7e]|\$\(/.test(text) ? null : URL.parse(text);
  if (url === null || url.username + url.password + url.hash !== "") return false;
  return url.protocol === "https:" || url.protocol === "http:" && isLoopback(url.hostname);
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]";
}

/** Issuers are compared as they are written, but for one slash at the end. */
export function isSameIssuer(left: string, right: string): boolean {
  return left.replace(/\/$/, "") === right.replace(/\/$/, "");
}
