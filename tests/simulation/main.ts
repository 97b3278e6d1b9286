/** Long runs: `deno task sim --seeds N --from S`. Prints progress and speed; the exit code is 1 if any seed fails. */
import { describe } from "./evidence.ts";
import { simulate } from "./simulation.ts";

const usage = "Usage: deno task sim [--seeds N] [--from S] [--trace]\n" +
  "  --seeds N  how many seeds to play, 1,000 by default\n" +
  "  --from S   the first seed, 1 by default\n" +
  "  --trace    print every step of each seed";

function numberAfter(name: string, otherwise: number): number {
  const index = Deno.args.indexOf(name);
  if (index < 0) return otherwise;
  const value = Number(Deno.args[index + 1]);
  if (Number.isSafeInteger(value) && value > 0) return value;
  console.error(usage);
  Deno.exit(2);
}

async function main(): Promise<number> {
  if (Deno.args.includes("--help")) return console.log(usage), 0;
  const [seeds, from] = [numberAfter("--seeds", 1_000), numberAfter("--from", 1)];
  const startedAt = performance.now();
  const totals = { steps: 0, lives: 0, crashes: 0, performances: 0 };
  let failed = 0;
  let shownAt = startedAt;
  const show = (played: number) => {
    const seconds = (performance.now() - startedAt) / 1_000;
    const { crashes, performances, steps } = totals;
    console.log(
      `${played} of ${seeds} seeds from ${from}: ${failed} failed, ${crashes} crashes, ${performances} effects, ` +
        `${steps} steps, ${(played / seconds).toFixed(1)} seeds/s`,
    );
    shownAt = performance.now();
  };
  for (let seed = from; seed < from + seeds; seed++) {
    const verdict = await simulate(seed);
    for (const key of ["steps", "lives", "crashes", "performances"] as const) {
      totals[key] += verdict.counts[key];
    }
    if (Deno.args.includes("--trace")) console.log(verdict.trace.join("\n"));
    if (verdict.violations.length > 0) {
      failed += 1;
      console.log(describe(verdict));
    }
    if (performance.now() - shownAt > 5_000) show(seed - from + 1);
    // The driver never lets go of the event loop; a signal to stop needs it now and then.
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  show(seeds);
  return failed === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
