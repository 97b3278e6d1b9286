/** `troupe token revoke`. */
import { defineCommand, jsonOption, storeOption } from "../cli.ts";
import { exitCodes } from "../exit.ts";
import { jsonLine } from "../json_line.ts";
import { readTokenId, tokenJson, withTokens } from "./place.ts";

/** Ends a token. */
export const command = defineCommand({
  args: ["ID"],
  about: [
    "Ends a token at once, and with it every watch and answer that is on its way to whoever holds it. Agents that it",
    "began go on.",
  ],
  options: { store: storeOption, json: jsonOption },
  examples: ["troupe token revoke tok_01JZ0000000000000000000000"],
  run: async ({ cli, options, args: [id] }) => {
    const token = await withTokens(cli, options.store, (host) => host.revokeToken(readTokenId(id)));
    const { out } = cli.terminal;
    if (options.json) out.line(jsonLine(tokenJson(token)));
    else out.line(`${token.id} is revoked`);
    return exitCodes.ok;
  },
});
