/** Real kills: `deno task kill --rounds N --from S`. Prints progress; the exit code is 1 if any round fails. */
import { type Kind, kinds } from "./draw.ts";
import { playRound, type Result } from "./round.ts";
import { describe, playRounds, totalsOf } from "./rounds.ts";

const usage = "Usage: deno task kill [--rounds N] [--from S] [--kind KIND] [--beside N] [--json]\n" +
  "  --rounds N   how many rounds to play, 60 by default\n" +
  "  --from S     the first round, 1 by default; the same number is the same round\n" +
  `  --kind KIND  only rounds of one kind: ${kinds.join(", ")}\n` +
  "  --beside N   how many run side by side, 3 by default\n" +
  "  --json       print one JSON line for each round";

function wrongUse(): never {
  console.error(usage);
  Deno.exit(2);
}

function numberAfter(name: string, otherwise: number): number {
  const index = Deno.args.indexOf(name);
  if (index < 0) return otherwise;
  const value = Number(Deno.args[index + 1]);
  return Number.isSafeInteger(value) && value > 0 ? value : wrongUse();
}

function kindAfter(name: string): Kind | undefined {
  const index = Deno.args.indexOf(name);
  if (index < 0) return undefined;
  return kinds.find((kind) => kind === Deno.args[index + 1]) ?? wrongUse();
}

async function main(): Promise<number> {
  if (Deno.args.includes("--help")) return console.log(usage), 0;
  const [count, from, beside] = [
    numberAfter("--rounds", 60),
    numberAfter("--from", 1),
    numberAfter("--beside", 3),
  ];
  const only = kindAfter("--kind");
  const isJson = Deno.args.includes("--json");
  const startedAt = performance.now();
  let shownAt = startedAt;
  const results: Result[] = [];
  const show = () => {
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
    console.error(`${totalsOf(results).text}, ${seconds} s`);
    shownAt = performance.now();
  };
  await playRounds({ count, from, beside, play: (number) => playRound(number, only) }, (result) => {
    results.push(result);
    if (isJson) console.log(JSON.stringify({ ...result, tail: undefined }));
    if (result.complaints.length > 0) console.error(describe(result));
    if (performance.now() - shownAt > 10_000) show();
  });
  show();
  return results.every(({ complaints }) => complaints.length === 0) ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
