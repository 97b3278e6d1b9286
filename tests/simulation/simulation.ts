/** One simulated run: lives of the runtime on one disk, moved step by step, ended where the plan says, then judged. */
import { createHash } from "node:crypto";
import { internCatalog } from "../../actors/library.ts";
import type { StreamHead } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { prefixes } from "../../src/journal/keys.ts";
import { startRuntime } from "../../src/runtime.ts";
import { machineCode } from "../../src/machine_code.ts";
import { type Fault, MemoryDisk } from "../support/memory_store.ts";
import { createRandom } from "../support/world.ts";
import type { Bug } from "./bugs.ts";
import { type ClientAction, Clients } from "./clients.ts";
import { judge, recoveries } from "./judges.ts";
import { drain, Life, type Nature, type Sleeper, type StoreCall } from "./life.ts";
import { Outside } from "./outside.ts";
import { type Crash, type Plan, planOf } from "./plan.ts";
import { wirePoisonous } from "./poisonous.ts";
import { createDice, type Dice, scriptedScenario, swarmScenario } from "./scenario.ts";

/** A broken rule, with its number in kernel.md or the notes. */
export interface Violation {
  readonly rule: string;
  readonly message: string;
}

/** What a run showed. */
export interface Verdict {
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  readonly trace: readonly string[];
  /** Hash over every row of the store and every line of the ledger. */
  readonly hash: string;
  readonly counts: {
    readonly steps: number;
    readonly lives: number;
    readonly crashes: number;
    readonly performances: number;
    /** Commits and applications of the first life: how far a systematic plan has to count. */
    readonly firstCommits: number;
    readonly firstApplied: number;
  };
}

/** What was durable at the moment of a crash: the end of every stream. */
export interface Mark {
  readonly life: number;
  readonly heads: ReadonlyMap<string, StreamHead>;
}

/** Everything that the judges look at. */
export interface Evidence {
  readonly plan: Plan;
  readonly disk: MemoryDisk;
  readonly outside: Outside;
  readonly clients: Clients;
  readonly marks: readonly Mark[];
  readonly life: Life;
}

const stepsMax = 20_000;
/** A crash that has not come by this step of a life never will: its plan counted on more than there is. */
const crashStepsMax = 1_500;

type Step = () => void;

/** A run under way. */
export class Simulation {
  readonly plan: Plan;
  last: unknown;
  readonly trace: string[] = [];
  readonly violations: Violation[] = [];
  readonly disk = new MemoryDisk();
  readonly outside: Outside;
  readonly clients: Clients;
  readonly marks: Mark[] = [];
  readonly #bug: Bug;
  readonly #dice: Dice;
  readonly #nature: Nature;
  readonly #crashes: Crash[];
  /** The current life last; before it those that were given up and do not know it yet. */
  #lives: Life[] = [];
  #born = 0;
  #crashed = 0;
  #steps = 0;
  #applied = 0;
  readonly #first = { commits: 0, applied: 0 };

  constructor(plan: Plan, bug: Bug = {}) {
    this.plan = plan;
    this.#bug = bug;
    const random = createRandom(plan.seed ^ 0x5eed);
    this.#dice = createDice(random);
    this.#nature = { nowMs: 1_800_000_000_000, ids: 0, random };
    this.#crashes = [...plan.crashes];
    const scenario = plan.play === "script" ? scriptedScenario() : swarmScenario(this.#dice);
    const { disk } = this;
    const note = (line: string) => this.#note(line);
    this.outside = new Outside({ disk, scenario, canVerify: plan.canVerify, trace: note, bug });
    this.clients = new Clients({
      scenario,
      disk,
      outside: this.outside,
      dice: this.#dice,
      isUnruly: plan.isUnruly,
      trace: note,
      complain: (rule, message) => this.complain(rule, message),
    });
  }

  complain(rule: string, message: string): void {
    this.violations.push({ rule, message });
    this.#note(`BROKEN ${rule}: ${message}`);
  }

  /** Plays to the end: trouble, then peace, then one more start that finds nothing left to do. */
  async run(): Promise<Verdict> {
    this.#begin();
    await this.#untilQuiet();
    if (this.violations.length === 0) await this.#lookAgain();
    if (this.violations.length === 0) {
      const complain = (rule: string, message: string) => this.complain(rule, message);
      await judge(this.#evidence(), complain).catch((error) => complain("I6", `Cannot judge: ${error}`));
    }
    const hash = this.#hash();
    this.last = this.#lives.map((l: any) => ({n: l.number, calls: l.calls.map((c: any) => c.kind), deferred: l.deferred.length, d: String(l.deferred[0]), sl: l.sleepers.length, k: l.runtime && { waking: [...l.runtime.kernel.waking], ready: l.runtime.kernel.ready.length, pumping: l.runtime.kernel.pumping, unwritten: l.runtime.journal.writer.unwritten, roots: [...l.runtime.kernel.roots.values()].map((r: any) => [r.address, r.mailbox.length, r.held, r.ports.size, r.unwritten]) } }));
    for (const life of this.#lives) life.kill();
    return {
      plan: this.plan,
      violations: this.violations,
      trace: this.trace,
      hash,
      counts: {
        steps: this.#steps,
        lives: this.#born,
        crashes: this.#crashed,
        performances: this.outside.performed.length,
        firstCommits: this.#first.commits,
        firstApplied: this.#first.applied,
      },
    };
  }

  get #life(): Life {
    const life = this.#lives.at(-1);
    if (life === undefined) throw new Error("Nobody lives");
    return life;
  }

  #evidence(): Evidence {
    const { plan, disk, outside, clients, marks } = this;
    return { plan, disk, outside, clients, marks, life: this.#life };
  }

  #note(line: string): void {
    this.trace.push(`${this.#steps} ${line}`);
  }

  #begin(): void {
    // Catalogs in memory belong to a process; those of a ghost are shared with it here.
    if (this.#lives.length === 0) forgetCatalogs();
    const { plan, disk } = this;
    const life = new Life({
      number: ++this.#born,
      nature: this.#nature,
      disk,
      faults: () => this.#drawFault(),
      wrapStore: this.#bug.store,
      log: (from, { event, detail }) => this.#note(`${from.number} log ${event} ${JSON.stringify(detail)}`),
    });
    this.#lives.push(life);
    this.#applied = 0;
    this.#note(`life ${life.number} begins`);
    const isSilent = this.#dice.chance(plan.silence);
    startRuntime({
      store: life.store,
      seams: life.seams,
      strict: plan.strict,
      code: machineCode,
      hasAnswerer: () => !isSilent || this.#crashes.length === 0,
      pick: (count) => plan.order === "fixed" ? 0 : this.#dice.below(count),
      wire: this.#bug.wire ?? wirePoisonous,
      performers: (services) => this.outside.performersOf(life, services),
    }).then((runtime) => {
      life.runtime = runtime;
      this.#bug.onStart?.(runtime);
      runtime.questions.listen(({ id, shown }) => this.clients.seeQuestion(id, shown));
      this.#note(`life ${life.number} runs: ${JSON.stringify(runtime.recovery)}`);
    }, (error) => life.failure = error);
  }

  #drawFault(): Fault | undefined {
    const { throwing } = this.plan;
    if (this.#crashes.length === 0 || throwing === 0 || !this.#dice.chance(throwing)) return undefined;
    return this.#dice.pick(["throw_before", "throw_after"]);
  }

  async #untilQuiet(): Promise<void> {
    await drain();
    while (this.violations.length === 0) {
      if (this.#steps >= stepsMax) return this.complain("I11", `Not settled after ${stepsMax} steps`);
      if (this.#isCrashDue()) this.#crash();
      else if (this.#life.failure !== undefined) this.#failedStart();
      else {
        const step = this.#chooseStep();
        if (step === undefined) return;
        step();
        this.#steps += 1;
        this.#life.steps += 1;
      }
      await drain();
    }
  }

  /** Two lives that open one store at the same moment, or a store that fails: one is refused, and tries again. */
  #failedStart(): void {
    const { failure } = this.#life;
    this.#note(`life ${this.#life.number} could not start: ${failure}`);
    const mayFail = this.#lives.length > 1 || (this.#crashes.length > 0 && this.plan.throwing > 0);
    if (!mayFail) return this.complain("K20", `The runtime does not start: ${failure}`);
    this.#lives.pop()?.kill();
    this.#begin();
  }

  #isCrashDue(): boolean {
    const [crash] = this.#crashes;
    if (crash === undefined) return false;
    const life = this.#life;
    if (life.steps > crashStepsMax) this.#crashes.length = 0;
    if (crash.at === "step") return life.steps >= crash.n;
    if (crash.at === "performance") return this.#applied >= crash.n;
    return life.commits >= crash.n && life.calls.some(({ kind }) => kind === "commit");
  }

  #crash(): void {
    const crash = this.#crashes.shift();
    const life = this.#life;
    if (crash === undefined) return;
    const commit = life.calls.find(({ kind }) => kind === "commit");
    if (crash.at === "commit" && crash.when === "after") commit?.apply();
    if (this.#endsTooOften()) return;
    this.#crashed += 1;
    if (life.number === 1) this.#keepFirst();
    this.#note(`CRASH of life ${life.number}: ${JSON.stringify(crash)}`);
    if (crash.isGhost) life.calls.forEach((call) => call.hasTakenHold ||= call === commit && crash.when === "after");
    else for (const one of this.#lives.splice(0)) one.kill();
    const { landing } = this.plan;
    for (const attempt of this.outside.attempts) {
      if (!attempt.life.isAlive && !this.#dice.chance(landing)) attempt.isOver = true;
    }
    this.#mark();
    this.#begin();
  }

  #keepFirst(): void {
    this.#first.commits = this.#life.commits;
    this.#first.applied = this.#applied;
  }

  #mark(): void {
    const heads = this.disk.list({ prefix: prefixes.heads })
      .map(({ key, value }): [string, StreamHead] => [String(key[1]), value as StreamHead]);
    this.marks.push({ life: this.#born, heads: new Map(heads) });
  }

  /** A fourth start quarantines a root whose recovery ended the process three times: not what is played here. */
  #endsTooOften(): boolean {
    return this.disk.list({ prefix: recoveries }).some(({ value }) =>
      (value as { readonly attempts: number }).attempts >= limits.recoveryAttemptsMax
    );
  }

  #chooseStep(): Step | undefined {
    const groups = this.#groups(false);
    const total = groups.reduce((sum, { weight }) => sum + weight, 0);
    if (total === 0) return this.#groups(true)[0]?.take();
    if (this.plan.order === "fixed") return groups[0]?.take();
    let at = this.#dice.next() * total;
    for (const { weight, take } of groups) {
      at -= weight;
      if (at < 0) return take();
    }
    return groups.at(-1)?.take();
  }

  /** Kinds of steps that are possible now, in the order of the fixed plan. */
  #groups(isIdle: boolean): { readonly weight: number; readonly take: () => Step }[] {
    const { weights } = this.plan;
    const groups: { readonly weight: number; readonly take: () => Step }[] = [];
    const add = <T>(weight: number, items: readonly T[], take: (item: T) => Step) => {
      if (items.length > 0) groups.push({ weight, take: () => take(this.#choose(items)) });
    };
    const lives = this.#lives;
    add(weights.store, lives.flatMap((life) => life.calls.map((call) => ({ life, call }))), (item) => () => {
      this.#moveCall(item.life, item.call);
    });
    add(weights.task, lives.filter(({ deferred }) => deferred.length > 0), (life) => () => life.deferred.shift()?.());
    add(weights.effect, this.outside.moving(), (attempt) => () => {
      if (this.outside.advance(attempt) === "apply" && attempt.life === this.#life) this.#applied += 1;
    });
    const act = (action: ClientAction) => () => {
      this.#note(`${this.#life.number} ${action.name}`);
      action.run();
    };
    add(weights.client, this.clients.actions(this.#life, isIdle), act);
    if (groups.length > 0) add(weights.client / 4, this.clients.whims(this.#life), act);
    const due = this.#nextSleeper();
    add(weights.time, due === undefined ? [] : [due], ({ life, sleeper }) => () => {
      this.#nature.nowMs = Math.max(this.#nature.nowMs, sleeper.dueAtMs);
      life.wake(sleeper);
    });
    return groups;
  }

  #choose<T>(items: readonly T[]): T {
    const [first] = items;
    if (first === undefined) throw new Error("Cannot choose from nothing");
    return this.plan.order === "fixed" ? first : this.#dice.pick(items);
  }

  #moveCall(life: Life, call: StoreCall): void {
    this.#note(`${life.number} store ${call.kind} ${call.number} ${call.hasTakenHold}`);
    if (!call.hasTakenHold && this.plan.order === "chance" && this.#dice.chance(0.3)) {
      call.apply();
      call.hasTakenHold = true;
      return;
    }
    life.calls.splice(life.calls.indexOf(call), 1);
    call.settle();
  }

  #nextSleeper(): { readonly life: Life; readonly sleeper: Sleeper } | undefined {
    let next: { readonly life: Life; readonly sleeper: Sleeper } | undefined;
    for (const life of this.#lives) {
      const sleeper = life.firstSleeper;
      if (sleeper !== undefined && sleeper.dueAtMs < (next?.sleeper.dueAtMs ?? Infinity)) next = { life, sleeper };
    }
    return next;
  }

  /** Starts once more on the same data: nothing may be left to do, and every client hears again what it heard (I7). */
  async #lookAgain(): Promise<void> {
    if (this.#born === 1) this.#keepFirst();
    for (const life of this.#lives.splice(0)) life.kill();
    this.#crashes.length = 0;
    this.#mark();
    this.#begin();
    await this.#untilQuiet();
    const { runtime } = this.#life;
    if (runtime === undefined) return this.complain("K20", "The last life never came to run");
    const { open, letters, timers } = runtime.recovery;
    if (open + letters + timers > 0) {
      this.complain("K19", `A start after the end found ${JSON.stringify(runtime.recovery)}`);
    }
    for (const ticket of this.clients.tickets) this.clients.give(this.#life, runtime, ticket);
    await this.#untilQuiet();
  }

  #hash(): string {
    const hash = createHash("sha256");
    for (const { key, value, versionstamp } of this.disk.rows()) {
      hash.update(JSON.stringify([key, versionstamp]));
      hash.update(value instanceof Uint8Array ? value : JSON.stringify(value));
    }
    return hash.update(JSON.stringify(this.outside.ledger)).digest("hex");
  }
}

const emptyCatalogs = Array.from({ length: 1_024 }, (_, index) => `sha256:${String(index).padStart(64, "0")}`);

/** A new process has no catalog in memory: whoever needs one must load it. */
export function forgetCatalogs(): void {
  for (const hash of emptyCatalogs) internCatalog(hash, { epoch: 1, coreRevision: "none", entries: [] });
}

/** Plays one seed. One at a time: bounds and catalogs belong to the whole process. */
export async function simulate(seed: number, plan: Plan = planOf(seed), bug: Bug = {}): Promise<Verdict> {
  const usual = { ...limits };
  Object.assign(limits, plan.bounds);
  try {
    return await new Simulation(plan, bug).run();
  } finally {
    Object.assign(limits, usual);
  }
}
