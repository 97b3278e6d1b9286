/** The rules of tokens: what issuing, rotating and revoking changes, and what is refused. Pure: asked by the audit. */
import { accessLimits } from "../schemas/access_limits.ts";
import type { AuditMessage, TokenId, TokenRecord, TokenReply, TokenView } from "../schemas/access.ts";
import { type ApiScope, personScopes } from "../schemas/api_scope.ts";
import type { Principal } from "../schemas/principal.ts";

/** The tokens after a message, and the answer. */
export interface TokenChange {
  readonly tokens: readonly TokenRecord[];
  readonly reply: TokenReply | undefined;
}

/** The rights that a principal may have: programs and agents never those of persons (B26). */
export function allowedScopes({ kind }: Principal, scopes: readonly ApiScope[]): readonly ApiScope[] {
  const isPerson = kind === "operator" || kind === "user";
  return isPerson ? scopes : scopes.filter((scope) => !personScopes.includes(scope));
}

/** True if a token opens. */
export function isValid({ revokedAt, expiresAt }: TokenRecord | TokenView, at: number): boolean {
  return revokedAt === null && (expiresAt === null || at < expiresAt);
}

/** A token without its hash. */
export function viewOfToken({ digest: _, ...view }: TokenRecord): TokenView {
  return view;
}

/** What a message changes. */
export function changeTokens(
  tokens: readonly TokenRecord[],
  message: AuditMessage,
  at: number,
): TokenChange {
  switch (message.type) {
    case "token.issue":
      return issue(tokens, message, at);
    case "token.rotate":
      return rotate(tokens, message, at);
    case "token.revoke":
      return revoke(tokens, message.token, at);
    case "token.used":
      return {
        tokens: tokens.map((one) => one.id === message.token ? { ...one, usedAt: message.usedAt } : one),
        reply: undefined,
      };
    case "access.refused":
      return { tokens, reply: undefined };
  }
}

type Issue = Extract<AuditMessage, { readonly type: "token.issue" }>;
type Rotation = Extract<AuditMessage, { readonly type: "token.rotate" }>;

function issue(tokens: readonly TokenRecord[], message: Issue, at: number): TokenChange {
  const { id, digest, principal, scopes, expiresAt } = message;
  if (allowedScopes(principal, scopes).length < scopes.length) {
    const what = personScopes.filter((scope) => scopes.includes(scope)).join(" and ");
    return refused(tokens, "scope_for_persons", `${what} is for persons only: leave it out`);
  }
  return add(tokens, { ...fresh, id, digest, principal, scopes, expiresAt, createdAt: at }, at);
}

function rotate(tokens: readonly TokenRecord[], { token, next }: Rotation, at: number): TokenChange {
  const old = tokens.find(({ id }) => id === token);
  if (old === undefined) return unknown(tokens);
  if (!isValid(old, at)) {
    return refused(tokens, "token_ended", "This token opens nothing any more: create one");
  }
  if (old.replacedBy !== null) {
    return refused(
      tokens,
      "token_replaced",
      `${old.replacedBy} has taken its place already: rotate that one`,
    );
  }
  const { id, digest, expiresAt } = next;
  const { principal, scopes } = old;
  const added = add(tokens, { ...fresh, id, digest, principal, scopes, expiresAt, createdAt: at }, at);
  if (added.reply?.result !== "done") return added;
  const until = Math.min(old.expiresAt ?? Infinity, at + accessLimits.rotationOverlapMs);
  return {
    ...added,
    tokens: added.tokens.map((one) => one.id === token ? { ...one, expiresAt: until, replacedBy: id } : one),
  };
}

/** Revoking twice is answered the same: the first time counts. */
function revoke(tokens: readonly TokenRecord[], token: TokenId, at: number): TokenChange {
  const old = tokens.find(({ id }) => id === token);
  if (old === undefined) return unknown(tokens);
  const revoked = { ...old, revokedAt: old.revokedAt ?? at };
  return {
    tokens: tokens.map((one) => one.id === token ? revoked : one),
    reply: { result: "done", token: viewOfToken(revoked) },
  };
}

const fresh = { usedAt: null, revokedAt: null, replacedBy: null } as const;

function add(tokens: readonly TokenRecord[], token: TokenRecord, at: number): TokenChange {
  const open = tokens.filter((one) => isValid(one, at)).length;
  const kept = withoutOld(tokens, at);
  if (open >= accessLimits.tokensMax) {
    return refused(tokens, "tokens_full", `${accessLimits.tokensMax} tokens open already: revoke one first`);
  }
  if (kept.some(({ id, digest }) => id === token.id || digest === token.digest)) {
    return refused(tokens, "token_taken", "This token was issued before: create another one");
  }
  return { tokens: [...kept, token], reply: { result: "done", token: viewOfToken(token) } };
}

/** Without those that ended long ago, or, among many that ended, first: the journal alone has them. */
function withoutOld(tokens: readonly TokenRecord[], at: number): readonly TokenRecord[] {
  const ended = tokens.filter((one) => !isValid(one, at)).sort((left, right) => endOf(left) - endOf(right));
  const excess = ended.length - accessLimits.tokensMax + 1;
  const gone = new Set(
    ended.filter((one, index) => index < excess || endOf(one) + accessLimits.endedTokensMs <= at),
  );
  return tokens.filter((one) => !gone.has(one));
}

function endOf({ revokedAt, expiresAt }: TokenRecord): number {
  return Math.min(revokedAt ?? Infinity, expiresAt ?? Infinity);
}

function unknown(tokens: readonly TokenRecord[]): TokenChange {
  return refused(tokens, "token_not_found", "There is no such token: see troupe token list");
}

function refused(tokens: readonly TokenRecord[], code: string, message: string): TokenChange {
  return { tokens, reply: { result: "refused", code, message } };
}
