/** `troupe diff`. */
import { differencesBetween, type RunDifference } from "../records/run_difference.ts";
import { type RunEvent, RunFold } from "../records/run_fold.ts";
import { type Call, type Cli, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { CheckFailedError, exitCodes, UsageError } from "./exit.ts";
import { jsonLine } from "./json_line.ts";
import { withProgress } from "./progress.ts";
import { openRun } from "./run_source.ts";
import { safeText, type Terminal } from "./terminal.ts";
import { driftText } from "./verify_text.ts";

/** Differences that are printed for people; with --json all are. */
const shownMax = 50;

const options = { store: storeOption, json: jsonOption } as const;

/** Compares two runs. */
export const command = defineCommand({
  args: ["A", "B"],
  about: [
    "Compares two runs of sessions: what was asked, what came back, what was decided, and the tools that there were.",
    "Tells the first entry that differs, and all that differ, field by field, as A -> B. Times, ids, epochs, positions",
    "and folders are not compared, nor the order of what runs at once. A and B are sessions, or, with a dot or a",
    "slash, what troupe export wrote, also as a fixture. Exit code 0: alike; 1: different.",
  ],
  options,
  examples: [
    "troupe diff ses_01JZ0000000000000000000000 last",
    "troupe diff ./before.jsonl last",
    "troupe diff tests/fixtures/reading last --json",
  ],
  run,
});

interface Run {
  readonly address: string;
  readonly events: readonly RunEvent[];
}

async function run({ cli, options: given, args }: Call<typeof options>): Promise<0> {
  const left = await readRun(cli, args[0] ?? "", given.store);
  const right = await readRun(cli, args[1] ?? "", given.store);
  const differences = differencesBetween(left.events, right.events);
  const { out } = cli.terminal;
  if (given.json) {
    const side = ({ address, events }: Run) => ({ address, entries: events.length });
    out.line(jsonLine({ left: side(left), right: side(right), differences }));
  } else print(cli.terminal, { left, right }, differences);
  const [first] = differences;
  if (first === undefined) return exitCodes.ok;
  const where = `first at ${placeText(first)}: ${first.what}`;
  throw new CheckFailedError("sessions_differ", `${differences.length} entries differ, ${where}`);
}

async function readRun(cli: Cli, name: string, store: string | undefined): Promise<Run> {
  const source = await openRun(cli, name, store);
  try {
    if (!source.address.startsWith("session/")) {
      throw new UsageError("argument_invalid", `Only sessions are compared, and "${source.address}" is none`);
    }
    const fold = new RunFold(source.valueOf);
    await withProgress(cli, `reading ${source.address}`, async () => {
      for await (const page of source.pages) for (const entry of page) await fold.take(entry);
    });
    return { address: source.address, events: fold.events };
  } finally {
    await source.close();
  }
}

function print(
  { out, err }: Terminal,
  { left, right }: { readonly left: Run; readonly right: Run },
  differences: readonly RunDifference[],
): void {
  out.line(safeText(`A  ${left.address}: ${left.events.length} entries`));
  out.line(safeText(`B  ${right.address}: ${right.events.length} entries`));
  if (differences.length === 0) out.line(out.style.green("alike"));
  for (const difference of differences.slice(0, shownMax)) {
    const only = difference.fields.length > 0
      ? ""
      : difference.left === undefined
      ? "only in B: "
      : "only in A: ";
    out.line(safeText(`${placeText(difference)}  ${only}${difference.what}`));
    for (const field of difference.fields) out.line(safeText(`    ${driftText(field)}`));
  }
  const more = differences.length - shownMax;
  if (more > 0) err.line(`${more} more differ; --json tells all`);
}

function placeText({ left, right }: RunDifference): string {
  return `entry ${left ?? "-"} | ${right ?? "-"}`;
}
