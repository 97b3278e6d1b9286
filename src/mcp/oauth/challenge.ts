/** `WWW-Authenticate: Bearer`: what a server asks for when it refuses a request (RFC 6750, RFC 9728). */
import { OAuthScope } from "../../../schemas/mcp_auth.ts";
import { limits } from "../../../schemas/limits.ts";

/** What a server says that it wants. */
export interface Challenge {
  /** Where it describes itself, as it was written. */
  readonly resourceMetadata?: string;
  readonly scopes?: readonly string[];
  /** For example `invalid_token` or `insufficient_scope`. */
  readonly error?: string;
}

const token = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/y;
const value = /[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+.^_`|~0-9A-Za-z-]+))/y;
const gap = /[ \t,]*/y;

/** The first challenge for a bearer token; undefined if there is none. Other schemes may stand before and behind it. */
export function readChallenge(headers: Headers): Challenge | undefined {
  const text = (headers.get("www-authenticate") ?? "").slice(0, limits.oauthChallengeCharactersMax);
  let found: Map<string, string> | undefined;
  for (let at = skip(gap, text, 0); at < text.length; at = skip(gap, text, at)) {
    const name = match(token, text, at)?.[0];
    if (name === undefined) break;
    at += name.length;
    const pair = match(value, text, at);
    if (pair === undefined) {
      // A name without a value begins the next challenge; only the first one for us counts.
      if (found !== undefined) break;
      if (name.toLowerCase() === "bearer") found = new Map();
      continue;
    }
    at += pair[0].length;
    const field = name.toLowerCase();
    if (found !== undefined && !found.has(field)) {
      found.set(field, pair[2] ?? (pair[1] ?? "").replaceAll(/\\(.)/g, "$1"));
    }
  }
  return found === undefined ? undefined : challengeOf(found);
}

function challengeOf(fields: ReadonlyMap<string, string>): Challenge {
  const resourceMetadata = fields.get("resource_metadata");
  const error = fields.get("error");
  const scopes = readScopes(fields.get("scope"));
  return {
    ...(resourceMetadata ? { resourceMetadata } : {}),
    ...(error && /^[\x21-\x7e]{1,64}$/.test(error) ? { error } : {}),
    ...(scopes.length > 0 ? { scopes } : {}),
  };
}

/** The scopes of a text, each once. What is no scope is left out. */
export function readScopes(text: string | undefined): readonly string[] {
  const words = (text ?? "").split(/ +/).filter((word) => OAuthScope.safeParse(word).success);
  return [...new Set(words)].slice(0, limits.oauthScopesMax);
}

/** All scopes of all lists, each once, in their order. */
export function unionOf(...lists: readonly (readonly string[] | undefined)[]): readonly string[] {
  return [...new Set(lists.flatMap((list) => list ?? []))].slice(0, limits.oauthScopesMax);
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

function skip(pattern: RegExp, text: string, at: number): number {
  return at + (match(pattern, text, at)?.[0].length ?? 0);
}
