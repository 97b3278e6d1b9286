/** What governance costs a call: the same handler called directly, and through the whole pipeline; bytes by part. */
import process from "node:process";
import type { GovernedAnswer, GovernedPair, GovernedRequest, PartBytes } from "./protocol.ts";
import { callDirectly, type Subject } from "./subject.ts";
import type { TurnCase } from "./turn_case.ts";

/**
 * Interleaves three things in one process: a turn with all calls, a turn with one call, and the handler alone as often.
 * The first less the second is what the other calls cost; the model's steps and the turn's own entries are in both.
 */
export async function measureGoverned(
  subject: Subject,
  { asked, rounds, warmUps }: GovernedRequest,
): Promise<GovernedAnswer> {
  const pairs: GovernedPair[] = [];
  for (let round = -warmUps; round < rounds; round++) {
    const pair = await measurePair(subject, asked);
    if (round >= 0) pairs.push(pair);
  }
  return { pairs, parts: await partsOf(subject, asked) };
}

async function measurePair(subject: Subject, asked: TurnCase): Promise<GovernedPair> {
  const one: TurnCase = { ...asked, calls: 1 };
  const [all, single] = [await subject.session(), await subject.session()];
  await subject.runtime.rest();
  const many = await timed(() => subject.turn(all, asked));
  const few = await timed(() => subject.turn(single, one));
  const direct = await timed(async () => {
    for (let call = 0; call < asked.calls; call++) await callDirectly(asked.effect);
  });
  const perCall = (kind: keyof Spent) => (many[kind] - few[kind]) / (asked.calls - 1);
  return {
    governedMs: perCall("wallMs"),
    governedCpuMs: perCall("cpuMs"),
    directMs: direct.wallMs / asked.calls,
  };
}

/** Time by the clock, and processor time of all threads of this process. */
interface Spent {
  readonly wallMs: number;
  readonly cpuMs: number;
}

async function timed(work: () => Promise<unknown>): Promise<Spent> {
  const before = process.cpuUsage();
  const start = performance.now();
  await work();
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  return { wallMs, cpuMs: (user + system) / 1_000 };
}

/** Bytes of the journal's lines by what they tell, for all calls of one turn. */
async function partsOf(subject: Subject, asked: TurnCase): Promise<readonly PartBytes[]> {
  const session = await subject.session();
  await subject.turn(session, asked);
  await subject.runtime.rest();
  const parts = new Map<string, { entries: number; bytes: number }>();
  const encoder = new TextEncoder();
  let isInTurn = false;
  for await (const page of subject.runtime.journal.readPages(session)) {
    for (const entry of page) {
      isInTurn ||= entry.kind === "input" && entry.type === "session.prompt";
      if (!isInTurn) continue;
      const part = `${entry.kind} ${entry.type}`;
      const known = parts.get(part) ?? { entries: 0, bytes: 0 };
      known.entries += 1;
      known.bytes += encoder.encode(JSON.stringify(entry)).length + 1;
      parts.set(part, known);
    }
  }
  return [...parts].map(([part, { entries, bytes }]) => ({ part, entries, bytes }))
    .sort((a, b) => b.bytes - a.bytes);
}
