/** What the owner does about tokens of the API for who comes by the door. */
import type { methods } from "./methods.ts";

/** Each of half a KiB at most. */
const tokensPerPiece = 200;

/** The methods about tokens. */
export const tokenMethods: Pick<
  typeof methods,
  "tokens" | "token_issue" | "token_rotate" | "token_revoke"
> = {
  tokens: async ({ host, send }) => {
    const tokens = await host.listTokens();
    for (let at = 0; at < tokens.length; at += tokensPerPiece) {
      await send(tokens.slice(at, at + tokensPerPiece));
    }
    return null;
  },
  token_issue: ({ host, params }) => host.issueToken(params),
  token_rotate: ({ host, params }) => host.rotateToken(params.token, params.expiresAt),
  token_revoke: ({ host, params }) => host.revokeToken(params.token),
};
