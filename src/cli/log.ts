/** `troupe log`. */
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Host } from "../host/host.ts";
import { BudgetFold } from "../records/budget_fold.ts";
import { type Cli, debugOption, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { entryIn } from "../records/entry_view.ts";
import { entryText } from "./entry_text.ts";
import { exitCodes } from "./exit.ts";
import { locateStore, openReading } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { findSession } from "./session_name.ts";
import { cutTo, timeText } from "./table.ts";

/** Shows the entries of a session. */
export const command = defineCommand({
  args: ["SESSION"],
  about: [
    "Shows the journal of a session, entry by entry: number, time, kind, type, and what it says in short.",
    "Entries that one message caused are indented below the one that began. With --json: the whole entries.",
    "SESSION is an id, an unambiguous part of one, an address such as catalog/ses_…, or last.",
  ],
  options: {
    store: storeOption,
    from: { kind: "number", value: "SEQ", min: 1, help: "begin at this entry; default 1" },
    follow: { kind: "flag", short: "f", help: "go on with new entries while a process runs the store" },
    json: jsonOption,
    debug: debugOption,
  },
  examples: [
    "troupe log last",
    "troupe log ses_01JZ0000000000000000000000 --from 20",
    "troupe log last --follow --json",
  ],
  run: async ({ cli, options, args }) => {
    const host = await openReading(cli, await locateStore(cli, options.store));
    const stop = new AbortController();
    const stopListening = options.follow ? cli.onInterrupt(() => stop.abort()) : undefined;
    try {
      const { address } = await findSession(host, args[0] ?? "");
      const from = options.from ?? 1;
      const pages = options.follow ? host.follow(address, from, stop.signal) : host.readPages(address, from);
      for await (const page of pages) {
        for (const entry of page) print(cli, entry, options);
        if (cli.terminal.isClosed) break;
      }
      if (!options.json) await sayLost(cli, host, address);
      if (options.follow && host.owner === undefined && !options.json) {
        cli.terminal.err.line("No process runs this store: nothing new can come");
      }
      return stop.signal.aborted ? exitCodes.interrupted : exitCodes.ok;
    } finally {
      stopListening?.();
      stop.abort();
      await host.close();
    }
  },
});

/** A turn that ran when its session was taken out of service has no entry that says how it ended. */
async function sayLost({ terminal }: Cli, host: Host, address: RootAddress): Promise<void> {
  const record = (await host.listRoots()).find((root) => root.address === address);
  if (record?.kind !== "session" || record.status !== "quarantined") return;
  const fold = new BudgetFold();
  for await (const page of host.readPages(address)) for (const entry of page) fold.take(entry);
  const { turn } = fold.view();
  if (turn === undefined) return;
  terminal.err.line(
    `The turn ${turn} is lost: the session is quarantined: ${record.reason ?? "no reason was recorded"}`,
  );
}

function print(
  { terminal }: Cli,
  entry: Entry,
  { json, debug }: { readonly json: boolean; readonly debug: boolean },
): void {
  const { out } = terminal;
  if (json) return out.line(jsonLine(entryIn(debug ? "debug" : "event", entry)));
  const { seq, at, kind, type, cause } = entry;
  const isFirst = cause === seq;
  const head = `${String(seq).padStart(5)}  ${timeText(at)}  `;
  const what = `${isFirst ? "" : "  "}${kind}`.padEnd(12) + type.padEnd(16);
  const text = entryText(entry);
  const room = terminal.columns - head.length - what.length - 2;
  const shown = out.isTerminal ? cutTo(text, Math.max(room, 20)) : text;
  out.line(`${out.style.dim(head)}${isFirst ? out.style.bold(what) : what}  ${shown}`);
}
