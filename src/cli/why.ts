/** `troupe why`. */
import { explain, type Move, type Reason } from "../why/reason.ts";
import type { Wait } from "../why/actor_state.ts";
import { waitText } from "../why/wait_reason.ts";
import { findActor } from "./actor_address.ts";
import { type Cli, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { locateStore, openReading } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { durationText, timeText } from "./table.ts";
import { safeText } from "./terminal.ts";

/** Explains why an actor does not go on. */
export const command = defineCommand({
  args: ["ADDRESS"],
  about: [
    "Explains one actor: its state and since when, what it waits for, what is done when time is up, which",
    "messages it takes and who may send them, and why it is out of service if it is. Asks the process",
    "that runs the store, if one does; else the journal tells, and nothing is performed. ADDRESS is a",
    "session (an id, an unambiguous part of one, or last), an actor below it (last/turn/3,",
    "last/turn/3/call/0.1), any other root (connection/docs@ses_…, supervisor/main), or the id of a task",
    "or a question. troupe tree shows all of them.",
  ],
  options: { store: storeOption, json: jsonOption },
  examples: ["troupe why last", "troupe why last/turn/3/call/0.1", "troupe why supervisor/main --json"],
  run: async ({ cli, options, args }) => {
    const host = await openReading(cli, await locateStore(cli, options.store));
    try {
      const { views, view, address } = await findActor(host, args[0] ?? "");
      const nowMs = cli.seams.clock.now();
      const reason = await explain(views, view, { address, nowMs });
      if (reason === undefined) throw new UsageError("actor_not_found", `There is no actor "${address}" now`);
      if (options.json) cli.terminal.out.line(jsonLine(reason));
      else print(cli, reason, nowMs);
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});

function print({ terminal: { out } }: Cli, reason: Reason, nowMs: number): void {
  out.line(out.style.bold(safeText(reason.address)));
  const say = (label: string, text: string) => out.line(`  ${label.padEnd(10)} ${safeText(text)}`);
  say("is", standing(reason, nowMs));
  for (const text of troubles(reason, nowMs)) say("because", text);
  for (const [label, text] of waitLines(reason, nowMs)) say(label, text);
  if (reason.reasons.length > 0) say("reason", reason.reasons.join(", "));
  for (const [label, moves] of Object.entries(sorted(reason))) {
    for (const [index, move] of moves.entries()) say(index === 0 ? label : "", moveText(move));
  }
  if (reason.restarts > 0) say("restarts", `${reason.restarts} of late`);
}

function standing({ state, machine, sinceMs, isLive, isHeld, mail }: Reason, nowMs: number): string {
  const since = sinceMs === undefined
    ? ""
    : `, since ${timeText(sinceMs)} (${durationText(Math.max(nowMs - sinceMs, 0))})`;
  const where = isLive ? "" : ", resting in the store";
  const held = isHeld ? ", held" : "";
  const letters = mail === 0 ? "" : `, ${mail} messages wait for its root`;
  return `${state ?? "unknown"}${
    machine === undefined ? "" : ` (${machine})`
  }${since}${where}${held}${letters}`;
}

function troubles({ quarantine, poisoned, isHeld, unreadable }: Reason, nowMs: number): string[] {
  const lines: string[] = [];
  if (quarantine !== undefined) {
    lines.push(quarantine.reason);
    const { escalated } = quarantine;
    if (escalated !== undefined) {
      lines.push(
        `its supervisor gave up after ${escalated.restarts} restarts within ` +
          `${durationText(escalated.periodMs)}`,
      );
    }
  }
  if (isHeld) {
    lines.push("it crashed: its supervisor lets it go on after a wait (troupe why supervisor/main)");
  }
  if (poisoned !== undefined && (isHeld || quarantine !== undefined)) {
    const { message, failure: { code, message: text }, atMs } = poisoned;
    lines.push(
      `the message ${message} broke it ${durationText(Math.max(nowMs - atMs, 0))} ago: ${code}: ${text}`,
    );
  }
  if (unreadable !== undefined) lines.push(unreadable);
  return lines;
}

function* waitLines(reason: Reason, nowMs: number): Iterable<readonly [label: string, text: string]> {
  const { wait, waits, questions, below, awaits, rests, quarantine, state } = reason;
  if (wait !== undefined) {
    yield ["waits for", waitText(wait, reason.address)];
    const { nextRetryAtMs: until } = wait;
    if (until !== null) yield ["", `until ${timeText(until)} (${whenText(until, nowMs)})`];
  }
  for (const wait of [...waits, ...questions]) {
    yield ["waits for", wait.cancelAsked ? `${wait.words}; it was asked to stop` : wait.words];
    if (wait.untilMs !== undefined) yield ["", lateText(wait, wait.untilMs, nowMs)];
  }
  for (const root of awaits) yield ["waits for", `a message of ${root}`];
  for (const one of below) yield ["waits for", `${one.address}, which is ${one.state}`];
  const isWaiting =
    (wait === undefined ? 0 : 1) + waits.length + questions.length + awaits.length + below.length > 0;
  if (isWaiting || quarantine !== undefined || state === undefined) return;
  yield ["waits for", rests ? "nothing: it is at rest" : "a message"];
}

function whenText(untilMs: number, nowMs: number): string {
  const left = untilMs - nowMs;
  return left > 0 ? `in ${durationText(left)}` : `${durationText(-left)} ago`;
}

function lateText({ late, lateTo }: Wait, untilMs: number, nowMs: number): string {
  const when = whenText(untilMs, nowMs);
  const to = lateTo.length === 0 ? "" : ` -> ${lateTo.join(" | ")}`;
  return `until ${timeText(untilMs)} (${when}), then: ${late ?? "it fails"}${to}`;
}

function sorted({ moves }: Reason): { readonly [label: string]: readonly Move[] } {
  return {
    "moved by": moves.filter(({ to, byItself }) => to.length > 0 && !byItself),
    "may move": moves.filter(({ byItself }) => byItself),
    "also takes": moves.filter(({ to }) => to.length === 0),
  };
}

function moveText({ message, to, by, command }: Move): string {
  const target = to.length === 0 ? "" : ` -> ${to.join(" | ")}`;
  const how = command === undefined ? "" : `: ${command}`;
  return `${message}${target} (from its ${by.join(" or ") || "own kind"}${how})`;
}
