/** `troupe token rotate`. */
import { defineCommand, jsonOption, storeOption } from "../cli.ts";
import { exitCodes } from "../exit.ts";
import { expiresOption, readLifetime } from "./lifetime.ts";
import { readTokenId, showIssued, withTokens } from "./place.ts";

/** Issues a token in the place of another one. */
export const command = defineCommand({
  args: ["ID"],
  about: [
    "Issues another token with the same principal and scopes, and prints it. The old one opens for 24 hours more, so",
    "that there is time to exchange them; troupe token revoke ends it at once.",
  ],
  options: {
    expires: {
      ...expiresOption,
      help: "how long it opens: 30m, 12h, 30d, or never; default: as long as the old one did",
    },
    store: storeOption,
    json: jsonOption,
  },
  examples: ["troupe token rotate tok_01JZ0000000000000000000000 --expires 30d"],
  run: async ({ cli, options, args: [id] }) => {
    const token = readTokenId(id);
    const asked = options.expires === undefined ? undefined : readLifetime(options.expires);
    const issued = await withTokens(cli, options.store, async (host) => {
      const old = (await host.listTokens()).find((one) => one.id === token);
      const before = old === undefined || old.expiresAt === null ? null : old.expiresAt - old.createdAt;
      const lifeMs = asked === undefined ? before : asked;
      return await host.rotateToken(token, lifeMs === null ? null : cli.seams.clock.now() + lifeMs);
    });
    showIssued(cli, issued, options.json);
    return exitCodes.ok;
  },
});
