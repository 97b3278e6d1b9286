/** `troupe token list`. */
import { isValid } from "../../../actors/access.ts";
import type { TokenView } from "../../../schemas/access.ts";
import { principalText } from "../../../schemas/principal.ts";
import { defineCommand, jsonOption, storeOption } from "../cli.ts";
import { exitCodes } from "../exit.ts";
import { locateStore, openReading } from "../host.ts";
import { jsonLine } from "../json_line.ts";
import { printTable, timeText } from "../table.ts";
import { tokenJson } from "./place.ts";

/** Lists tokens. */
export const command = defineCommand({
  args: [],
  about: [
    "Lists the tokens that were issued, oldest first: those that open, and with --all those that ended in the last 30",
    "days too. Never the tokens themselves: the store has only their hashes. The last use is told by the hour.",
  ],
  options: {
    all: { kind: "flag", help: "list those too that open nothing any more" },
    store: storeOption,
    json: jsonOption,
  },
  examples: ["troupe token list", "troupe token list --all --json"],
  run: async ({ cli, options }) => {
    const host = await openReading(cli, await locateStore(cli, options.store));
    try {
      const now = cli.seams.clock.now();
      const tokens = (await host.listTokens()).filter((one) => options.all || isValid(one, now));
      const { out, err } = cli.terminal;
      if (options.json) { for (const one of tokens) out.line(jsonLine(tokenJson(one))); }
      else if (tokens.length === 0) err.line("No token was issued: see troupe token create");
      else {
        printTable(
          cli.terminal,
          ["TOKEN", "PRINCIPAL", "STATUS", "CREATED", "EXPIRES", "LAST USED", "SCOPES"],
          tokens.map((one) => [
            one.id,
            principalText(one.principal),
            statusOf(one, now),
            timeText(one.createdAt),
            one.expiresAt === null ? "never" : timeText(one.expiresAt),
            one.usedAt === null ? "-" : timeText(one.usedAt),
            one.scopes.join(","),
          ]),
        );
      }
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});

function statusOf(token: TokenView, now: number): string {
  if (token.revokedAt !== null) return "revoked";
  if (!isValid(token, now)) return "expired";
  return token.replacedBy === null ? "open" : "replaced";
}
