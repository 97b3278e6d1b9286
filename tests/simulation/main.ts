/** Long runs: `deno task sim --seeds N --from S`. Prints progress and speed; the exit code is 1 if any seed fails. */
import { playAll, type Tally } from "./crew.ts";
import { describe, type Verdict } from "./evidence.ts";
import { shrink, type Shrunk, testOf } from "./shrink.ts";
import { simulate } from "./simulation.ts";

const usage = `Usage: deno task sim [options]
  --seeds N    how many seeds to play, 1,000 by default
  --from S     the first seed, 1 by default
  --workers N  how many at once, one for each core by default
  --trace      print every step of each seed, one seed after another
  --census     print how many seeds met each kind of entry and trouble
  --json       print one JSON document at the end, and nothing else`;

/** More failures than these are counted, but not made small. */
const shrunkMax = 3;

function numberAfter(name: string, otherwise: number): number {
  const index = Deno.args.indexOf(name);
  if (index < 0) return otherwise;
  const value = Number(Deno.args[index + 1]);
  if (Number.isSafeInteger(value) && value > 0) return value;
  console.error(usage);
  Deno.exit(2);
}

/** The commit that is played, if the folder is a clone and git is there. */
async function commitHere(): Promise<string | undefined> {
  try {
    const cwd = new URL(".", import.meta.url);
    const { success, stdout } = await new Deno.Command("git", { args: ["rev-parse", "HEAD"], cwd }).output();
    return success ? new TextDecoder().decode(stdout).trim() : undefined;
  } catch {
    return undefined;
  }
}

function progressLine({ played, totals, failed }: Tally, of: number, startedAt: number): string {
  const { crashes, performances, steps } = totals;
  const seconds = (performance.now() - startedAt) / 1_000;
  return `${played} of ${of} seeds: ${failed.length} failed, ${crashes} crashes, ${performances} effects, ` +
    `${steps} steps, ${(played / seconds).toFixed(1)} seeds/s`;
}

async function printTraces(from: number, seeds: number): Promise<number> {
  let failed = 0;
  for (let seed = from; seed < from + seeds; seed++) {
    const verdict = await simulate(seed);
    console.log(verdict.trace.join("\n"));
    if (verdict.violations.length === 0) continue;
    failed += 1;
    console.log(describe(verdict));
  }
  return failed === 0 ? 0 : 1;
}

/** The failing run, then what is left of it once it was made small. */
function printFailure(verdict: Verdict, small: Shrunk | undefined, commit: string | undefined): void {
  console.log(describe(verdict, commit));
  if (small === undefined) return;
  console.log(
    `\nAfter ${small.tries} runs it is no smaller than this, for tests/simulation/found_test.ts:\n`,
  );
  console.log(`${testOf(small)}\n`);
}

async function main(): Promise<number> {
  if (Deno.args.includes("--help")) return console.log(usage), 0;
  const [seeds, from] = [numberAfter("--seeds", 1_000), numberAfter("--from", 1)];
  if (Deno.args.includes("--trace")) return await printTraces(from, seeds);
  const isJson = Deno.args.includes("--json");
  const startedAt = performance.now();
  let shownAt = startedAt;
  const tally = await playAll({
    from,
    seeds,
    workers: numberAfter("--workers", navigator.hardwareConcurrency),
    onProgress: (so) => {
      if (isJson || performance.now() - shownAt < 5_000) return;
      console.error(progressLine(so, seeds, startedAt));
      shownAt = performance.now();
    },
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  const last = progressLine(tally, seeds, startedAt);
  const commit = tally.failed.length === 0 ? undefined : await commitHere();
  const small: Shrunk[] = [];
  for (const verdict of tally.failed.slice(0, shrunkMax)) small.push(await shrink(verdict));
  if (isJson) {
    console.log(JSON.stringify(documentOf(tally, small, { from, seeds, seconds, commit }), null, 2));
  } else {
    tally.failed.forEach((verdict, index) => printFailure(verdict, small[index], commit));
    if (Deno.args.includes("--census")) { for (const line of censusLines(tally)) console.log(line); }
    console.log(last);
  }
  return tally.failed.length === 0 ? 0 : 1;
}

function censusLines({ census }: Tally): string[] {
  return [...census.counts].sort(([a], [b]) => a < b ? -1 : 1).map(([name, count]) =>
    `${String(count).padStart(7)} ${name}`
  );
}

function documentOf({ totals, census, failed }: Tally, small: readonly Shrunk[], run: object): unknown {
  return {
    ...run,
    totals,
    census: Object.fromEntries([...census.counts].sort()),
    failed: failed.map(({ plan, violations: [first], trace }, index) => ({
      plan,
      first,
      trace: trace.slice(-50),
      smallest: small[index]?.verdict.plan,
    })),
  };
}

if (import.meta.main) Deno.exit(await main());
