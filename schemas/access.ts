/** Who may use the actor API: the tokens that were issued, and the stream `audit/…` that tells what became of them. */
import { z } from "zod";
import { accessLimits } from "./access_limits.ts";
import { ApiScope } from "./api_scope.ts";
import { Digest, InstallationId, RootAddress } from "./ids.ts";
import { Principal } from "./principal.ts";

/** Id of an issued token: `tok_` and a ULID. It names the token, and opens nothing. */
export const TokenId = z.string().regex(
  /^tok_[0-9A-HJKMNP-TV-Z]{26}$/,
  "must look like tok_ and 26 letters or digits",
).brand("TokenId");
/** Id of an issued token. */
export type TokenId = z.infer<typeof TokenId>;

/** Rights, each once. */
export const TokenScopes = z.array(ApiScope).min(1).max(ApiScope.options.length)
  .refine((scopes) => new Set(scopes).size === scopes.length, "must name each scope once");
/** Rights, each once. */
export type TokenScopes = z.infer<typeof TokenScopes>;

const timeMs = z.int().min(0);

/** A secret as it is kept: its hash, and until when it opens. Null: until it is revoked. */
const secret = { id: TokenId, digest: Digest, expiresAt: timeMs.nullable() };

/** One token. Times in milliseconds since the epoch. */
export const TokenRecord = z.strictObject({
  ...secret,
  principal: Principal,
  scopes: TokenScopes,
  createdAt: timeMs,
  /** The hour in which it was used last. */
  usedAt: timeMs.nullable(),
  revokedAt: timeMs.nullable(),
  /** The token that takes its place. */
  replacedBy: TokenId.nullable(),
});
/** One token. */
export type TokenRecord = z.infer<typeof TokenRecord>;

/** A token as it is told: all but the hash. */
export const TokenView = TokenRecord.omit({ digest: true });
/** A token as it is told. */
export type TokenView = z.infer<typeof TokenView>;

/** How often one peer was refused for one reason. */
export const RefusalCount = z.strictObject({
  code: z.string().max(100),
  peer: z.string().max(100),
  /** Who asked, if that was known. */
  principal: z.string().max(100).optional(),
  method: z.string().max(40).optional(),
  count: z.int().min(1),
});
/** How often one peer was refused for one reason. */
export type RefusalCount = z.infer<typeof RefusalCount>;

/** Messages that an audit takes. Those about tokens ask, and are answered; the others tell. */
export const AuditMessage = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("token.issue"),
    ...secret,
    principal: Principal,
    scopes: TokenScopes,
    by: Principal,
  }),
  /** Another secret for the same rights. The old one still opens for a while, so that nobody stands before the door. */
  z.strictObject({
    type: z.literal("token.rotate"),
    token: TokenId,
    next: z.strictObject(secret),
    by: Principal,
  }),
  z.strictObject({ type: z.literal("token.revoke"), token: TokenId, by: Principal }),
  z.strictObject({ type: z.literal("token.used"), token: TokenId, usedAt: timeMs }),
  /** What was refused within a minute, in one entry, however often that was. */
  z.strictObject({
    type: z.literal("access.refused"),
    fromMs: timeMs,
    toMs: timeMs,
    refusals: z.array(RefusalCount).max(accessLimits.refusalsNamedMax),
    /** Refusals beyond those that are named. */
    more: z.int().min(0),
  }),
]);
/** A message that an audit takes. */
export type AuditMessage = z.infer<typeof AuditMessage>;

/** What an audit is created with. */
export const AuditInput = z.strictObject({
  address: RootAddress,
  /** The store that its tokens open: in another one they open nothing (CM-4). */
  installation: InstallationId.optional(),
});
/** What an audit is created with. */
export type AuditInput = z.infer<typeof AuditInput>;

/** How an audit answers what it was asked. */
export const TokenReply = z.discriminatedUnion("result", [
  z.strictObject({ result: z.literal("done"), token: TokenView }),
  z.strictObject({ result: z.literal("refused"), code: z.string().max(100), message: z.string().max(500) }),
]);
/** How an audit answers what it was asked. */
export type TokenReply = z.infer<typeof TokenReply>;
