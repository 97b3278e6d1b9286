/** Makes a failing plan smaller, as long as it breaks the same rule: what is left is what the failure needs. */
import type { Bug } from "./bugs.ts";
import type { Verdict } from "./evidence.ts";
import type { Crash, Plan } from "./plan.ts";
import { simulate } from "./simulation.ts";
import { halved } from "./workload.ts";

/** A failing run made small. */
export interface Shrunk {
  /** The run of the smallest plan. */
  readonly verdict: Verdict;
  /** The rule that it breaks first, as the run that it was made from. */
  readonly rule: string;
  /** How many runs it took. */
  readonly tries: number;
}

/** What decides which play is played at all: nothing that could be taken away. */
const fixed: ReadonlySet<string> = new Set([
  "seed",
  "play",
  "order",
  "crashes",
  "weights",
  "theme",
  "workload",
]);

/** Takes away one kind of trouble after another, then crashes, then halves the work, until nothing more can go. */
export async function shrink(failing: Verdict, bug: Bug = {}): Promise<Shrunk> {
  const rule = failing.violations[0]?.rule;
  if (rule === undefined) throw new Error(`Cannot shrink seed ${failing.plan.seed}: it breaks no rule`);
  let best = failing;
  let tries = 0;
  const keepIfBroken = async (plan: Plan): Promise<boolean> => {
    tries += 1;
    const verdict = await simulate(plan.seed, plan, bug);
    if (verdict.violations[0]?.rule !== rule) return false;
    best = verdict;
    return true;
  };
  for (let hasMore = true; hasMore;) {
    hasMore = false;
    for (const change of changes) {
      // The list is made anew after each success: what was taken away is not in it any more.
      for (let index = 0, plans = change(best.plan); index < plans.length;) {
        const plan = plans[index];
        if (plan === undefined || !await keepIfBroken(plan)) index += 1;
        else [plans, hasMore] = [change(best.plan), true];
      }
    }
  }
  return { verdict: best, rule, tries };
}

/** Ways to make a plan smaller, in the order in which they are tried. */
const changes: readonly ((plan: Plan) => Plan[])[] = [
  withoutTrouble,
  withTamerCrashes,
  withoutCrash,
  withLess,
];

/** The plan without one kind of trouble: a chance or a flag is off, one bound or site is as usual. */
function withoutTrouble(plan: Plan): Plan[] {
  return Object.entries(plan).flatMap(([name, value]) => {
    if (fixed.has(name)) return [];
    return lesser(value).map((less) => ({ ...plan, [name]: less }));
  });
}

function lesser(value: unknown): unknown[] {
  if (typeof value === "number") return value === 0 ? [] : [0];
  if (typeof value === "boolean") return value ? [false] : [];
  if (Array.isArray(value)) return value.map((_, at) => value.filter((_, index) => index !== at));
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).map((key) =>
    Object.fromEntries(Object.entries(value).filter(([other]) => other !== key))
  );
}

/** The plan with one of its crashes as an ordinary kill: no ghost, no other release, no change of the clock. */
function withTamerCrashes(plan: Plan): Plan[] {
  const tame: readonly Partial<Crash>[] = [{ how: "kill" }, { clockMs: 0 }, { isUpgrade: false }];
  return plan.crashes.flatMap((crash, at) =>
    tame.filter((part) => JSON.stringify({ ...crash, ...part }) !== JSON.stringify(crash))
      .map((part) => ({ ...plan, crashes: plan.crashes.with(at, { ...crash, ...part }) }))
  );
}

function withoutCrash(plan: Plan): Plan[] {
  return plan.crashes.map((_, at) => ({ ...plan, crashes: plan.crashes.filter((_, index) => index !== at) }));
}

function withLess(plan: Plan): Plan[] {
  return halved(plan.workload).map((workload) => ({ ...plan, workload }));
}

/** A test that plays the smallest plan, to be put into found_test.ts under a name that says what was wrong. */
export function testOf({ verdict: { plan, violations: [first] } }: Shrunk): string {
  return [
    `Deno.test("${first?.rule} holds where seed ${plan.seed} broke it", async () => {`,
    `  // ${first?.message.replaceAll("\n", " ")}`,
    `  const plan: Plan = ${JSON.stringify(plan)};`,
    "  assert.deepEqual((await simulate(plan.seed, plan)).violations, []);",
    "});",
  ].join("\n");
}
