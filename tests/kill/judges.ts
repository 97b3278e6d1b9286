/** Judges of a round: what the store and both ledgers say must agree, whatever happened in between. */
import type { Entry, RootRecord } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { loadShelved } from "../../src/effects/shelved.ts";
import { examine } from "../../src/journal/doctor.ts";
import { type Finding, findingKinds } from "../../src/journal/finding.ts";
import { type JournalReader, openJournalReader } from "../../src/journal/journal.ts";
import { keys, prefixes } from "../../src/journal/keys.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import { type Store, StoreError } from "../../src/journal/store.ts";
import { replay } from "../../src/kernel/replay.ts";
import { machineCode } from "../../src/machine_code.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import type { Client } from "./client.ts";
import { judgeCalls } from "./call_judges.ts";
import type { Scene } from "./scene.ts";
import { entryText } from "./told.ts";

/** Names a broken invariant and what shows it. */
export type Complain = (invariant: string, message: string) => void;

/** A store, read back. */
export interface Read {
  readonly store: Store;
  readonly reader: JournalReader;
  readonly records: readonly RootRecord[];
  readonly streams: ReadonlyMap<RootAddress, readonly Entry[]>;
  /** Roots whose stream cannot be read, and what its reader says. */
  readonly broken: ReadonlyMap<RootAddress, string>;
}

const { digest } = createSystemSeams({ log: () => {} });
const silent = { digest, log: () => {} };

/** Opens a store that nobody holds, and reads all of it. */
export async function readStore(path: string): Promise<Read> {
  const store = await openKvStore(path, { mustExist: true });
  try {
    const reader = await openJournalReader({ store, seams: silent });
    const records: RootRecord[] = [];
    for await (const record of reader.listRoots()) records.push(record);
    const streams = new Map<RootAddress, readonly Entry[]>();
    const broken = new Map<RootAddress, string>();
    for (const { address } of records) {
      try {
        streams.set(address, await entriesOf(reader, address));
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        broken.set(address, `${error.code}: ${error.message}`);
      }
    }
    return { store, reader, records, streams, broken };
  } catch (error) {
    store.close();
    throw error;
  }
}

async function entriesOf(reader: JournalReader, address: RootAddress): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for await (const page of reader.readPages(address)) entries.push(...page);
  return entries;
}

/** Asks every judge about a round that has come to rest. */
export async function judge(scene: Scene, client: Client, complain: Complain): Promise<Read["streams"]> {
  const read = await readStore(scene.paths.store);
  try {
    for (const [root, why] of read.broken) complain("I6", `${root} cannot be read: ${why}`);
    await judgeChains(read, complain);
    judgeRoots(read, complain);
    judgeHeard(read, client, complain);
    judgeCommands(read, client, complain);
    await judgeCalls(read, { scene, client, complain });
    judgeIntents(read, complain);
    await judgeReplay(read, complain);
    await judgeRest(read, complain);
    for (const problem of client.problems) complain("I7", problem);
    return read.streams;
  } finally {
    read.store.close();
  }
}

/** I6: sequences without gap, chains that fit, heads that agree. */
async function judgeChains({ store }: Read, complain: Complain): Promise<void> {
  for (const { code, message } of await findingsIn(store)) {
    // What a start takes care of by itself is no fault of a kill.
    if (findingKinds[code].weight !== "note") complain("I6", `${code}: ${message}`);
  }
}

/** What the doctor finds. */
export async function findingsIn(store: Store): Promise<readonly Finding[]> {
  return (await examine(store, digest)).findings;
}

/** I6: epochs never fall, so no entry of a fenced owner stands behind one of the next. Nothing here is given up. */
function judgeRoots({ records, streams }: Read, complain: Complain): void {
  for (const { address, status, reason } of records) {
    if (status === "quarantined") complain("I11", `${address} is quarantined: ${reason}`);
  }
  for (const [root, entries] of streams) {
    entries.forEach((entry, index) => {
      const before = entries[index - 1];
      if (entry.epoch < (before?.epoch ?? 0)) complain("I6", `The epoch of ${root} falls at ${entry.seq}`);
    });
  }
}

/** I7: every entry that a client was told of is there, to the letter. */
export function judgeHeard(
  { streams }: Pick<Read, "streams">,
  { heard, sessions }: Pick<Client, "heard" | "sessions">,
  complain: Complain,
): void {
  for (const session of sessions) {
    if (!streams.has(session)) complain("I7", `${session} was acknowledged and is gone`);
  }
  for (const [place, text] of heard) {
    const [root = "", seq] = place.split(" ");
    const entry = streams.get(root as RootAddress)?.[Number(seq) - 1];
    if (entry === undefined) complain("I7", `${place} was acknowledged and is gone: ${text}`);
    else if (entryText(entry) !== text) complain("I7", `${place} is not what was told: ${text}`);
  }
}

interface WithCommand {
  readonly command?: { readonly key: string };
}

/** I7, I11: an accepted command is in the journal, none is there twice, and each has its one reply. */
function judgeCommands({ streams }: Read, { tickets }: Client, complain: Complain): void {
  const count = (kind: string, key: string) =>
    [...streams.values()].flat()
      .filter((entry) => entry.kind === kind && (entry.body as WithCommand | undefined)?.command?.key === key)
      .length;
  for (const { key, isAccepted, reply } of tickets) {
    const [inputs, replies] = [count("input", key), count("reply", key)];
    if (isAccepted && inputs === 0) complain("I7", `${key} was accepted and is not in the journal`);
    if (inputs > 1) complain("I7", `${key} is in the journal ${inputs} times`);
    if (reply === undefined || replies === 0) complain("I11", `${key} has no reply`);
    if (replies > 1) complain("I7", `${key} has ${replies} replies`);
  }
}

/** A server that did not come up waits for its next try, also over a stop. */
function isBackOff(root: string, type: string): boolean {
  return root.startsWith("connection/") && type === "timer.set";
}

/** I11: every intent has its one outcome, or was dropped. */
function judgeIntents({ streams }: Read, complain: Complain): void {
  for (const [root, entries] of streams) {
    const open = new Map<string, string>();
    for (const { kind, type, cause, seq, body } of entries) {
      const { id = "", n } = (body ?? {}) as { readonly id?: string; readonly n?: number };
      if (kind === "intent") open.set(`${cause}.${n}`, type);
      const closes = kind === "outcome" || (kind === "note" && type === "dropped");
      if (closes && !open.delete(id)) complain("I11", `${root} has two ends of ${id}, the second at ${seq}`);
    }
    for (const [id, type] of open) {
      if (!isBackOff(root, type)) complain("I11", `${root} still waits for ${id}, ${type}`);
    }
  }
}

/** I8: a replay asks for what was recorded and reaches the same states. */
export async function judgeReplay({ reader, streams }: Read, complain: Complain): Promise<void> {
  for (const [address, entries] of streams) {
    const pages = async function* () {
      yield await Promise.resolve(entries);
    };
    const { divergence } = await replay({
      address,
      pages: pages(),
      code: machineCode,
      digest,
      loadShelved: (hash) => loadShelved(reader, hash),
      strict: true,
    });
    if (divergence !== undefined) {
      complain("I8", `${address} diverges at ${divergence.seq}: ${JSON.stringify(divergence)}`);
    }
  }
}

/** I11: no row says that anything is open, but a letter that a runtime wrote while it was stopped in order. */
async function judgeRest({ store, records, streams }: Read, complain: Complain): Promise<void> {
  const rows = [prefixes.opens, prefixes.questions, ["scope"]];
  for await (const { key } of store.list({ prefix: prefixes.dues })) {
    if (!isBackOff(String(key[2]), "timer.set")) complain("I11", `A timer is left: ${key.join(" ")}`);
  }
  const last = Math.max(0, ...[...streams.values()].map((entries) => entries.at(-1)?.epoch ?? 0));
  for await (const { key } of store.list({ prefix: prefixes.inboxes })) {
    const [, , from, seq] = key;
    const { kind, epoch } = streams.get(from as RootAddress)?.[Number(seq) - 1] ?? {};
    const isFarewell = /^(catalog|connection)\//.test(String(from)) && kind !== undefined && epoch === last;
    if (!isFarewell) complain("I11", `A letter is left: ${key.join(" ")}`);
  }
  for (const prefix of rows) {
    for await (const { key } of store.list({ prefix })) complain("I11", `A row is left: ${key.join(" ")}`);
  }
  for (const { address } of records) {
    if (await store.get(keys.recover(address)) !== null) {
      complain("I11", `The recovery of ${address} was never told to have ended`);
    }
  }
}

/** I11: nothing that a runtime of this round started lives, nor that runtime. */
export function findLeft(folder: string): readonly string[] {
  if (Deno.build.os !== "linux") return [];
  const left: string[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const text = Deno.readTextFileSync(`/proc/${name}/environ`) +
        Deno.readTextFileSync(`/proc/${name}/cmdline`);
      const isZombie = /^State:\s+Z/m.test(Deno.readTextFileSync(`/proc/${name}/status`));
      if (!isZombie && text.includes(folder)) {
        left.push(`${name}: ${Deno.readTextFileSync(`/proc/${name}/cmdline`).replaceAll("\0", " ")}`);
      }
    } catch {
      // It ended while we looked, or belongs to somebody else.
    }
  }
  return left;
}
