/** The child that runs our runtime: `ours.ts file` on a Deno KV file, `ours.ts memory` on Deno KV in memory. */
import process from "node:process";
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { loadShelved } from "../../src/effects/shelved.ts";
import { replay, type ReplayReport } from "../../src/kernel/replay.ts";
import { machineCode } from "../../src/machine_code.ts";
import { measureAllocation } from "./allocation.ts";
import { measureFloor } from "./floor.ts";
import { measureGoverned } from "./governed.ts";
import type * as protocol from "./protocol.ts";
import { serve } from "./serve.ts";
import { measureSplit } from "./split.ts";
import { openSubject, type Subject } from "./subject.ts";

const folder = await Deno.makeTempDir({ prefix: "troupe-bench-" });
const location = Deno.args[0] === "memory" ? ":memory:" : `${folder}/store.db`;
const subject = await openSubject({ location });

async function runTurns({ asked, turns }: protocol.TurnsRequest): Promise<protocol.TurnsAnswer> {
  const sessions: RootAddress[] = [];
  for (let index = 0; index < turns; index++) sessions.push(await subject.session());
  await subject.runtime.rest();
  const before = subject.counts();
  const cpuBefore = process.cpuUsage();
  const times: number[] = [];
  for (const session of sessions) times.push(await timed(() => subject.turn(session, asked)));
  const { user, system } = process.cpuUsage(cpuBefore);
  const after = subject.counts();
  const counts = {
    turns,
    flushes: after.flushes - before.flushes,
    entries: after.entries - before.entries,
    cranks: after.cranks - before.cranks,
    bytes: after.bytes - before.bytes,
  };
  return { times, cpuMs: (user + system) / 1_000, counts };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function allocate(
  { asked, turns, warmUps }: protocol.AllocationRequest,
): Promise<protocol.AllocationAnswer> {
  const session = await subject.session();
  return await measureAllocation(() => subject.turn(session, asked), { turns, warmUps });
}

async function runSession(
  { asked, turns, warmUps }: protocol.SessionRequest,
): Promise<protocol.SessionAnswer> {
  const warm = await subject.session();
  for (let turn = 0; turn < warmUps; turn++) await subject.turn(warm, asked);
  const session = await subject.session();
  const before = await holdings();
  const times: number[] = [];
  const cpu: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const cpuBefore = process.cpuUsage();
    times.push(await timed(() => subject.turn(session, asked)));
    const { user, system } = process.cpuUsage(cpuBefore);
    cpu.push((user + system) / 1_000);
  }
  return { times, cpu, before, after: await holdings() };
}

async function holdings(): Promise<protocol.Holdings> {
  await subject.runtime.rest();
  (globalThis as { readonly gc?: () => void }).gc?.();
  const { rss, heapUsed } = Deno.memoryUsage();
  return { rss, heap: heapUsed, files: await storeBytes() };
}

/** The store's file and its log beside it. */
async function storeBytes(): Promise<number> {
  let bytes = 0;
  for await (const { name } of Deno.readDir(folder)) {
    if (name.startsWith("store.db")) bytes += (await Deno.stat(`${folder}/${name}`)).size;
  }
  return bytes;
}

async function runReplay({ asked, turns, repeats }: protocol.ReplayRequest): Promise<protocol.ReplayAnswer> {
  const { runtime } = subject;
  const session = await subject.session();
  for (let turn = 0; turn < turns; turn++) await subject.turn(session, asked);
  await runtime.rest();
  const pages: (readonly Entry[])[] = [];
  for await (const page of runtime.journal.readPages(session)) pages.push(page);
  const report = await replayOf(subject, session, runtime.journal.readPages(session));
  const times = { store: [] as number[], reading: [] as number[], memory: [] as number[] };
  for (let repeat = 0; repeat < repeats; repeat++) {
    times.store.push(await timed(() => replayOf(subject, session, runtime.journal.readPages(session))));
    times.reading.push(await timed(() => readAll(runtime.journal.readPages(session))));
    times.memory.push(await timed(() => replayOf(subject, session, given(pages))));
  }
  return { entries: report.entries, cranks: report.cranks, ...times };
}

async function replayOf(
  { runtime, seams }: Subject,
  address: RootAddress,
  pages: AsyncIterable<readonly Entry[]>,
): Promise<ReplayReport> {
  const report = await replay({
    address,
    pages,
    code: machineCode,
    digest: seams.digest,
    loadShelved: (hash) => loadShelved(runtime.journal, hash),
  });
  if (report.divergence !== undefined) {
    throw new Error(`Replay diverged: ${JSON.stringify(report.divergence)}`);
  }
  return report;
}

async function readAll(pages: AsyncIterable<readonly Entry[]>): Promise<void> {
  for await (const _ of pages) continue;
}

async function* given(pages: readonly (readonly Entry[])[]): AsyncIterable<readonly Entry[]> {
  yield* pages;
}

await serve({
  turns: runTurns,
  allocation: allocate,
  session: runSession,
  replay: runReplay,
  split: (request) => measureSplit(request, `${folder}/split.db`),
  governed: (request) => measureGoverned(subject, request),
  floor: (request) => measureFloor(request, folder),
});
await subject.stop();
await Deno.remove(folder, { recursive: true });
