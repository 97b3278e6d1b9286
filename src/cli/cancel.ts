/** `troupe cancel`. */
import { type CancelReport, type CancelScope, type GoingOn, hasStoppedAll } from "../../schemas/cancel.ts";
import { defineCommand, jsonOption, storeOption } from "./cli.ts";
import { CheckFailedError, exitCodes, UsageError } from "./exit.ts";
import { locateStore, openOwnersDoor } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { findSession } from "./session_name.ts";
import { safeText } from "./terminal.ts";

const options = {
  store: storeOption,
  json: jsonOption,
  scope: { kind: "choice", choices: ["turn", "subtree", "session"], help: "how much is stopped" },
  call: { kind: "text", value: "CALL", help: "stop this call only: call/0.1, as troupe log shows it" },
  reason: { kind: "text", value: "TEXT", help: "why, for the journal" },
} as const;

/** Cancels a session, or a part of it. */
export const command = defineCommand({
  args: ["SESSION"],
  about: [
    "Stops what a session does in the process that runs the store, waits until that has ended, and says what was",
    "stopped and what goes on. The scope turn (the default) leaves background tasks alone; subtree ends them too, with",
    "all that they began; session does so for good: the session takes no prompt any more. --call stops one call, and",
    "its turn goes on. Calls that could hurt are waited for: the answer says what became of them, or that a person must",
    "say it; canceled once more, those end as unknown. SESSION is an id, an unambiguous part of one, or last.",
    "Exit code 1 if something was not there, or nobody knows how it ended.",
  ],
  options,
  examples: [
    "troupe cancel last",
    'troupe cancel last --scope subtree --reason "wrong folder"',
    "troupe cancel last --call call/0.1",
    "troupe cancel last --scope session --json",
  ],
  run: async ({ cli, options: given, args }) => {
    const { call, reason = "troupe cancel" } = given;
    if (call !== undefined && given.scope !== undefined) {
      throw new UsageError(
        "argument_invalid",
        "Say --call or --scope, not both: a call is a scope of its own",
      );
    }
    const host = await openOwnersDoor(cli, await locateStore(cli, given.store));
    try {
      const { address, kind } = await findSession(host, args[0] ?? "");
      if (kind !== "session") {
        throw new UsageError("root_not_found", `"${address}" is no session: see troupe sessions`);
      }
      const scope: CancelScope | undefined = call === undefined ? given.scope : "call";
      const named = call === undefined ? {} : { call: ordinalOf(call) };
      const order = { reason: reason.slice(0, 500), ...(scope === undefined ? {} : { scope }), ...named };
      const report = await host.cancel(address, order);
      const { out } = cli.terminal;
      if (given.json) out.line(jsonLine({ session: address, ...report }));
      else for (const line of describe(report)) out.line(safeText(line));
      if (!hasStoppedAll(report)) throw incomplete(report, address);
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});

/** The call as its session's machine names it, however much of its address was said. */
function ordinalOf(call: string): string {
  const short = call.replace(/^.*call\//, "");
  if (/^\d+\.\d+$/.test(short)) return `call/${short}`;
  throw new UsageError(
    "argument_invalid",
    `"${call}" names no call: write call/STEP.INDEX, such as call/0.1`,
  );
}

function describe(report: CancelReport): readonly string[] {
  const { stopped, undecided, goesOn, notFound } = report;
  const lines = [
    ...stopped.map((one) => `Stopped    ${nameOf(one)}: ${one.ended}`),
    ...undecided.map((one) => `Undecided  ${nameOf(one)}`),
    ...goesOn.map((one) => `Goes on    ${nameOf(one)}`),
    ...notFound.map((name) => `Not there  ${name}`),
  ];
  return lines.length === 0 ? ["Nothing of it was under way"] : lines;
}

function nameOf({ address, label }: GoingOn): string {
  return label === undefined ? address : `${address} (${label})`;
}

function incomplete({ undecided, notFound, result }: CancelReport, session: string): CheckFailedError {
  if (undecided.length > 0) {
    return new CheckFailedError(
      "cancel_undecided",
      `Nothing runs any more, but a call of ${session} may have happened: troupe questions shows what is asked; ` +
        "cancel once more to leave it unknown",
    );
  }
  if (notFound.length > 0) {
    const what = result === "nothing_to_cancel" ? "Nothing was canceled" : "Not all was canceled";
    return new CheckFailedError("nothing_to_cancel", `${what}: no ${notFound.join(", ")} runs in ${session}`);
  }
  return new CheckFailedError(
    "cancel_unknown",
    `All of it has ended, but nobody knows what some of it did: troupe log`,
  );
}
