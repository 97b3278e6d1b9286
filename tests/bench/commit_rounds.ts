/** Group commit: durable entries of many streams at once, beside one commit for every entry, on real KV files. */
import type { Entry } from "../../schemas/entry.ts";
import { type Journal, openJournal } from "../../src/journal/journal.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { rootNamed } from "../support/units.ts";
import { progress } from "./progress.ts";
import { median } from "./statistics.ts";
import { digits, grouped, tableOf, times } from "./table.ts";

/** Streams that write at once. */
const crowds = [1, 10, 50, 200, 1_000] as const;

/** What so many streams reached. Medians over the rounds. */
export interface CommitFigures {
  readonly streams: number;
  /** Durable entries a second, each stream waiting for its entry before it writes the next. */
  readonly groupedPerSecond: number;
  /** The same with a commit for every entry. */
  readonly singlePerSecond: number;
  /** Median of the rounds' own ratios: both sides of a round see the same disk and load. */
  readonly ratio: number;
  /** Entries that one commit held. */
  readonly entriesACommit: number;
}

/** One stream as its bench writes it: what it writes next. */
interface Pen {
  readonly root: string;
  seq: number;
}

type Append = (pen: Pen) => Promise<void>;

function nextEntry(pen: Pen): Entry {
  const seq = ++pen.seq;
  const body = { message: { type: "session.prompt", text: "x".repeat(200) } };
  const kind = seq === 1 ? "created" : "input";
  return { v: 1, seq, at: 1_800_000_000_000 + seq, kind, type: "session.prompt", cause: seq, epoch: 1, body };
}

/** Hands one entry to the writer and waits until it is on the disk; who comes meanwhile rides in the next commit. */
function appendTogether({ writer }: Journal): Append {
  return (pen) => {
    const written = Promise.withResolvers<void>();
    writer.push({ root: pen.root, entries: [nextEntry(pen)], sets: [], deletes: [] }, written.resolve);
    writer.urge();
    return written.promise;
  };
}

/** The same writer, but nobody may ride along. */
function appendAlone(journal: Journal): Append {
  const append = appendTogether(journal);
  let line = Promise.resolve();
  return (pen) => {
    line = line.then(() => append(pen));
    return line;
  };
}

async function perSecond(append: Append, pens: readonly Pen[], entries: number): Promise<number> {
  let left = entries;
  const startMs = performance.now();
  await Promise.all(pens.map(async (pen) => {
    while (left-- > 0) await append(pen);
  }));
  return entries / (performance.now() - startMs) * 1_000;
}

interface Side {
  readonly journal: Journal;
  readonly append: Append;
  readonly pens: readonly Pen[];
}

async function openSide(location: string, appendBy: (journal: Journal) => Append): Promise<Side> {
  const seams = createSystemSeams({ log: (event) => console.error(JSON.stringify(event)) });
  const journal = await openJournal({ store: await openKvStore(location), seams });
  const pens = Array.from({ length: Math.max(...crowds) }, (_, n) => ({ root: rootNamed(n), seq: 0 }));
  // A stream's first commit holds a check more: that is no part of what is measured.
  await Promise.all(pens.map(appendTogether(journal)));
  return { journal, append: appendBy(journal), pens };
}

/** Runs `rounds` of every crowd by both sides in turn; `entries` by each of them. */
export async function runCommitRounds(
  { rounds, entries }: { readonly rounds: number; readonly entries: number },
): Promise<readonly CommitFigures[]> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-bench-commits-" });
  const [many, single] = [
    await openSide(`${folder}/grouped.db`, appendTogether),
    await openSide(`${folder}/single.db`, appendAlone),
  ];
  const samples = crowds.map(() => ({
    grouped: [] as number[],
    single: [] as number[],
    held: [] as number[],
  }));
  try {
    for (let round = -1; round < rounds; round++) {
      for (const [index, streams] of crowds.entries()) {
        progress(`${streams} streams, round ${Math.max(0, round) + 1} of ${rounds}`);
        const count = Math.max(entries, streams * 2);
        const before = many.journal.writer.counters.commits;
        const together = await perSecond(many.append, many.pens.slice(0, streams), count);
        const commits = many.journal.writer.counters.commits - before;
        const alone = await perSecond(single.append, single.pens.slice(0, streams), Math.min(entries, 300));
        if (round < 0) continue;
        samples[index]?.grouped.push(together);
        samples[index]?.single.push(alone);
        samples[index]?.held.push(count / commits);
      }
    }
  } finally {
    progress("");
    await many.journal.close();
    await single.journal.close();
    await Deno.remove(folder, { recursive: true });
  }
  return crowds.map((streams, index) => {
    const { grouped: together = [], single: alone = [], held = [] } = samples[index] ?? {};
    return {
      streams,
      groupedPerSecond: median(together),
      singlePerSecond: median(alone),
      ratio: median(together.map((one, round) => one / (alone[round] ?? NaN))),
      entriesACommit: median(held),
    };
  });
}

/** The figures as text. */
export function commitsText(figures: readonly CommitFigures[]): string {
  const rows = figures.map(({ streams, groupedPerSecond, singlePerSecond, ratio, entriesACommit }) => [
    `${grouped(streams)} ${streams === 1 ? "session" : "sessions"}`,
    `${grouped(Math.round(groupedPerSecond))}/s`,
    `${grouped(Math.round(singlePerSecond))}/s`,
    times(ratio),
    digits(entriesACommit),
  ]);
  return tableOf(["durable entries", "in groups", "a commit each", "ratio", "entries a commit"], rows);
}
