/** What a replay found, for people. */
import type { Json } from "../../schemas/json.ts";
import type { Divergence } from "../kernel/feed.ts";
import { firstDifference } from "./difference.ts";
import { CheckFailedError } from "./exit.ts";
import { jsonLine } from "./json_line.ts";
import type { TimedReplay } from "./replay.ts";
import { printState } from "./replay_state.ts";
import { cutTo, durationText } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** Longest value of a divergence in the one-line error, in characters. */
const shortCharactersMax = 300;

/** Prints what was compared: of the first replay in full, of those that go with it in one line each. */
export function printReplays(terminal: Terminal, replays: readonly TimedReplay[]): void {
  const [first, ...others] = replays;
  if (first !== undefined) printReplay(terminal, first);
  const { out } = terminal;
  if (first?.state !== undefined) printState(terminal, first.state);
  for (const { report: { address, entries, intents, divergence }, state } of others) {
    const compared = `${address}: ${number(entries)} entries, ${number(intents)} intents compared`;
    if (divergence === undefined) out.line(`${compared}, ${out.style.green("no divergence")}`);
    else out.line(`${compared}, ${out.style.red(`diverged at entry ${divergence.seq}: ${divergence.what}`)}`);
    if (state !== undefined) printState(terminal, state);
  }
}

function printReplay({ out }: Terminal, { report, durationMs }: TimedReplay): void {
  const { address, entries, cranks, intents, states, restored, skipped, divergence } = report;
  const perSecond = Math.round(entries / Math.max(durationMs, 1) * 1_000);
  out.line(`replayed ${address}`);
  out.line(`  entries    ${number(entries)} in ${durationText(durationMs)}, ${number(perSecond)} a second`);
  out.line(`  messages   ${number(cranks)} delivered, nothing performed`);
  out.line(`  intents    ${number(intents)} compared`);
  out.line(`  states     ${number(states)} compared`);
  if (restored > 0) out.line(`  restarts   ${number(restored)} compared`);
  if (skipped > 0) {
    out.line(
      out.style.yellow(
        `  skipped    ${number(skipped)} entries that other code wrote; --any-code replays them too`,
      ),
    );
  }
  if (divergence === undefined) {
    out.line(out.style.green("  no divergence"));
    return;
  }
  out.line(out.style.red(`  diverged at entry ${divergence.seq}: ${divergence.what}`));
  out.line(`  expected   ${jsonLine(divergence.expected)}`);
  out.line(`  got        ${jsonLine(divergence.got)}`);
}

/** A divergence as an error: one line with address, entry, and the place where what was expected and got differ. */
export function diverged({ address, seq, what, expected, got }: Divergence): CheckFailedError {
  const difference = firstDifference(expected, got) ?? { path: "", expected, got };
  const at = difference.path === "" ? "" : ` at ${difference.path}`;
  const values = `expected${at} ${shortJson(difference.expected)}, got ${shortJson(difference.got)}`;
  return new CheckFailedError("replay_diverged", `"${address}" diverges at entry ${seq}: ${what}; ${values}`);
}

function shortJson(value: Json | undefined): string {
  return value === undefined ? "nothing" : cutTo(jsonLine(value), shortCharactersMax);
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}
