/** Where the time of a turn goes: a sampling profile by place, and timers around the store and the digests. */
import { Session } from "node:inspector";
import type { Store } from "../../src/journal/store.ts";
import type { Seams } from "../../src/seams.ts";
import { type CpuProfile, functionsOf, placesOf } from "./profile.ts";
import type { SplitAnswer, SplitRequest } from "./protocol.ts";
import { median } from "./statistics.ts";
import { openSubject } from "./subject.ts";

const sampleMicroseconds = 100;
const functionsShown = 25;

/** Profiles `turns` turns of one session on a store of its own. */
export async function measureSplit(
  { asked, turns, warmUps }: SplitRequest,
  location: string,
): Promise<SplitAnswer> {
  const waits = { commits: [] as number[], digests: [] as number[] };
  const subject = await openSubject({
    location,
    wrapStore: (store) => timedStore(store, waits.commits),
    wrapSeams: (seams) => timedSeams(seams, waits.digests),
  });
  try {
    const session = await subject.session();
    for (let turn = 0; turn < warmUps; turn++) await subject.turn(session, asked);
    waits.commits.length = waits.digests.length = 0;
    const profiler = new Profiler();
    await profiler.start();
    const start = performance.now();
    for (let turn = 0; turn < turns; turn++) await subject.turn(session, asked);
    const wallMs = performance.now() - start;
    const profile = await profiler.stop();
    const share = (place: string, microseconds: number) => ({ place, microseconds: microseconds / turns });
    return {
      wallMicroseconds: wallMs * 1_000 / turns,
      parts: placesOf(profile).map(([place, time]) => share(place, time)),
      functions: functionsOf(profile).slice(0, functionsShown).map(([place, time]) => share(place, time)),
      commits: summary(waits.commits, turns),
      digests: summary(waits.digests, turns),
    };
  } finally {
    await subject.stop();
  }
}

function summary(waits: readonly number[], turns: number) {
  return { perTurn: waits.length / turns, medianMicroseconds: median(waits) * 1_000 };
}

async function timed<T>(work: () => Promise<T>, times: number[]): Promise<T> {
  const start = performance.now();
  const result = await work();
  times.push(performance.now() - start);
  return result;
}

function timedStore(store: Store, times: number[]): Store {
  return {
    get: (key) => store.get(key),
    list: (range) => store.list(range),
    commit: (commit) => timed(() => store.commit(commit), times),
    close: () => store.close(),
  };
}

function timedSeams(seams: Seams, times: number[]): Seams {
  return { ...seams, digest: (bytes) => timed(() => seams.digest(bytes), times) };
}

/** The sampling profiler of V8, of this very process. */
class Profiler {
  readonly #session = new Session();

  async start(): Promise<void> {
    this.#session.connect();
    await this.#post("Profiler.enable");
    await this.#post("Profiler.setSamplingInterval", { interval: sampleMicroseconds });
    await this.#post("Profiler.start");
  }

  async stop(): Promise<CpuProfile> {
    const { profile } = await this.#post("Profiler.stop") as { readonly profile: CpuProfile };
    this.#session.disconnect();
    return profile;
  }

  #post(method: string, params: object = {}): Promise<unknown> {
    return new Promise((resolve, reject) =>
      this.#session.post(
        method,
        params,
        (error: Error | null, result: unknown) => error === null ? resolve(result) : reject(error),
      )
    );
  }
}
