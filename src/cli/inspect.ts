/** `troupe inspect`. */
import { isBounded } from "../../actors/budget.ts";
import { checkRecords, type RecordProblem } from "../../actors/record_check.ts";
import { eraOf, McpRevision } from "../../schemas/mcp_revision.ts";
import type { McpSessionRecord, ToolRecords } from "../../schemas/record.ts";
import { peekText } from "../peek.ts";
import { readBudget } from "../records/budget_fold.ts";
import { readMcpSessions } from "../records/mcp_sessions.ts";
import { readRecords } from "../records/session_records.ts";
import { printBudget } from "./budget.ts";
import { type Cli, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { CheckFailedError, exitCodes } from "./exit.ts";
import { locateStore, openReading } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { findSession } from "./session_name.ts";
import { printTable } from "./table.ts";

/** Shows what governed a session. */
export const command = defineCommand({
  args: ["SESSION"],
  about: [
    "Shows the records of a session: which tools were defined and how each is governed, what every turn was bound to,",
    "what was called, its MCP servers: connected, pending, needs_auth, failed or disabled, and the session with each, and",
    "its budget.",
    "They are read off the journal and checked: whatever refers to something else than it should is named, and the exit",
    "code is 3. SESSION is an id, an unambiguous part of one, or last.",
  ],
  options: { store: storeOption, json: jsonOption },
  examples: ["troupe inspect last", "troupe inspect last --json"],
  run: async ({ cli, options, args }) => {
    const host = await openReading(cli, await locateStore(cli, options.store));
    try {
      const { address: session, origin } = await findSession(host, args[0] ?? "");
      const mcpSessions = await readMcpSessions({
        session,
        roots: await host.listRoots(),
        pages: (root) => host.readPages(root),
      });
      const records = await readRecords({
        session,
        pages: host.readPages(session),
        readBlob: (digest) => host.readBlob(digest),
        digest: cli.seams.digest,
        mcpSessions,
      });
      const problems = checkRecords(records);
      const budget = await readBudget(host.readPages(session));
      if (options.json) {
        const from = origin === undefined ? {} : { origin };
        cli.terminal.out.line(jsonLine({ session, ...from, ...records, mcpSessions, budget, problems }));
      } else {
        if (origin !== undefined) {
          cli.terminal.out.line(`Fork of ${origin.address} at entry ${origin.seq}`);
          cli.terminal.out.line("");
        }
        print(cli, records);
        printSessions(cli, mcpSessions);
        if (isBounded(budget)) {
          cli.terminal.out.line("");
          cli.terminal.out.line(cli.terminal.out.style.bold("Budget"));
          printBudget(cli, budget);
        }
      }
      if (problems.length > 0) throw inconsistent(problems);
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});

function inconsistent(problems: readonly RecordProblem[]): CheckFailedError {
  const shown = problems.slice(0, 3).map(({ record, rule }) => `${record}: ${rule}`).join("; ");
  const more = problems.length > 3 ? `, and ${problems.length - 3} more` : "";
  return new CheckFailedError(
    "records_inconsistent",
    `The records of the session do not agree: ${shown}${more}`,
  );
}

function printSessions({ terminal }: Cli, sessions: readonly McpSessionRecord[]): void {
  if (sessions.length === 0) return;
  const { out } = terminal;
  out.line("");
  out.line(out.style.bold("MCP sessions"));
  printTable(
    terminal,
    [
      "CONNECTION",
      "SERVER IS",
      "REACHED BY",
      "SESSION",
      "STATE",
      "OPENED",
      "LAST EVENT",
      "CALLS ITSELF",
      "REVISION",
      "ERA",
    ],
    sessions.map((one) => [
      one.connection,
      one.failure === null ? one.state : `${one.state}: ${one.failure.code}`,
      one.server_url ?? one.transport_kind,
      one.session_id ?? "-",
      one.session_state ?? "-",
      String(one.sessions),
      one.last_sse_event ?? "-",
      peekText(one.initialize_result, "serverInfo", "name") || "-",
      ...revisionOf(one),
    ]),
  );
}

function revisionOf({ initialize_result: told }: McpSessionRecord): readonly [string, string] {
  const { data } = McpRevision.safeParse(told?.["protocolVersion"]);
  return data === undefined ? ["-", "-"] : [data, eraOf(data)];
}

function print(
  { terminal }: Cli,
  { definitions, implementations, bindings, invocations }: ToolRecords,
): void {
  const { out, err } = terminal;
  if (bindings.length === 0) return err.line("No turn was begun: nothing is bound yet");
  const references = new Map(implementations.map(({ id, reference }) => [id, reference]));
  const trusts = new Map(implementations.map(({ id, metadata }) => [id, peekText(metadata, "trust")]));
  const names = new Map(definitions.map(({ id, toolName }) => [id, toolName]));
  out.line(out.style.bold("Tools"));
  printTable(
    terminal,
    ["TOOL", "KIND", "TRUST", "GOVERNED", "BOUND TO", "WHY", "TURNS", "CALLS"],
    definitions.map(({ id, toolName, toolKind, governance }) => {
      const own = bindings.filter(({ definition }) => definition === id);
      const bound = new Set(
        own.map(({ implementation }) => references.get(implementation) ?? implementation),
      );
      const reasons = new Set(own.map(({ reason }) => reason));
      const calls = invocations.filter(({ definition }) => definition === id).length;
      return [
        toolName,
        toolKind,
        [...new Set(own.map(({ implementation }) => trusts.get(implementation) ?? ""))].join(", ") || "-",
        governance,
        [...bound].join(", ") || "-",
        [...reasons].join(", ") || "-",
        String(own.length),
        String(calls),
      ];
    }),
  );
  if (invocations.length === 0) return err.line("No bound tool was called");
  out.line("");
  out.line(out.style.bold("Calls"));
  printTable(
    terminal,
    ["INVOCATION", "TURN", "TOOL", "ATTEMPT", "STATUS", "OUTCOME"],
    invocations.map(({ id, execution, definition, attempt, status, outcome }) => [
      id,
      execution?.split("/").at(-1) ?? "-",
      names.get(definition) ?? definition,
      String(attempt),
      status,
      outcome ?? "-",
    ]),
  );
}
