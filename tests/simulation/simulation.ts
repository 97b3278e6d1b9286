/** One simulated run: lives of the runtime on one disk, moved step by step, ended where the plan says, then judged. */
import { createHash } from "node:crypto";
import { limits } from "../../schemas/limits.ts";
import { MemoryDisk } from "../support/memory_store.ts";
import { createRandom } from "../support/world.ts";
import type { Attempt } from "./attempt.ts";
import { budgetOf } from "./budgets.ts";
import type { Bug } from "./bugs.ts";
import { type ClientAction, Clients } from "./clients.ts";
import type { Counts, Verdict, Violation } from "./evidence.ts";
import { judge } from "./judges.ts";
import { drain, type Life, type Nature, type Sleeper, type StoreCall } from "./life.ts";
import { Lives } from "./lives.ts";
import { Outside } from "./outside.ts";
import { type Plan, planOf } from "./plan.ts";
import { createDice, type Dice, scriptedScenario } from "./scenario.ts";
import { BoundsJudge } from "./bounds_judge.ts";
import { Sites } from "./sites.ts";
import { swarmScenario } from "./swarm.ts";
import { taskScenario } from "./task_scenario.ts";
import { cut } from "./workload.ts";

/** Steps within which everything must have settled (notes 7.2). */
const stepsMax = 10_000;

type Step = () => void;

interface Group {
  readonly weight: number;
  readonly take: () => Step;
}

/** A run under way. */
class Simulation {
  readonly #plan: Plan;
  readonly #trace: string[] = [];
  readonly #violations: Violation[] = [];
  readonly #disk = new MemoryDisk();
  readonly #outside: Outside;
  readonly #clients: Clients;
  readonly #lives: Lives;
  readonly #bounds: BoundsJudge;
  readonly #dice: Dice;
  readonly #nature: Nature;
  /** What clients did, and how targets went, by kind. */
  readonly #acts = new Set<string>();
  #steps = 0;
  /** The step at which the phase began that is under way. */
  #healedAt = 0;

  constructor(plan: Plan, bug: Bug) {
    this.#plan = plan;
    const random = createRandom(plan.seed ^ 0x5eed);
    const dice = createDice(random);
    const nature = { nowMs: 1_800_000_000_000, ids: 0, random };
    [this.#dice, this.#nature] = [dice, nature];
    const whole = {
      script: scriptedScenario,
      swarm: () => swarmScenario(dice, plan.theme),
      tasks: taskScenario,
    }[plan.play]();
    const scenario = cut(whole, plan.workload);
    const disk = this.#disk;
    const note = (line: string) => void this.#trace.push(`${this.#steps} ${line}`);
    const complain = (rule: string, message: string) => this.#complain(rule, message);
    // Of their own dice: a run without a site is the same run.
    const sites = new Sites(plan.sites, (site) => createDice(createRandom(plan.seed ^ (0x51735 + site))));
    this.#bounds = new BoundsJudge(plan.bounds, complain);
    const outside = new Outside({ disk, scenario, canVerify: plan.canVerify, trace: note, bug, sites });
    const { isUnruly } = plan;
    const excuses = new Set([
      "mailbox_full",
      ...plan.misreading > 0 ? ["store_busy", "root_quarantined"] : [],
    ]);
    const budgets = (index: number) => budgetOf(plan, index);
    const clients = new Clients({
      scenario,
      budgetOf: budgets,
      disk,
      outside,
      isUnruly,
      excuses,
      sites,
      trace: note,
      complain,
    });
    [this.#outside, this.#clients] = [outside, clients];
    this.#lives = new Lives({ plan, disk, nature, dice, outside, clients, bug, sites, note, complain });
  }

  /** Phase A: trouble. Phase B: peace, in which all settles. Then one more start that finds nothing left to do. */
  async run(): Promise<Verdict> {
    this.#lives.begin();
    await this.#playTrouble();
    await this.#playPeace();
    if (this.#violations.length === 0) await this.#lookAgain();
    const seen = this.#violations.length === 0 ? await this.#judge() : new Set<string>();
    const hash = this.#hash();
    this.#lives.killAll();
    return {
      plan: this.#plan,
      violations: this.#violations,
      trace: this.#trace,
      hash,
      counts: this.#counts(),
      seen: new Set([...seen, ...this.#lives.met, ...this.#acts]),
    };
  }

  /** Phase A: faults are on until the last crash has come, or nothing happens any more. */
  async #playTrouble(): Promise<void> {
    await this.#untilQuiet(() => !this.#lives.hasTroubleLeft);
    this.#trace.push(`${this.#steps} HEALED`);
    this.#lives.heal();
  }

  /** Phase B: nothing goes wrong any more and somebody answers. Everything settles within the bound (I11). */
  async #playPeace(): Promise<void> {
    this.#healedAt = this.#steps;
    await this.#untilQuiet();
  }

  #complain(rule: string, message: string): void {
    this.#violations.push({ rule, message });
    this.#trace.push(`${this.#steps} BROKEN ${rule}: ${message}`);
  }

  async #judge(): Promise<ReadonlySet<string>> {
    const evidence = {
      plan: this.#plan,
      disk: this.#disk,
      outside: this.#outside,
      clients: this.#clients,
      marks: this.#lives.marks,
      ghosts: this.#lives.ghosts,
      life: this.#lives.current,
      said: this.#trace,
    };
    const complain = (rule: string, message: string) => this.#complain(rule, message);
    try {
      return await judge(evidence, complain);
    } catch (error) {
      complain("I6", `Cannot judge: ${error}`);
      return new Set();
    }
  }

  #counts(): Counts {
    const { born, crashed, first } = this.#lives;
    return {
      steps: this.#steps,
      lives: born,
      crashes: crashed,
      performances: this.#outside.performed.length,
      firstCommits: first.commits,
      firstApplied: first.applied,
    };
  }

  /** Until nothing can happen any more, or that is enough. */
  async #untilQuiet(isEnough: () => boolean = () => false): Promise<void> {
    await drain();
    while (this.#violations.length === 0 && !isEnough()) {
      const most = this.#plan.stepsMax ?? stepsMax;
      if (this.#steps - this.#healedAt >= most) {
        return this.#complain("I11", `Not settled after ${most} steps`);
      }
      if (!await this.#lives.turn()) {
        const step = this.#chooseStep();
        if (step === undefined) {
          // A root that could not be read is given up by its life; the next one reads it again.
          if (this.#plan.misreading === 0 || !this.#lives.hasGivenUpRoot) return;
          await this.#lives.restart();
          continue;
        }
        step();
        this.#steps += 1;
        this.#lives.current.steps += 1;
      }
      await drain();
      this.#bounds.look(this.#lives.current);
    }
  }

  /** Starts once more on the same data: nothing may be left to do, and every client hears again what it heard (I7). */
  async #lookAgain(): Promise<void> {
    await this.#lives.restart();
    await this.#untilQuiet();
    const life = this.#lives.current;
    const { runtime } = life;
    if (runtime === undefined) return this.#complain("K20", "The last life never came to run");
    const { open, letters, timers } = runtime.recovery;
    if (open + letters + timers > 0) {
      this.#complain("K19", `A start after the end found ${JSON.stringify(runtime.recovery)}`);
    }
    for (const ticket of this.#clients.tickets) this.#clients.give(life, runtime, ticket);
    await this.#untilQuiet();
  }

  #chooseStep(): Step | undefined {
    const groups = this.#groups();
    if (groups.length === 0) return this.#clientGroup(true)[0]?.take();
    const whims = this.#group(
      this.#plan.weights.client / 4,
      this.#clients.whims(this.#lives.current),
      this.#act,
    );
    const all = [...groups, ...whims];
    if (this.#plan.order === "fixed") return all[0]?.take();
    let at = this.#dice.next() * all.reduce((sum, { weight }) => sum + weight, 0);
    for (const { weight, take } of all) {
      at -= weight;
      if (at < 0) return take();
    }
    return all.at(-1)?.take();
  }

  /** Kinds of steps that are possible now, in the order of the fixed plan. */
  #groups(): Group[] {
    const { weights } = this.#plan;
    const lives = this.#lives.all;
    const due = this.#nextSleeper();
    return [
      ...this.#group(
        weights.store,
        lives.flatMap((life) => life.calls.map((call) => ({ life, call }))),
        ({ life, call }) => this.#moveCall(life, call),
      ),
      ...this.#group(
        weights.task,
        lives.filter(({ deferred }) => deferred.length > 0),
        ({ deferred }) => deferred.shift()?.(),
      ),
      ...this.#group(weights.effect, this.#outside.moving(), (attempt) => this.#advance(attempt)),
      ...this.#clientGroup(false),
      ...this.#group(weights.time, due === undefined ? [] : [due], ({ life, sleeper }) => {
        this.#nature.nowMs = Math.max(this.#nature.nowMs, sleeper.dueAtMs);
        life.wake(sleeper);
      }),
    ];
  }

  /** What clients mean to do. When nothing else happens any more, nobody waits for better moments. */
  #clientGroup(isIdle: boolean): Group[] {
    return this.#group(
      this.#plan.weights.client,
      this.#clients.actions(this.#lives.current, isIdle),
      this.#act,
    );
  }

  readonly #act = (action: ClientAction): void => {
    this.#trace.push(`${this.#steps} ${this.#lives.current.number} ${action.name}`);
    this.#acts.add(`client ${action.name.split(" ")[0]}`);
    action.run();
  };

  #advance(attempt: Attempt): void {
    this.#acts.add(`target ${attempt.fate}`);
    this.#outside.advance(attempt);
  }

  /** A group of steps, if there is any. Which of them is taken is chosen when the group is. */
  #group<T>(weight: number, items: readonly T[], take: (item: T) => void): Group[] {
    const [first] = items;
    if (first === undefined) return [];
    const choose = () => this.#plan.order === "fixed" ? first : this.#dice.pick(items);
    return [{
      weight,
      take: () => {
        const item = choose();
        return () => take(item);
      },
    }];
  }

  /** A call of the store takes hold and is answered, in one step or in two. */
  #moveCall(life: Life, call: StoreCall): void {
    if (!call.hasTakenHold && this.#plan.order === "chance" && this.#dice.chance(0.3)) {
      call.apply();
      call.hasTakenHold = true;
      return;
    }
    life.calls.splice(life.calls.indexOf(call), 1);
    call.settle();
  }

  #nextSleeper(): { readonly life: Life; readonly sleeper: Sleeper } | undefined {
    let next: { readonly life: Life; readonly sleeper: Sleeper } | undefined;
    for (const life of this.#lives.all) {
      const sleeper = life.firstSleeper;
      if (sleeper !== undefined && sleeper.dueAtMs < (next?.sleeper.dueAtMs ?? Infinity)) {
        next = { life, sleeper };
      }
    }
    return next;
  }

  #hash(): string {
    const hash = createHash("sha256");
    for (const { key, value, versionstamp } of this.#disk.peek()) {
      hash.update(JSON.stringify([key, versionstamp]));
      hash.update(value instanceof Uint8Array ? value : JSON.stringify(value));
    }
    return hash.update(JSON.stringify(this.#outside.ledger)).digest("hex");
  }
}

/** Plays one seed. One at a time: bounds and catalogs belong to the whole process. */
export async function simulate(seed: number, plan: Plan = planOf(seed), bug: Bug = {}): Promise<Verdict> {
  const usual = { ...limits };
  // Time jumps here while a commit is on its way: nobody may take that for a store that hangs.
  Object.assign(limits, { storePatienceMs: Infinity, ...plan.bounds });
  try {
    return await new Simulation(plan, bug).run();
  } finally {
    Object.assign(limits, usual);
  }
}
