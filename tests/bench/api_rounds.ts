/** What the API by HTTP costs, and what it bears: many watchers, many writers, many births, beside the same in process. */
import { openTroupe } from "../../src/client.ts";
import { type ApiServer, spawnOn, startApiServer, writeBenchAgent } from "./api_server.ts";
import { type CannonFigures, fireCannon } from "./cannon.ts";
import { progress } from "./progress.ts";
import { median, quantile } from "./statistics.ts";
import { digits, duration, mib, times } from "./table.ts";

/** How it went. Milliseconds and bytes. */
export interface ApiFigures {
  readonly watch: {
    readonly watchers: number;
    readonly entriesPerSecond: number;
    readonly p50Ms: number;
    readonly p99Ms: number;
    readonly residentBytes: number;
    /** Before the watchers came. */
    readonly residentBytesBefore: number;
  };
  readonly write: {
    readonly sessions: number;
    readonly entriesPerSecond: number;
    readonly p50Ms: number;
    readonly p99Ms: number;
  };
  readonly spawn: { readonly perSecond: number; readonly perSecondInProcess: number };
  /** Median of one `get` after another. */
  readonly get: { readonly httpMs: number; readonly inProcessMs: number };
  readonly cannon: { readonly health: CannonFigures; readonly get: CannonFigures } | undefined;
}

/** How much is asked. */
export interface ApiRounds {
  readonly watchers: number;
  readonly sessions: number;
  readonly seconds: number;
  readonly spawns: number;
}

/** At once under way, where it is asked as fast as it is answered. */
const lanes = 32;

async function inLanes(count: number, work: (index: number) => Promise<unknown>): Promise<number> {
  let next = 0;
  const beganMs = performance.now();
  await Promise.all(Array.from({ length: lanes }, async () => {
    for (let at = next++; at < count; at = next++) await work(at);
  }));
  return count / (performance.now() - beganMs) * 1_000;
}

/** Does `work` so often a second, whether or not the earlier ones are done. */
async function paced(
  perSecond: number,
  seconds: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  const beganMs = performance.now();
  const under: Promise<void>[] = [];
  for (let at = 0; at < perSecond * seconds;) {
    const dueMs = (performance.now() - beganMs) / 1_000 * perSecond;
    for (; at <= dueMs && at < perSecond * seconds; at++) under.push(work(at));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await Promise.all(under);
}

/** Follows a session over a connection of its own, and notes how long each entry took from its journal to here. */
async function follow(
  server: ApiServer,
  { address, after, delays }: { readonly address: string; readonly after: number; readonly delays: number[] },
): Promise<Deno.TcpConn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  const head = [
    `GET /v1/actors/${address}/watch?after=${after} HTTP/1.1`,
    `Host: 127.0.0.1:${server.port}`,
    `Authorization: Bearer ${server.token}`,
    "",
    "",
  ];
  await connection.write(new TextEncoder().encode(head.join("\r\n")));
  const bytes = new Uint8Array(65_536);
  const decoder = new TextDecoder("latin1");
  const first = await connection.read(bytes);
  if (first === null) throw new Error("A watch was refused");
  // What came with the head, and later what is not whole yet.
  let rest = decoder.decode(bytes.subarray(0, first));
  void (async () => {
    for (;;) {
      const size = await connection.read(bytes).catch(() => null);
      if (size === null) return;
      const now = Date.now();
      const whole = rest + decoder.decode(bytes.subarray(0, size));
      const end = whole.lastIndexOf("\n\n");
      const text = whole.slice(0, Math.max(end, 0));
      rest = whole.slice(Math.max(end, 0));
      for (const [, seq, at] of text.matchAll(/"v":1,"seq":(\d+),"at":(\d+)/g)) {
        if (Number(seq) > after) delays.push(now - Number(at));
      }
    }
  })();
  return connection;
}

/** A prompt writes about this many entries, by the journal of the session itself. */
async function entriesOf(server: ApiServer, address: string): Promise<number> {
  return (await server.ask(`/actors/${address}`) as { readonly seq: number }).seq;
}

async function measureWatch(
  server: ApiServer,
  { watchers, seconds }: ApiRounds,
): Promise<ApiFigures["watch"]> {
  const address = await spawnOn(server, "watched");
  const residentBytesBefore = await server.residentBytes();
  const before = await entriesOf(server, address);
  const delays: number[] = [];
  const open: Deno.TcpConn[] = [];
  for (let at = 0; at < watchers; at++) {
    if (at % 100 === 0) progress(`watchers: ${at} of ${watchers}`);
    open.push(await follow(server, { address, after: before, delays }));
  }
  // A prompt comes to five entries.
  await paced(4, seconds, async (at) => {
    await server.ask(`/actors/${address}/ask`, { body: { text: "Go on" }, key: `w${at}` });
  });
  const entries = await entriesOf(server, address) - before;
  const residentBytes = await server.residentBytes();
  const untilMs = performance.now() + 10_000;
  while (delays.length < entries * watchers && performance.now() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  for (const connection of open) connection.close();
  if (delays.length < entries * watchers) {
    throw new Error(`Only ${delays.length} of ${entries * watchers} came`);
  }
  return {
    watchers,
    entriesPerSecond: entries / seconds,
    p50Ms: quantile(delays, 0.5),
    p99Ms: quantile(delays, 0.99),
    residentBytes,
    residentBytesBefore,
  };
}

async function measureWrite(
  server: ApiServer,
  { sessions, seconds }: ApiRounds,
): Promise<ApiFigures["write"]> {
  progress(`${sessions} sessions are written to`);
  const addresses: string[] = [];
  await inLanes(sessions, async (at) => void addresses.push(await spawnOn(server, `write${at}`)));
  const count = async () => {
    const seqs = await Promise.all(addresses.map((address) => entriesOf(server, address)));
    return seqs.reduce((sum, seq) => sum + seq, 0);
  };
  const before = await count();
  const taken: number[] = [];
  await paced(sessions, seconds, async (at) => {
    const beganMs = performance.now();
    const address = addresses[at % sessions];
    await server.ask(`/actors/${address}/send`, { body: { text: "Go on" }, key: `s${at}` });
    taken.push(performance.now() - beganMs);
  });
  return {
    sessions,
    entriesPerSecond: (await count() - before) / seconds,
    p50Ms: quantile(taken, 0.5),
    p99Ms: quantile(taken, 0.99),
  };
}

async function timesOf(count: number, work: () => Promise<unknown>): Promise<number> {
  const found: number[] = [];
  for (let at = 0; at < count; at++) {
    const beganMs = performance.now();
    await work();
    found.push(performance.now() - beganMs);
  }
  return median(found);
}

async function measureInProcess({ spawns }: ApiRounds): Promise<{ perSecond: number; getMs: number }> {
  const folder = await writeBenchAgent();
  const client = await openTroupe({
    store: `${folder}/store.db`,
    agents: [`${folder}/agent`],
    workspace: folder,
  });
  try {
    progress("births in process");
    const { address } = await client.spawn({ agent: "tester" });
    const perSecond = await inLanes(spawns, () => client.spawn({ agent: "tester" }));
    return { perSecond, getMs: await timesOf(500, () => client.get({ address })) };
  } finally {
    await client.close();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs it all, once. */
export async function runApiRounds(rounds: ApiRounds): Promise<ApiFigures> {
  const server = await startApiServer();
  try {
    progress("births by HTTP");
    const address = await spawnOn(server, "first");
    const perSecond = await inLanes(rounds.spawns, (at) => spawnOn(server, `b${at}`));
    const httpMs = await timesOf(500, () => server.ask(`/actors/${address}`));
    const write = await measureWrite(server, rounds);
    const watch = await measureWatch(server, rounds);
    const health = await fireCannon(`${server.url}/v1/health`, server.token);
    const got = await fireCannon(`${server.url}/v1/actors/${address}`, server.token);
    const { perSecond: perSecondInProcess, getMs: inProcessMs } = await measureInProcess(rounds);
    return {
      watch,
      write,
      spawn: { perSecond, perSecondInProcess },
      get: { httpMs, inProcessMs },
      cannon: health === undefined || got === undefined ? undefined : { health, get: got },
    };
  } finally {
    progress("");
    await server.end();
  }
}

/** The figures as text. */
export function apiText({ watch, write, spawn, get, cannon }: ApiFigures): string {
  return [
    `${watch.watchers} watchers of one session, ${digits(watch.entriesPerSecond)} entries a second: ` +
    `${duration(watch.p50Ms)} · ${duration(watch.p99Ms)} from entry to client (median · p99), ` +
    `${mib(watch.residentBytes)} resident (${mib(watch.residentBytesBefore)} without them)`,
    `${digits(write.entriesPerSecond)} durable entries a second from ${write.sessions} sessions: ` +
    `${duration(write.p50Ms)} · ${duration(write.p99Ms)} to the acknowledgement (median · p99)`,
    `Births, ${lanes} at once: ${digits(spawn.perSecond)} a second by HTTP, ` +
    `${digits(spawn.perSecondInProcess)} in process (${times(spawn.perSecondInProcess / spawn.perSecond)})`,
    `One get after another: ${duration(get.httpMs)} by HTTP, ${duration(get.inProcessMs)} in process ` +
    `(${times(get.httpMs / get.inProcessMs)})`,
    cannon === undefined
      ? "Without autocannon: its package comes from the cache or from the network"
      : `autocannon, 20 connections: health ${digits(cannon.health.perSecond)} a second, p99 ` +
        `${duration(cannon.health.p99Ms)}; get ${digits(cannon.get.perSecond)}, p99 ${
          duration(cannon.get.p99Ms)
        }`,
  ].join("\n");
}
