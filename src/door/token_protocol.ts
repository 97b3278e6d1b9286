/** What is said at a door about the tokens of the API. */
import { z } from "zod";
import { TokenId, TokenScopes, TokenView } from "../../schemas/access.ts";
import { Principal } from "../../schemas/principal.ts";

const expiresAt = z.int().min(0).nullable();
/** The secret is told this once. */
const Issued = z.strictObject({ token: TokenView, secret: z.string().max(200) });

/** Parameters, items and end of each method about tokens. */
export const tokenProtocol = {
  tokens: { params: z.strictObject({}), item: z.array(TokenView), end: z.null() },
  token_issue: {
    params: z.strictObject({ principal: Principal, scopes: TokenScopes, expiresAt }),
    item: z.never(),
    end: Issued,
  },
  token_rotate: { params: z.strictObject({ token: TokenId, expiresAt }), item: z.never(), end: Issued },
  token_revoke: { params: z.strictObject({ token: TokenId }), item: z.never(), end: TokenView },
} as const;
