/** Replays one stream in every way that there is: what its machine asks, its states, what its model was told, its calls. */
import type { Entry } from "../schemas/entry.ts";
import type { ForkOrigin } from "../schemas/fork.ts";
import { OriginHash } from "./fork_origin.ts";
import type { Divergence } from "./kernel/feed.ts";
import { CallReplay } from "./effects/call_replay.ts";
import { ExposureReplay } from "./effects/exposure_replay.ts";
import { replay, type ReplayOptions, type ReplayReport } from "./kernel/replay.ts";
import { machineCode } from "./machine_code.ts";

/** Options of {@linkcode replayStream}. */
export interface StreamReplayOptions extends Omit<ReplayOptions, "code"> {
  /** Told how many entries were replayed so far. */
  readonly onProgress?: (entries: number) => void;
  /** Of a fork: where it comes from. Then the entries up to there must be those of its origin. */
  readonly origin?: ForkOrigin | undefined;
}

/** Replays one stream under the machines of this release. The report's divergence is the first that was found. */
export async function replayStream(options: StreamReplayOptions): Promise<ReplayReport> {
  const { address, pages, loadShelved, anyCode = false, until = Infinity } = options;
  const exposure = new ExposureReplay({ address, loadShelved, anyCode, code: machineCode });
  const calls = new CallReplay({ address, loadShelved });
  const common = new OriginHash(options.digest);
  async function* watched(): AsyncIterable<readonly Entry[]> {
    let entries = 0;
    for await (const page of pages) {
      for (const entry of page) {
        if (entry.cause > until) break;
        // Few entries have to wait for anything.
        const waits = [exposure.take(entry), calls.take(entry)];
        for (const wait of waits) if (wait !== undefined) await wait;
        if (entry.seq <= (options.origin?.seq ?? 0)) await common.take(entry);
      }
      yield page;
      entries += page.length;
      options.onProgress?.(entries);
    }
  }
  const report = await replay({ ...options, pages: watched(), code: machineCode });
  const divergence = originDivergence(options, common) ?? report.divergence ?? exposure.divergence ??
    calls.divergence;
  return { ...report, divergence };
}

/** Entries that a fork has in common with its origin, and that are others than were said: nothing after them counts. */
function originDivergence(
  { address, origin }: StreamReplayOptions,
  common: OriginHash,
): Divergence | undefined {
  if (origin === undefined || common.seq < origin.seq || common.hash === origin.hash) return undefined;
  const what = `the entries up to here are those of ${origin.address}`;
  return { address, seq: origin.seq, what, expected: origin.hash, got: common.hash };
}

/** Entries that are in memory, as pages. */
export async function* pagesOf(entries: readonly Entry[]): AsyncIterable<readonly Entry[]> {
  if (entries.length > 0) yield entries;
}
