/** The tokens of a store that another process holds. */
import type { TokenView } from "../../schemas/access.ts";
import type { ActingHost } from "../host/host.ts";
import type { HostTokens } from "../host/host_tokens.ts";
import type { DoorClient } from "./client.ts";

/** What a host that is reached by a door does about tokens. */
export function remoteTokens(client: DoorClient): HostTokens & Pick<ActingHost, "listTokens"> {
  return {
    listTokens: async () => {
      const tokens: TokenView[] = [];
      await client.call("tokens", {}, { onItem: (piece) => tokens.push(...piece) });
      return tokens;
    },
    issueToken: (order) => client.call("token_issue", { ...order, scopes: [...order.scopes] }),
    rotateToken: (token, expiresAt) => client.call("token_rotate", { token, expiresAt }),
    revokeToken: (token) => client.call("token_revoke", { token }),
  };
}
