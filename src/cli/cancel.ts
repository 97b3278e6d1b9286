/** `troupe cancel`. */
import { defineCommand, storeOption } from "./cli.ts";
import { exitCodes } from "./exit.ts";
import { locateStore, openOwnersDoor } from "./host.ts";
import { findSession } from "./session_name.ts";

/** Cancels the turn of a session. */
export const command = defineCommand({
  args: ["SESSION"],
  about: [
    "Asks a session in the process that runs the store to cancel its turn. Calls that could hurt are waited for:",
    "the journal says what became of them. SESSION is an id, an unambiguous part of one, or last.",
  ],
  options: {
    store: storeOption,
    reason: { kind: "text", value: "TEXT", help: "why, for the journal" },
  },
  examples: ["troupe cancel last", 'troupe cancel last --reason "wrong folder"'],
  run: async ({ cli, options, args }) => {
    const host = await openOwnersDoor(cli, await locateStore(cli, options.store));
    try {
      const { address } = await findSession(host, args[0] ?? "");
      await host.cancel(address, (options.reason ?? "troupe cancel").slice(0, 500));
      cli.terminal.out.line(`Asked ${address} to cancel its turn`);
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});
