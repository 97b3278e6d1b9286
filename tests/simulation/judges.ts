/** Judges: what must be true of every run, whatever happened in it. Each is named by its number (K, R, I). */
import { emptyLibrary } from "../../actors/library.ts";
import type { Entry, RootRecord } from "../../schemas/entry.ts";
import type { InputBody } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { InvocationResult } from "../../schemas/invocation.ts";
import { isSameJson } from "../../src/canonical.ts";
import { examine } from "../../src/journal/doctor.ts";
import { type JournalReader, openJournalReader } from "../../src/journal/journal.ts";
import { keys, prefixes } from "../../src/journal/keys.ts";
import { readPackedHeader } from "../../src/journal/packed_value.ts";
import { loadShelved } from "../../src/effects/shelved.ts";
import { replay } from "../../src/kernel/replay.ts";
import { machineCode } from "../../src/machine_code.ts";
import { digestNow } from "../support/world.ts";
import { judgeBudgets } from "./budgets.ts";
import { namesOf } from "./census.ts";
import { principal } from "./clients.ts";
import { judgeEffects } from "./effect_judges.ts";
import type { Complain, Evidence } from "./evidence.ts";
import { tellTo, wireTelling } from "./poisonous.ts";
import type { Results } from "./stories.ts";
import { judgeTasks } from "./task_judges.ts";
import { judgeRights } from "./rights_judges.ts";
import { judgeSecrets } from "./secrets.ts";
import { recoveries } from "./lives.ts";

/** The evidence, read back from the disk by the reader that everybody uses. */
export interface Case {
  readonly evidence: Evidence;
  readonly reader: JournalReader;
  readonly records: readonly RootRecord[];
  readonly streams: ReadonlyMap<RootAddress, readonly Entry[]>;
  /** How invocations ended, by session: the replay tells it. */
  readonly results: Map<RootAddress, Results>;
  readonly complain: Complain;
}

function digest(bytes: Uint8Array): Promise<string> {
  return Promise.resolve(digestNow(bytes));
}

/**
 * Asks every judge. The first complaint is the one to look at: later ones may follow from it. Returns what the journal
 * holds: kind, type, and the status, effect class or way of dispatch that tells entries of one type apart.
 */
export async function judge(evidence: Evidence, complain: Complain): Promise<ReadonlySet<string>> {
  await judgeChains(evidence, complain);
  const store = evidence.disk.open();
  const reader = await openJournalReader({ store, seams: { digest, log: () => {} } });
  const records: RootRecord[] = [];
  for await (const record of reader.listRoots()) records.push(record);
  const streams = new Map<RootAddress, readonly Entry[]>();
  for (const { address } of records) streams.set(address, await entriesOf(reader, address));
  const one: Case = { evidence, reader, records, streams, results: new Map(), complain };
  judgeRoots(one);
  judgeOwner(one);
  judgeMarks(one);
  judgeCommands(one);
  judgeLetters(one);
  judgeIntents(one);
  await judgeReplay(one);
  judgeEffects(one);
  judgeBudgets(one);
  await judgeTasks(one);
  judgeRights(one);
  judgeSecrets(evidence, evidence.said, complain);
  judgeRest(one);
  return new Set([...streams.values()].flatMap((entries) => entries.flatMap(namesOf)));
}

async function entriesOf(reader: JournalReader, address: RootAddress): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const page of reader.readPages(address)) entries.push(...page);
  return entries;
}

/** I6: sequences without gap, valid chains, heads that agree; and rows that say what the streams say (K19). */
async function judgeChains({ disk }: Evidence, complain: Complain): Promise<void> {
  const { findings } = await examine(disk.open(), digest);
  // A crash between a large result and its entry leaves a blob that nothing names (R12).
  for (const { code, message } of findings) {
    if (code !== "blobs_orphaned") complain("I6", `${code}: ${message}`);
  }
}

/** K20, K23: nothing in these plays is a reason to give up a root. I6: epochs never fall. */
function judgeRoots({ records, streams, complain }: Case): void {
  for (const { address, status, reason } of records) {
    if (status === "quarantined") complain("K20", `${address} is quarantined: ${reason}`);
  }
  for (const [root, entries] of streams) {
    entries.forEach((entry, index) => {
      if (entry.epoch < (entries[index - 1]?.epoch ?? 0)) {
        complain("I6", `The epoch of ${root} falls at ${entry.seq}`);
      }
    });
  }
}

/** I13: once a later epoch has written anything, no earlier one writes again, to whatever stream. */
function judgeOwner({ evidence, streams, complain }: Case): void {
  const rows = evidence.disk.list({ prefix: prefixes.logs })
    .toSorted((left, right) => left.versionstamp < right.versionstamp ? -1 : 1);
  let latest = 0;
  for (const { key } of rows) {
    const [root, first] = [String(key[1]), Number(key[2])];
    const epoch = streams.get(root)?.[first - 1]?.epoch ?? latest;
    if (epoch < latest) complain("I13", `Epoch ${epoch} wrote ${root} at ${first}, after epoch ${latest}`);
    latest = Math.max(latest, epoch);
  }
}

/** I7, K2: what was durable when the process ended is still there, to the byte: its chain hash still stands. */
function judgeMarks({ evidence, complain }: Case): void {
  const ends = new Map<string, string>();
  for (const { key, value } of evidence.disk.list({ prefix: prefixes.logs })) {
    const root = String(key[1]);
    const { last, hash } = readPackedHeader(value, { root, first: Number(key[2]) });
    ends.set(`${root} ${last}`, hash);
  }
  for (const { life, heads } of evidence.marks) {
    for (const [root, { seq, hash }] of heads) {
      if (ends.get(`${root} ${seq}`) !== hash) {
        complain("I7", `Life ${life} left ${root} at ${seq}; that is gone`);
      }
    }
  }
}

interface Given {
  inputs: number;
  replies: number;
}

/** I7, K14: every accepted command is in the journal, every one at most once; so is its reply. */
function judgeCommands({ evidence, streams, complain }: Case): void {
  const given = new Map<string, Given>();
  const of = (key: string) => {
    const found = given.get(key) ?? { inputs: 0, replies: 0 };
    given.set(key, found);
    return found;
  };
  for (const entries of streams.values()) {
    for (const entry of entries) {
      const input = inputOf(entry);
      if (input?.command !== undefined) of(input.command.key).inputs += 1;
      const body = entry.body as { readonly command?: { readonly key: string } } | undefined;
      if (entry.kind === "reply" && body?.command !== undefined) of(body.command.key).replies += 1;
    }
  }
  for (const { command: { key }, isAccepted, reply } of evidence.clients.tickets) {
    const { inputs, replies } = of(key);
    if (isAccepted && inputs === 0) complain("I7", `${key} was accepted and is not in the journal`);
    if (inputs > 1) complain("K14", `${key} is in the journal ${inputs} times`);
    if (reply === undefined) complain("I11", `${key} has no reply`);
    if (replies !== 1) complain("K14", `${key} has ${replies} replies in the journal`);
    const stored = evidence.disk.get(keys.reply(principal, key))?.value;
    if (!isSameJson(stored, reply)) {
      complain("K14", `The reply to ${key} is not the one that its client heard`);
    }
  }
}

/** The message that an entry brought, whether its root could take it or not. */
function inputOf(entry: Entry): InputBody | undefined {
  if (entry.kind === "input") return entry.body as unknown as InputBody;
  if (entry.kind !== "note" || entry.type !== "poisoned") return undefined;
  return (entry.body as unknown as { readonly input: InputBody }).input;
}

/** I15, K13: what one root sent to another arrives, once, in its order. */
function judgeLetters({ streams, complain }: Case): void {
  const sent = new Map<string, unknown[]>();
  const taken = new Map<string, unknown[]>();
  const push = (box: Map<string, unknown[]>, name: string, message: unknown) => {
    box.set(name, [...box.get(name) ?? [], message]);
  };
  for (const [root, entries] of streams) {
    for (const entry of entries) {
      const input = inputOf(entry);
      // That a child is out of service, the kernel says in its place.
      const isOfKernel = input?.message.type === "child.lost";
      if (input?.sender !== undefined && !isOfKernel) {
        push(taken, `${input.sender} to ${root}`, input.message);
      }
      if (entry.kind !== "message") continue;
      const { to, message } = entry.body as { readonly to: string; readonly message: unknown };
      // A dead letter: to nobody, or to a session whose birth was cut off, which no client ever heard of.
      if (!streams.has(to)) continue;
      push(sent, `${root} to ${to}`, message);
    }
  }
  for (const name of new Set([...sent.keys(), ...taken.keys()])) {
    const [out, back] = [sent.get(name) ?? [], taken.get(name) ?? []];
    if (!isSameJson(out, back)) {
      complain(
        "I15",
        `${name}: ${out.length} messages sent, ${back.length} taken, or others, or in another order`,
      );
    }
  }
}

interface OutcomeOf {
  readonly id: string;
}

/** I14, K2, K12: an outcome names an intent before it, and is the only one; late ones are notes. Nothing is dropped twice. */
function judgeIntents({ streams, complain }: Case): void {
  for (const [root, entries] of streams) {
    const open = new Set<string>();
    const asked = new Set<string>();
    const harmful = new Set<string>();
    for (const { kind, type, cause, seq, body } of entries) {
      const { id } = (body ?? {}) as unknown as OutcomeOf;
      if (kind === "intent") {
        const position = `${cause}.${(body as { readonly n: number }).n}`;
        if (asked.has(position)) complain("K2", `${root} asks twice as ${position}, at ${seq}`);
        asked.add(position);
        if ((body as { readonly effect?: string }).effect !== "idempotent") harmful.add(position);
        open.add(position);
      } else if (kind === "outcome" && !open.delete(id)) {
        complain("K12", `${root} has an outcome of ${id} at ${seq}, which nobody waits for`);
      } else if (kind === "note" && type === "dropped" && !open.delete(id)) {
        complain("K11", `${root} drops ${id} at ${seq}, which is not open`);
      } else if (kind === "note" && type === "dropped" && harmful.has(id)) {
        complain("I14", `${root} drops ${id} at ${seq}, which could hurt`);
      } else if (kind === "note" && type === "late_outcome" && (!asked.has(id) || open.has(id))) {
        complain("K12", `${root} calls the outcome of ${id} late at ${seq}, which it is not`);
      }
    }
    if (open.size > 0) complain("I11", `${root} still waits for ${[...open].join(", ")}`);
  }
}

async function* pagesOf(entries: readonly Entry[]): AsyncIterable<readonly Entry[]> {
  yield await Promise.resolve(entries);
}

/** K25, I8: a replay asks for exactly what was recorded and reaches the same states, without any effect. */
async function judgeReplay({ reader, streams, results, complain }: Case): Promise<void> {
  emptyLibrary();
  for (const [address, entries] of streams) {
    const ended = new Map<string, InvocationResult>();
    results.set(address, ended);
    tellTo((turn, result) => ended.set(`turn/${turn}/${result.ordinal}`, result));
    const { divergence } = await replay({
      wire: wireTelling,
      address,
      pages: pagesOf(entries),
      code: machineCode,
      digest,
      loadShelved: (hash) => loadShelved(reader, hash),
      anyCode: true,
    });
    if (divergence === undefined) continue;
    const { seq, what, expected, got } = divergence;
    complain(
      "K25",
      `${address} diverges at ${seq}: ${what}; ${JSON.stringify(expected)}, ${JSON.stringify(got)}`,
    );
  }
}

/** K19, I11: at the end nothing is open: no row says so, no mailbox holds anything, no effect runs. */
function judgeRest({ evidence, complain }: Case): void {
  const rows = [prefixes.opens, prefixes.inboxes, prefixes.dues, prefixes.questions, recoveries];
  for (const prefix of rows) {
    for (const { key } of evidence.disk.list({ prefix })) complain("K19", `A row is left: ${key.join(" ")}`);
  }
  const { runtime } = evidence.life;
  if (runtime === undefined) return complain("K20", "Nobody runs at the end");
  const { kernel, journal } = runtime;
  for (const { address, ports, mailbox } of kernel.roots.values()) {
    if (ports.size > 0) complain("I11", `${address} waits for ${[...ports.keys()].join(", ")}`);
    if (mailbox.length > 0) complain("I11", `${address} has ${mailbox.length} messages`);
  }
  const rest = {
    running: kernel.running.size,
    claimed: kernel.claimed.size,
    waiters: kernel.replyWaiters.size,
    commands: kernel.pendingCommands.size,
    parked: kernel.parked.size,
    waking: kernel.waking.size,
    gate: kernel.reasks.active + kernel.reasks.waiting.length,
    unwritten: journal.writer.unwritten,
  };
  for (const [what, count] of Object.entries(rest)) {
    if (count > 0) complain("I12", `At rest the kernel still holds ${count} of ${what}`);
  }
}
