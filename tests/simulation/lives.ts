/** The lives of one run: how each begins on the data of the one before, and how it ends. */
import { emptyLibrary } from "../../actors/library.ts";
import { createDoorRedactor } from "../../src/effects/clean.ts";
import type { StreamHead } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { openJournalReader } from "../../src/journal/journal.ts";
import { keys, prefixes } from "../../src/journal/keys.ts";
import { StoreError, type StoreKey } from "../../src/journal/store.ts";
import { machineCode } from "../../src/machine_code.ts";
import { startRuntime } from "../../src/runtime.ts";
import type { Fault, MemoryDisk } from "../support/memory_store.ts";
import { digestNow } from "../support/world.ts";
import type { Bug } from "./bugs.ts";
import type { Clients } from "./clients.ts";
import type { Complain, Mark } from "./evidence.ts";
import { Life, type Nature } from "./life.ts";
import type { Outside } from "./outside.ts";
import type { Crash, Plan } from "./plan.ts";
import { wirePoisonous } from "./poisonous.ts";
import type { Dice } from "./scenario.ts";
import { knownSecrets } from "./secrets.ts";
import type { Sites } from "./sites.ts";

/** Where the counts of recoveries begun and not ended stand. */
export const recoveries: StoreKey = keys.recover("any").slice(0, 1);

/** A crash that has not come by this step of a life never will: its plan counted on more than there is. */
const crashStepsMax = 1_500;

/** Options of {@linkcode Lives}. */
export interface LivesOptions {
  readonly plan: Plan;
  readonly disk: MemoryDisk;
  readonly nature: Nature;
  readonly dice: Dice;
  readonly outside: Outside;
  readonly clients: Clients;
  readonly bug: Bug;
  readonly sites: Sites;
  readonly note: (line: string) => void;
  readonly complain: Complain;
}

/** All lives of one run, one after another; ghosts go on beside the one that took over from them. */
export class Lives {
  readonly marks: Mark[] = [];
  readonly ghosts = new Set<number>();
  /** Commits and applications of the first life. */
  readonly first = { commits: 0, applied: 0 };
  /** Kinds of trouble that really came, by name. */
  readonly met = new Set<string>();
  born = 0;
  crashed = 0;
  readonly #options: LivesOptions;
  readonly #crashes: Crash[];
  #all: Life[] = [];
  #releases = 0;

  constructor(options: LivesOptions) {
    this.#options = options;
    this.#crashes = [...options.plan.crashes];
  }

  /** The current life last; before it those that were given up and do not know it yet. */
  get all(): readonly Life[] {
    return this.#all;
  }

  /** True while crashes are to come. */
  get hasTroubleLeft(): boolean {
    return this.#crashes.length > 0;
  }

  /** From now on nothing goes wrong any more, and somebody answers: the crashes that did not come are called off. */
  heal(): void {
    this.#crashes.length = 0;
  }

  /** True if the current life keeps away from a root that it could not read. */
  get hasGivenUpRoot(): boolean {
    const records = this.current.runtime?.kernel.records.values() ?? [];
    return [...records].some(({ status }) => status === "quarantined");
  }

  get current(): Life {
    const life = this.#all.at(-1);
    if (life === undefined) throw new Error("Nobody lives");
    return life;
  }

  /** Starts the runtime on what is there. */
  begin(): void {
    // Catalogs in memory belong to a process; those of a ghost are shared with it here.
    if (this.#all.length === 0) emptyLibrary();
    const { plan, disk, nature, dice, bug, sites, note } = this.#options;
    const life: Life = new Life({
      number: ++this.born,
      nature,
      disk,
      faults: () => this.#drawFault(),
      readFaults: () => this.#drawReadFault(),
      wrapStore: (store) =>
        sites.store(bug.store?.(store) ?? store, {
          clock: () => life.seams.clock,
          hasTroubleLeft: () => this.hasTroubleLeft,
        }),
      log: (from, { event, detail }) => note(`${from.number} log ${event} ${JSON.stringify(detail)}`),
    });
    this.#all.push(life);
    note(`life ${life.number} begins`);
    const isSilent = dice.chance(plan.silence);
    if (isSilent && this.hasTroubleLeft) this.met.add("life with nobody to answer");
    const { wire } = bug;
    startRuntime({
      store: life.store,
      seams: sites.seams(life.seams),
      strict: plan.strict,
      code: codeOf(this.#releases),
      hasAnswerer: () => !isSilent || this.#crashes.length === 0,
      pick: (count) => plan.order === "fixed" ? 0 : dice.below(count),
      // A planted bug may keep what belongs to one life, so its machines are made for each.
      wire: wire === undefined ? wirePoisonous : (desk) => wire(desk),
      redactor: bug.redactor?.() ??
        createDoorRedactor(sites.has("secret_told") ? knownSecrets() : undefined),
      performers: (services) => this.#options.outside.performersOf(life, services),
    }).then((runtime) => this.#welcome(life, runtime), (error) => life.failure = error);
  }

  #welcome(life: Life, runtime: NonNullable<Life["runtime"]>): void {
    const { bug, note, clients, complain, disk } = this.#options;
    life.runtime = runtime;
    bug.onStart?.(runtime);
    runtime.questions.listen(({ id, shown }) => clients.seeQuestion(life, id, shown));
    const told = new Map<string, number>();
    runtime.watch((event) => {
      if (event.type !== "entries") return;
      const before = told.get(event.root);
      if (before !== undefined && event.entries[0]?.seq !== before + 1) {
        complain("K12", `${event.root} tells entry ${event.entries[0]?.seq} after ${before}`);
      }
      const head = disk.get(keys.head(event.root))?.value as StreamHead | undefined;
      const last = event.entries.at(-1)?.seq ?? 0;
      told.set(event.root, last);
      if ((head?.seq ?? 0) < last) {
        complain("K12", `Entry ${last} of ${event.root} was told before it was durable`);
      }
    });
    note(`life ${life.number} runs: ${JSON.stringify(runtime.recovery)}`);
  }

  #drawFault(): Fault | undefined {
    const { plan: { throwing }, dice } = this.#options;
    if (this.#crashes.length === 0 || throwing === 0 || !dice.chance(throwing)) return undefined;
    const busy = new StoreError("store_busy", "Cannot write store: it is busy");
    const fault = dice.pick<Fault>(["throw_before", "throw_after", "refuse", busy]);
    this.met.add(`commit fault ${fault instanceof StoreError ? fault.code : fault}`);
    return fault;
  }

  #drawReadFault(): boolean {
    const { plan: { misreading }, dice } = this.#options;
    // Starts that the store ends count against the roots that were open.
    const isFault = this.hasTroubleLeft && misreading > 0 && dice.chance(misreading) &&
      !this.#endsTooOften(1);
    if (isFault) this.met.add("read fault");
    return isFault;
  }

  /** Ends the current life if its plan says so, or if it failed, and begins the next. False if it goes on. */
  async turn(): Promise<boolean> {
    const life = this.current;
    if (life.failure !== undefined) return this.#failedStart(life);
    if (life.isStopping) {
      if (life.isStopped) await this.#end(life, undefined);
      return life.isStopped;
    }
    if (!this.#isCrashDue(life)) return false;
    const crash = this.#crashes.shift();
    if (crash === undefined || this.#endsTooOften()) return false;
    this.#options.note(`CRASH of life ${life.number}: ${JSON.stringify(crash)}`);
    this.crashed += 1;
    this.#meet(crash, life);
    this.#options.nature.nowMs += crash.clockMs;
    if (crash.how === "stop" && life.runtime !== undefined) life.stop(life.runtime);
    else await this.#end(life, crash);
    return true;
  }

  #meet({ at, when, how, clockMs }: Crash, life: Life): void {
    this.met.add(`crash ${how}`);
    this.met.add(at === "commit" ? `crash at commit ${when}` : `crash at ${at}`);
    if (life.runtime === undefined) this.met.add("crash in a start");
    if (clockMs !== 0) this.met.add(clockMs < 0 ? "clock set back" : "clock set forth");
    this.#meetFenced();
  }

  #meetFenced(): void {
    const isFenced = this.#all.slice(0, -1).some(({ runtime }) => runtime?.kernel.stopped !== undefined);
    if (isFenced) this.met.add("ghost fenced");
  }

  /** Kills everybody and begins anew, without any further trouble. */
  async restart(): Promise<void> {
    this.heal();
    this.#meetFenced();
    await this.#end(this.current, undefined);
  }

  killAll(): void {
    for (const life of this.#all.splice(0)) life.kill();
  }

  async #end(life: Life, crash: Crash | undefined): Promise<void> {
    if (life.number === 1) this.#keepFirst(life);
    const commit = life.calls.find(({ kind }) => kind === "commit");
    if (commit !== undefined && crash?.at === "commit" && crash.when === "after") {
      commit.apply();
      commit.hasTakenHold = true;
    }
    if (crash?.how === "ghost") this.ghosts.add(life.number);
    else this.killAll();
    const { plan, dice, outside } = this.#options;
    for (const attempt of outside.attempts) {
      // A request on the wire of a dead process may still arrive.
      if (attempt.life.isAlive) continue;
      if (!dice.chance(plan.landing)) attempt.isOver = true;
      else if (!attempt.isOver) this.met.add("request outlives its process");
    }
    this.#mark();
    // A ghost of the older release could still begin something that only that release may end.
    const isAlone = this.#all.length === 0;
    if (crash?.isUpgrade === true && isAlone && !await this.#hasHarmOpen()) {
      this.#releases += 1;
      this.met.add("another release");
    }
    this.begin();
  }

  #keepFirst(life: Life): void {
    this.first.commits = life.commits;
    this.first.applied = life.applied;
  }

  /** Two lives that open one store at the same moment, or a store that fails: one is refused, and tries again. */
  #failedStart(life: Life): boolean {
    const { note, complain, plan } = this.#options;
    note(`life ${life.number} could not start: ${life.failure}`);
    this.met.add("start refused");
    const hasCause = this.#all.length > 1 || (this.hasTroubleLeft && plan.throwing + plan.misreading > 0);
    const isOfStore = life.failure instanceof StoreError || String(life.failure).includes("store_fault");
    if (!hasCause || !isOfStore) complain("K20", `The runtime does not start: ${life.failure}`);
    this.#all.pop()?.kill();
    this.begin();
    return true;
  }

  #isCrashDue(life: Life): boolean {
    if (life.steps > crashStepsMax) this.#crashes.length = 0;
    const [crash] = this.#crashes;
    if (crash === undefined) return false;
    if (crash.at === "step") return life.steps >= crash.n;
    if (crash.at === "performance") return life.applied >= crash.n;
    return life.commits >= crash.n && life.calls.some(({ kind }) => kind === "commit");
  }

  #mark(): void {
    const heads = this.#options.disk.list({ prefix: prefixes.heads })
      .map(({ key, value }): [string, StreamHead] => [String(key[1]), value as StreamHead]);
    this.marks.push({ life: this.born, heads: new Map(heads) });
  }

  /** A fourth start quarantines a root whose recovery ended the process three times: not what is played here. */
  #endsTooOften(before = 0): boolean {
    return this.#options.disk.list({ prefix: recoveries }).some(({ value }) =>
      (value as { readonly attempts: number }).attempts >= limits.recoveryAttemptsMax - before
    );
  }

  /** K21: a root with an open effect that could hurt can only be finished by the release that began it. */
  async #hasHarmOpen(): Promise<boolean> {
    if (this.marks.at(-1)?.heads.size === 0) return false;
    const digest = (bytes: Uint8Array) => Promise.resolve(digestNow(bytes));
    const store = this.#options.disk.open();
    const reader = await openJournalReader({ store, seams: { digest, log: () => {} } });
    const open = new Set<string>();
    for await (const { address } of reader.listRoots()) {
      for await (const { kind, cause, body } of reader.readEntries(address)) {
        const { n, effect, id } = (body ?? {}) as {
          readonly n?: number;
          readonly effect?: string;
          readonly id?: string;
        };
        if (kind === "intent" && effect !== "idempotent") open.add(`${address}#${cause}.${n}`);
        if (kind === "outcome") open.delete(`${address}#${id}`);
      }
    }
    return open.size > 0;
  }
}

/** The code of the n-th release: the machines are the same, but nobody can know that. */
function codeOf(release: number): string {
  return release === 0 ? machineCode : `sha256:${String(release).padStart(64, "0")}`;
}
