/** `troupe usage`. */
import type { RootRecord } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { familyOf } from "../ancestors.ts";
import type { Host, Records } from "../host/host.ts";
import { type ModelUse, noUse, plusUse, UsageFold, type UsageRow } from "../records/usage_fold.ts";
import { type Cli, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { locateStore, openReading } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { withProgress } from "./progress.ts";
import { findSession } from "./session_name.ts";
import { printTable } from "./table.ts";

/** Sessions that are shown unless more are asked for: each is read from its journal. */
const sessionsShownMax = 50;

/** Shows what models took. */
export const command = defineCommand({
  args: ["[SESSION]"],
  about: [
    "Shows what was asked of models: requests, tokens in and out, and what they cost, for each turn and model of a",
    "session and of its child agents, with a sum; without SESSION one line for each session. The cost is what the",
    "provider tells, or what the prices in troupe.yaml make of the tokens; requests whose cost is not known are counted.",
    "SESSION is an id, an unambiguous part of one, or last. troupe budget shows what may still be spent.",
  ],
  options: {
    all: { kind: "flag", help: `without SESSION: every session; default: the ${sessionsShownMax} newest` },
    store: storeOption,
    json: jsonOption,
  },
  examples: ["troupe usage last", "troupe usage --all --json"],
  run: async ({ cli, options: { all, store, json }, args: [name] }) => {
    const host = await openReading(cli, await locateStore(cli, store));
    try {
      if (name === undefined) await showAll(cli, host, { all, json });
      else await showOne(cli, host, { name, json });
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});

interface SessionUsage {
  readonly session: RootAddress;
  readonly title: string;
  readonly rows: readonly UsageRow[];
}

async function showOne(
  cli: Cli,
  host: Host,
  { name, json }: { readonly name: string; readonly json: boolean },
): Promise<void> {
  const { address, kind } = await findSession(host, name);
  if (kind !== "session") {
    throw new UsageError("root_not_found", `"${address}" is no session: see troupe sessions`);
  }
  const family = familyOf(await host.listRoots(), address);
  const found = await readAll(cli, host, family);
  const total = sum(found.flatMap(({ rows }) => rows));
  if (json) {
    return cli.terminal.out.line(jsonLine({ session: address, sessions: found, total: { ...total } }));
  }
  printTable(
    cli.terminal,
    ["TURN", ...columns, "MODEL"],
    [
      ...found.flatMap(({ session, rows }) =>
        rows.map((row) => [
          session === address ? String(row.turn) : `${session} ${row.turn}`,
          ...cellsOf(row),
          row.model,
        ])
      ),
      ["all", ...cellsOf(total), ""],
    ],
  );
  sayUnknown(cli, total);
}

async function showAll(
  cli: Cli,
  host: Records,
  { all, json }: { readonly all: boolean; readonly json: boolean },
): Promise<void> {
  const sessions = (await host.listRoots()).filter(isSession).sort((one, other) =>
    other.createdAt - one.createdAt
  );
  const shown = all ? sessions : sessions.slice(0, sessionsShownMax);
  const found = await readAll(cli, host, shown);
  const { out, err } = cli.terminal;
  if (json) {
    for (const { session, title, rows } of found) out.line(jsonLine({ session, title, ...sum(rows) }));
    return;
  }
  if (found.length === 0) return err.line("No sessions yet: start one with troupe run");
  printTable(
    cli.terminal,
    ["SESSION", ...columns, "TITLE"],
    found.map(({ session, title, rows }) => [session, ...cellsOf(sum(rows)), title]),
  );
  sayUnknown(cli, sum(found.flatMap(({ rows }) => rows)));
  if (shown.length < sessions.length) {
    err.line(`${sessions.length - shown.length} older sessions are left out: --all shows them`);
  }
}

function isSession({ kind }: RootRecord): boolean {
  return kind === "session";
}

async function readAll(
  cli: Cli,
  host: Records,
  roots: readonly RootRecord[],
): Promise<readonly SessionUsage[]> {
  return await withProgress(cli, "reading journals", async () => {
    const found: SessionUsage[] = [];
    for (const { address: session, title } of roots) {
      const fold = new UsageFold();
      for await (const page of host.readPages(session)) for (const entry of page) fold.take(entry);
      found.push({ session, title, rows: fold.rows });
    }
    return found;
  });
}

function sum(rows: readonly UsageRow[]): ModelUse {
  return rows.reduce<ModelUse>(plusUse, noUse);
}

const columns = ["REQUESTS", "TOKENS IN", "TOKENS OUT", "COST USD"];

function cellsOf({ model_calls, input_tokens, output_tokens, priced_calls, cost_usd }: ModelUse): string[] {
  return [
    String(model_calls),
    String(input_tokens),
    String(output_tokens),
    priced_calls === 0 ? "-" : cost_usd.toFixed(6),
  ];
}

function sayUnknown(
  { terminal: { out } }: Cli,
  { model_calls, counted_calls, priced_calls }: ModelUse,
): void {
  const of = `${model_calls} request${model_calls === 1 ? "" : "s"}`;
  if (model_calls > priced_calls) {
    out.line(`The cost is not known for ${model_calls - priced_calls} of ${of}`);
  }
  if (model_calls > counted_calls) {
    out.line(`The tokens are not known for ${model_calls - counted_calls} of ${of}`);
  }
}
