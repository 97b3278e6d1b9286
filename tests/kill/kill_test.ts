/** Real kills in the gate: 60 rounds of real processes on real files; any number by `deno task kill`. */
import assert from "node:assert/strict";
import { planVariable, points } from "./crash_plan.ts";
import { drawRound } from "./draw.ts";
import { effects } from "./outside.ts";
import { playRound, type Result } from "./round.ts";
import { describe, playRounds, totalsOf } from "./rounds.ts";
import { allCells, cells, whyUnreachable } from "./table.ts";

const rounds = 60;
/** First round of this run: the same in every gate, unless somebody wants others. */
const from = Number(Deno.env.get("TROUPE_KILL_FROM") ?? 1);
/** Processes mostly wait for each other and for the disk. */
const beside = 4;

/** Processes are found and stopped as Linux does it. */
const ignore = Deno.build.os !== "linux";

Deno.test({
  name:
    "runtime that is killed at the points of the crash table, at random, while it recovers, stopped, fenced or " +
    `damaged keeps what it acknowledged and repeats nothing that hurts: rounds ${from} to ${
      from + rounds - 1
    } ` +
    "(F01, F02, F10, F11, F12)",
  ignore,
  fn: async () => {
    const results: Result[] = [];
    const play = (number: number) => playRound(number);
    await playRounds({ count: rounds, from, beside, play }, (result) => results.push(result));
    console.log(`kill: ${totalsOf(results).text}`);
    const failed = results.filter(({ complaints }) => complaints.length > 0);
    assert.ok(failed.length === 0, failed.map(describe).join("\n\n"));
  },
});

Deno.test("rounds of a gate reach every point of the crash table with every class that can reach it, and the rest say why not (F01)", () => {
  const drawn = Array.from({ length: rounds }, (_, index) => drawRound(index + 1).cell);
  const reached = new Set(drawn.map((cell) => `${cell?.point} ${cell?.effect}`));
  for (const cell of allCells) {
    const { point, effect } = cell;
    const name = `${point} ${effect}`;
    const carried = cells.filter((one) => one.point === point && one.effect === effect);
    if (whyUnreachable(cell) === undefined) assert.ok(carried.includes(cell) && reached.has(name), name);
    else assert.ok(!carried.includes(cell), name);
  }
  assert.equal(allCells.length, points.length * effects.length * 4);
});

/** Every module that a file brings in, by `deno info`. */
async function modulesOf(file: string): Promise<readonly string[]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", new URL(file, import.meta.url).pathname],
    stdout: "piped",
    stderr: "null",
  }).output();
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as {
    readonly modules: readonly { readonly local?: string }[];
  };
  return modules.flatMap(({ local }) => local === undefined ? [] : [local]);
}

Deno.test("code that kills is in no release: not among the modules of main.ts, and not in their text (F01)", async () => {
  const [released, owner] = await Promise.all([modulesOf("../../main.ts"), modulesOf("owner.ts")]);
  assert.ok(
    owner.some((path) => path.endsWith("/tests/kill/crash_plan.ts")),
    "the look finds it where it is",
  );
  assert.ok(released.some((path) => path.endsWith("/src/host/open_host.ts")));
  assert.deepEqual(released.filter((path) => path.includes("/tests/")), []);
  const own = released.filter((path) => /\/(src|actors|schemas)\/|\/main\.ts$/.test(path));
  const texts = await Promise.all(own.map((path) => Deno.readTextFile(path)));
  assert.deepEqual(own.filter((_, index) => texts[index]?.includes(planVariable)), []);
});
