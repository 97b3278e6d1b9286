/** `troupe sessions`. */
import type { RootRecord } from "../../schemas/entry.ts";
import { defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes } from "./exit.ts";
import { locateStore, openReading } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { printTable, timeText } from "./table.ts";

/** Lists the sessions of a store, oldest first. */
export const command = defineCommand({
  args: [],
  about: [
    "Lists the sessions of a store, oldest first: id, agent, when it began, entries, and whether it is active",
    "or quarantined.",
  ],
  options: {
    store: storeOption,
    all: { kind: "flag", help: "list the other roots too: catalogs and supervisors" },
    json: jsonOption,
  },
  examples: ["troupe sessions", "troupe sessions --store ./work.db --json"],
  run: async ({ cli, options }) => {
    const host = await openReading(cli, await locateStore(cli, options.store));
    try {
      const roots = (await host.listRoots()).filter((root) => options.all || root.kind === "session");
      const rows: { readonly root: RootRecord; readonly entries: number }[] = [];
      for (const root of roots) rows.push({ root, entries: (await host.readHead(root.address)).seq });
      const { out, err } = cli.terminal;
      if (options.json) {
        for (const { root, entries } of rows) out.line(jsonLine({ ...root, entries }));
      } else if (rows.length === 0) err.line("No sessions yet: start one with troupe run");
      else {
        printTable(
          cli.terminal,
          ["SESSION", "AGENT", "BEGAN", "ENTRIES", "STATUS"],
          rows.map(({ root, entries }) => [
            root.kind === "session" ? root.address.slice("session/".length) : root.address,
            root.title,
            timeText(root.createdAt),
            String(entries),
            root.reason === undefined ? root.status : `${root.status}: ${root.reason}`,
          ]),
        );
      }
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});
