/** `troupe sessions`. */
import type { RootRecord } from "../../schemas/entry.ts";
import type { ForkOrigin } from "../../schemas/fork.ts";
import { sessionOf } from "../../schemas/ids.ts";
import type { TurnWait } from "../../schemas/recovery.ts";
import { readStandingWait } from "../why/standing_wait.ts";
import { defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes } from "./exit.ts";
import { locateStore, openReading } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { printTable, timeText } from "./table.ts";

interface SessionRow {
  readonly root: RootRecord;
  readonly entries: number;
  /** What its turn waits for, if it does since its model failed. */
  readonly wait: TurnWait | undefined;
}

/** Children behind their parents, else in the order of their beginnings. */
function underParents(rows: readonly SessionRow[]): readonly SessionRow[] {
  const parentOf = ({ root: { parent } }: SessionRow) => parent === undefined ? undefined : sessionOf(parent);
  const known = new Set(rows.map(({ root }) => root.address));
  const below = (row: SessionRow): readonly SessionRow[] => [
    row,
    ...rows.filter((one) => parentOf(one) === row.root.address).flatMap(below),
  ];
  return rows.filter((row) => !known.has(parentOf(row) ?? "")).flatMap(below);
}

/** Where a fork comes from, for a list; nothing for what is none. */
export function forkText({ origin }: { readonly origin?: ForkOrigin | undefined }): string {
  if (origin === undefined) return "";
  return ` (fork of ${origin.address.slice("session/".length)} at ${origin.seq})`;
}

function statusText({ status, reason }: RootRecord, wait: TurnWait | undefined): string {
  if (wait === undefined) return reason === undefined ? status : `${status}: ${reason}`;
  const { kind, nextRetryAtMs: until } = wait;
  return `waits: ${kind}, ${until === null ? "for troupe resume" : `until ${timeText(until)}`}`;
}

/** Lists the sessions of a store, oldest first. */
export const command = defineCommand({
  args: [],
  about: [
    "Lists the sessions of a store, oldest first: id, agent, when it began, entries, and whether it is active",
    "or quarantined, or what its turn waits for since its model failed. A child agent's session is listed below its",
    "parent's, by what it was asked. A fork says of which session, and where.",
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
      const rows: SessionRow[] = [];
      for (const root of roots) {
        const { seq: entries } = await host.readHead(root.address);
        const mayWait = root.kind === "session" && root.status === "active";
        const wait = mayWait ? await readStandingWait(host, root.address) : undefined;
        rows.push({ root, entries, wait });
      }
      const { out, err } = cli.terminal;
      if (options.json) {
        for (const { root, entries, wait } of rows) {
          out.line(jsonLine({ ...root, entries, ...(wait === undefined ? {} : { waiting: wait }) }));
        }
      } else if (rows.length === 0) err.line("No sessions yet: start one with troupe run");
      else {
        printTable(
          cli.terminal,
          ["SESSION", "AGENT", "BEGAN", "ENTRIES", "STATUS"],
          underParents(rows).map(({ root, entries, wait }) => [
            root.kind === "session" ? root.address.slice("session/".length) : root.address,
            `${root.parent === undefined ? root.title : `> ${root.title}`}${forkText(root)}`,
            timeText(root.createdAt),
            String(entries),
            statusText(root, wait),
          ]),
        );
      }
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});
