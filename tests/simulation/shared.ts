/** Several runtimes on one shared store in random order: killed, stopped and let go on; then judged (K17). */
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Owner } from "../../schemas/lease.ts";
import { localOperator } from "../../schemas/principal.ts";
import { Script } from "../../schemas/script.ts";
import { examine } from "../../src/journal/doctor.ts";
import { openJournalReader } from "../../src/journal/journal.ts";
import type { Commit, Store } from "../../src/journal/store.ts";
import { createScriptedProvider } from "../../src/model/scripted.ts";
import { type Runtime, startRuntime } from "../../src/runtime.ts";
import { MemoryDisk } from "../support/memory_store.ts";
import { performersWith } from "../support/model_performers.ts";
import { sourceOf, toolFrom, type ToolSketch } from "../support/stage.ts";
import { createRandom, digestNow } from "../support/world.ts";
import { drain, Life, type Nature, type StoreCall } from "./life.ts";

/** Lives at once. */
const livesMax = 3;
const sessionsMax = 2;
const turnsMax = 2;
const faultsMax = 6;
const stepsMax = 12_000;
/** Steps in which faults happen; afterwards everybody goes on and everything must settle. */
const troubleSteps = 500;
/** A call lasts up to this long: many leases end in the middle of one. */
const callMsMax = 20_000;
/** Longer than a lease. */
const sleepMs = 35_000;

/** What a run ended as. */
export interface SharedVerdict {
  readonly seed: number;
  readonly violations: readonly string[];
  /** Take-overs, and roots that a runtime lost: what the run was about. */
  readonly taken: number;
  readonly lost: number;
  readonly kills: number;
  readonly pauses: number;
}

/** A bug to be found: see the test of the test. */
export type SharedBug = "owner_unchecked" | "heartbeat_unchecked" | "none";

interface Member {
  readonly life: Life;
  runtime: Runtime | undefined;
  isPaused: boolean;
}

/** A prompt that somebody wants answered, by whichever runtime. */
interface Wish {
  readonly session: number;
  readonly turn: number;
  state: "waits" | "given" | "answered";
}

/** A run under way. */
class SharedPlay {
  readonly #seed: number;
  readonly #bug: SharedBug;
  readonly #disk = new MemoryDisk();
  readonly #nature: Nature;
  readonly #dice: () => number;
  readonly #members: Member[] = [];
  readonly #commits = new WeakMap<StoreCall, Commit>();
  readonly #ledger = new Map<string, number>();
  readonly #violations: string[] = [];
  readonly #sessions: (RootAddress | undefined)[] = [];
  readonly #wishes: Wish[] = [];
  #faults = 0;
  #steps = 0;
  #counts = { taken: 0, lost: 0, kills: 0, pauses: 0 };

  constructor(seed: number, bug: SharedBug) {
    this.#seed = seed;
    this.#bug = bug;
    this.#nature = { nowMs: 1_800_000_000_000, ids: 0, random: createRandom(seed) };
    this.#dice = createRandom(seed ^ 0x1ea5e);
    for (let session = 0; session < sessionsMax; session++) {
      for (let turn = 1; turn <= turnsMax; turn++) this.#wishes.push({ session, turn, state: "waits" });
    }
  }

  async run(): Promise<SharedVerdict> {
    this.#start();
    this.#start();
    while (!this.#isOver() && this.#violations.length === 0) {
      if (this.#steps++ > stepsMax) {
        this.#violations.push(`Not settled after ${stepsMax} steps: ${JSON.stringify(this.#wishes)}`);
        break;
      }
      this.#step();
      await drain();
    }
    if (this.#violations.length === 0) await this.#judge();
    for (const { life, runtime } of this.#members) {
      life.kill();
      runtime?.journal.writer.abandon();
    }
    return { seed: this.#seed, violations: this.#violations, ...this.#counts };
  }

  #isOver(): boolean {
    if (this.#isTrouble() || this.#steps % 20 > 0) return false;
    if (this.#wishes.some(({ state }) => state !== "answered")) return false;
    return !this.#disk.rows().some(({ key }) => key[0] === "inbox" || key[0] === "open");
  }

  #isTrouble(): boolean {
    return this.#steps < troubleSteps;
  }

  #chance(of: number): boolean {
    return this.#dice() < of;
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.#dice() * from.length)];
  }

  #step(): void {
    if (this.#isTrouble()) {
      if (this.#faults < faultsMax && this.#chance(1 / 80)) return this.#harm();
      if (this.#chance(1 / 200)) this.#goOn(this.#pick(this.#members.filter(({ isPaused }) => isPaused)));
    } else {
      for (const member of this.#members) this.#goOn(member);
    }
    if (this.#chance(1 / 12)) return this.#ask();
    if (this.#chance(1 / 30)) return this.#answer();
    const moving = this.#members.filter(({ life, isPaused }) => life.isAlive && !isPaused);
    const member = this.#pick(moving.filter(({ life }) => life.calls.length + life.deferred.length > 0));
    // What a stopped process has sent may arrive, however late; it hears of it once it goes on.
    if (this.#chance(1 / 20)) this.#land();
    if (member === undefined || this.#chance(1 / 10)) return this.#passTime(moving);
    const { life } = member;
    if (life.deferred.length > 0 && this.#chance(1 / 2)) return life.deferred.shift()?.();
    const call = this.#pick(life.calls);
    if (call === undefined) return life.deferred.shift()?.();
    this.#apply(member, call);
    life.calls.splice(life.calls.indexOf(call), 1);
    call.settle();
  }

  #passTime(moving: readonly Member[]): void {
    const due =
      moving.flatMap(({ life }) =>
        life.firstSleeper === undefined ? [] : [{ life, sleeper: life.firstSleeper }]
      )
        .sort((left, right) => left.sleeper.dueAtMs - right.sleeper.dueAtMs)[0];
    if (due === undefined) return;
    this.#nature.nowMs = Math.max(this.#nature.nowMs, due.sleeper.dueAtMs);
    due.life.wake(due.sleeper);
  }

  #land(): void {
    const member = this.#pick(this.#members.filter(({ isPaused }) => isPaused));
    const call = member === undefined ? undefined : this.#pick(member.life.calls);
    if (member !== undefined && call !== undefined) this.#apply(member, call);
  }

  /** Lets a call take hold, and looks at what it wrote: only its owner writes a root (K17). */
  #apply({ runtime }: Member, call: StoreCall): void {
    if (call.hasTakenHold) return;
    const commit = this.#commits.get(call);
    const roots = (commit?.sets ?? []).flatMap(({ key }) => key[0] === "log" ? [String(key[1])] : []);
    const owners = new Map(
      roots.map((root) => [root, this.#disk.get(["owner", root])?.value as Owner | undefined]),
    );
    call.apply();
    call.hasTakenHold = true;
    this.#judgeLeases(commit);
    const line = commit?.sets.find(({ key }) => key[0] === "writer" && key.length === 2);
    if (commit === undefined || line === undefined || runtime === undefined) return;
    const stored = this.#disk.get(line.key)?.value as { group?: number } | undefined;
    const isWritten = stored?.group === (line.value as { group: number }).group;
    if (!isWritten) return;
    for (const [root, owner] of owners) {
      if (owner !== undefined && owner.runtime !== String(line.key[1])) {
        this.#violations.push(`${line.key[1]} wrote ${root}, which ${owner.runtime} owns`);
      }
    }
  }

  /** CM-120: a heartbeat that comes late leaves the lease to who has it. */
  #judgeLeases(commit: Commit | undefined): void {
    for (const { key } of commit?.sets ?? []) {
      if (key[0] !== "lease") continue;
      const lease = this.#disk.get(key)?.value as Owner | undefined;
      const owner = this.#disk.get(["owner", String(key[1])])?.value as Owner | undefined;
      if (lease === undefined || owner === undefined || lease.runtime === owner.runtime) continue;
      this.#violations.push(`${lease.runtime} has the lease of ${key[1]}, which ${owner.runtime} owns`);
    }
  }

  #harm(): void {
    this.#faults += 1;
    const running = this.#members.filter(({ life, isPaused }) => life.isAlive && !isPaused);
    const member = this.#pick(running);
    if (member === undefined) return;
    // The machine slept: every lease is over, and whoever looks first takes what another still works at.
    if (this.#chance(1 / 3)) {
      this.#nature.nowMs += sleepMs;
      return;
    }
    if (running.length > 1 && this.#chance(1 / 2)) {
      this.#counts.pauses += 1;
      member.isPaused = true;
      return;
    }
    this.#counts.kills += 1;
    for (const call of [...member.life.calls]) if (this.#chance(1 / 3)) this.#apply(member, call);
    member.life.kill();
    this.#members.splice(this.#members.indexOf(member), 1);
    for (const wish of this.#wishes) if (wish.state === "given") wish.state = "waits";
    if (this.#members.filter(({ isPaused }) => !isPaused).length === 0 || this.#members.length < livesMax) {
      this.#start();
    }
  }

  #goOn(member: Member | undefined): void {
    if (member !== undefined) member.isPaused = false;
  }

  #start(): void {
    const life: Life = new Life({
      number: this.#members.length + 1,
      nature: this.#nature,
      disk: this.#disk,
      log: (_life, { event }) => {
        if (event === "lease_taken") this.#counts.taken += 1;
        if (event === "lease_lost") this.#counts.lost += 1;
        if (event === "writer.stopped") this.#violations.push("a runtime was stopped for good");
      },
      wrapStore: (handle) => this.#noting(handle, () => life),
    });
    const member: Member = { life, runtime: undefined, isPaused: false };
    this.#members.push(member);
    const tools = this.#toolsOf(life);
    const provider = (model: string) =>
      createScriptedProvider(Script.parse(scriptOf(Number(model.split("/s")[1]))));
    startRuntime({
      store: life.store,
      seams: life.seams,
      performers: performersWith({ tools, ledger: [], providerOf: provider }),
      sharing: { holder: `life ${life.number}` },
      hasAnswerer: () => true,
    }).then((runtime) => member.runtime = runtime, (error) => {
      if (life.isAlive) this.#violations.push(`A runtime did not start: ${error}`);
    });
  }

  #noting(store: Store, lifeOf: () => Life): Store {
    const bug = this.#bug;
    return {
      get: (key) => store.get(key),
      list: (range) => store.list(range),
      close: () => store.close(),
      commit: (given) => {
        const isGroup = given.sets.some(({ key }) => key[0] === "log");
        const isBeat = !isGroup && given.sets.every(({ key }) => key[0] === "lease");
        const unchecked = bug === "owner_unchecked" && isGroup
          ? ["owner"]
          : bug === "heartbeat_unchecked" && isBeat
          ? ["owner", "lease"]
          : [];
        const checks = given.checks.filter(({ key: [kind] }) => !unchecked.includes(String(kind)));
        const commit = { ...given, checks };
        const result = store.commit(commit);
        const call = lifeOf().calls.at(-1);
        if (call !== undefined) this.#commits.set(call, commit);
        return result;
      },
    };
  }

  #toolsOf(life: Life): readonly ToolSketch[] {
    const work = async (name: string, { signal }: { readonly signal: AbortSignal }, input: unknown) => {
      const { text = "" } = input as { readonly text?: string };
      this.#ledger.set(`${name} ${text}`, (this.#ledger.get(`${name} ${text}`) ?? 0) + 1);
      const { clock, random } = life.seams;
      await clock.sleepUntil(clock.now() + random() * callMsMax, signal);
      return `${name} is done`;
    };
    return [
      { name: "pay", effect: "non_idempotent", work: (use, input) => work("pay", use, input) },
      { name: "look", effect: "idempotent", work: (use, input) => work("look", use, input) },
    ];
  }

  /** Somebody asks a runtime, any of them; who is refused asks again elsewhere, in the same words. */
  #ask(): void {
    const members = this.#members.filter(({ life, isPaused }) => life.isAlive && !isPaused);
    const runtime = this.#pick(members)?.runtime;
    if (runtime === undefined) return;
    const next = this.#wishes.filter(({ state, session, turn }) =>
      state === "waits" &&
      this.#wishes.every((one) => one.session !== session || one.turn >= turn || one.state === "answered")
    );
    const wish = this.#pick(next);
    if (wish === undefined) return;
    const session = this.#sessions[wish.session];
    wish.state = "given";
    if (session === undefined) return this.#begin(runtime, wish);
    runtime.prompt(session, `turn ${wish.turn}`, `wish-${wish.session}-${wish.turn}`).then(
      async ({ report }) => {
        await report;
        wish.state = "answered";
      },
    ).catch((error) => this.#again(wish, error));
  }

  /** An operator says of a call of which nothing is known that it was applied. Nobody looks: it is given up. */
  #answer(): void {
    const { runtime } = this.#pick(this.#members.filter(({ life, isPaused }) => life.isAlive && !isPaused)) ??
      {};
    const question = this.#pick(runtime?.questions.list() ?? []);
    if (runtime === undefined || question === undefined) return;
    runtime.questions.answer(question.id, {
      decision: "abandon",
      by: localOperator,
      shown: question.shown,
      note: "as planned",
    })
      .catch((error) => this.#violations.push(`An answer was refused: ${error}`));
  }

  #begin(runtime: Runtime, wish: Wish): void {
    const tools = this.#toolsOf({} as Life).map((sketch) => toolFrom(sketch, []));
    runtime.createSession({
      agent: AgentDefinition.parse({
        name: "tester",
        model: `scripted/s${wish.session}`,
        tools: ["pay", "look"],
      }),
      coreRevision: "core-1",
      home: "embedded:test",
      sources: [sourceOf(tools)],
      policy: HostPolicy.parse({}),
    }).then((address) => {
      this.#sessions[wish.session] ??= address;
      wish.state = "waits";
    }, (error) => this.#again(wish, error));
  }

  #again(wish: Wish, error: unknown): void {
    const { code } = error as { readonly code?: string };
    if (!["session_elsewhere", "lease_lost", "runtime_stopped", "store_busy"].includes(code ?? "")) {
      this.#violations.push(`A client was refused: ${code} ${error}`);
    }
    if (wish.state !== "answered") wish.state = "waits";
  }

  /** After the end: chains, epochs, commands and effects. */
  async #judge(): Promise<void> {
    const digest = (bytes: Uint8Array) => Promise.resolve(digestNow(bytes));
    const { findings } = await examine(this.#disk.open(), digest);
    for (const { code, message } of findings) {
      if (code !== "lease_held" && code !== "lease_lapsed") this.#violations.push(message);
    }
    const reader = await openJournalReader({ store: this.#disk.open(), seams: { digest, log: () => {} } });
    const given = new Map<string, number>();
    for await (const { address, status, reason } of reader.listRoots()) {
      if (status === "quarantined") this.#violations.push(`${address} is quarantined: ${reason}`);
      let epoch = 0;
      for await (const entry of reader.readEntries(address)) {
        if (entry.epoch < epoch) this.#violations.push(`The epoch of ${address} falls at ${entry.seq}`);
        epoch = entry.epoch;
        const { command } = entry.body as { readonly command?: { readonly key: string } };
        if (entry.kind === "input" && entry.type === "session.prompt" && command !== undefined) {
          given.set(command.key, (given.get(command.key) ?? 0) + 1);
        }
      }
    }
    for (const [key, times] of given) {
      if (times > 1) this.#violations.push(`The prompt ${key} was taken ${times} times`);
    }
    for (const [what, times] of this.#ledger) {
      if (what.startsWith("pay") && times > 1) this.#violations.push(`${what} was applied ${times} times`);
    }
  }
}

/** A turn that pays, one that looks, and so on; each call says which turn it is of. */
function scriptOf(session: number) {
  const answers = Array.from({ length: turnsMax }, (_, index) => [
    {
      calls: [{
        tool: (session + index) % 2 === 0 ? "pay" : "look",
        arguments: { text: `${session}/${index + 1}` },
      }],
    },
    { text: `turn ${index + 1} is done` },
  ]);
  return { answers: answers.flat() };
}

/** Plays a seed to its end. */
export function playShared(seed: number, bug: SharedBug = "none"): Promise<SharedVerdict> {
  return new SharedPlay(seed, bug).run();
}
