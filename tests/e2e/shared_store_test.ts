/** Two real runtimes on one remote store: one is killed or stopped, the other goes on, and nothing is done twice (K17). */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { openJournalReader } from "../../src/journal/journal.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { startKvConnect } from "../support/kv_connect/server.ts";
import { assertRefused, onStage, readScript, type Running, type Stage, writeAgent } from "./troupe.ts";

const seams = createSystemSeams({ log: () => {} });
/** Short, so that a take-over is seen soon, and long enough for a machine that is busy. */
const leaseMs = 4_000;
const token = "DENO_KV_ACCESS_TOKEN";

/** Two runtimes of one store: the first has three sessions, two of them in the middle of a call. */
interface Pair {
  readonly stage: Stage;
  readonly url: string;
  readonly worker: Running;
  readonly other: Running;
  readonly pays: RootAddress;
  readonly looks: RootAddress;
  readonly talks: RootAddress;
}

async function withPair(play: (pair: Pair) => Promise<void>): Promise<void> {
  await using server = startKvConnect();
  Deno.env.set(token, server.token);
  await onStage(async (stage) => {
    stage.give(token, server.token);
    const start = (role: string) => {
      const script = new URL("./shared_owner.ts", import.meta.url).pathname;
      return stage.startDeno(
        "run",
        "-A",
        "--quiet",
        script,
        server.url,
        `${leaseMs}`,
        stage.path("ledger"),
        role,
      );
    };
    const [worker, other] = [start("work"), start("rest")];
    await worker.until("applied pay");
    await worker.until("applied look");
    // Both prompts are durable: a call that may be repeated is begun before that.
    const said = await worker.until("ready");
    await other.until("ready");
    const named = (name: string) => new RegExp(`^${name} (session/\\S+)$`, "m").exec(said)?.[1] ?? "";
    await play({
      stage,
      url: server.url,
      worker,
      other,
      pays: named("pay"),
      looks: named("look"),
      talks: named("talk"),
    });
  });
}

async function entriesOf(url: string, root: RootAddress): Promise<Entry[]> {
  const store = await openKvStore(url);
  try {
    const reader = await openJournalReader({ store, seams });
    const entries: Entry[] = [];
    for await (const entry of reader.readEntries(root)) entries.push(entry);
    return entries;
  } finally {
    store.close();
  }
}

/** Waits until a root has such an entry, and returns all that it has then. */
async function entriesWith(
  url: string,
  root: RootAddress,
  isMeant: (entry: Entry) => boolean,
): Promise<Entry[]> {
  const giveUpAt = Date.now() + 30_000;
  for (;;) {
    const entries = await entriesOf(url, root);
    if (entries.some(isMeant)) return entries;
    assert.ok(Date.now() < giveUpAt, `nothing of the kind in ${root}: ${JSON.stringify(entries.slice(-5))}`);
    await seams.clock.sleepUntil(seams.clock.now() + 100);
  }
}

function assertTakenOver(entries: readonly Entry[]): void {
  const epochs = entries.map(({ epoch }) => epoch);
  assert.deepEqual(
    epochs,
    [...epochs].sort((left, right) => left - right),
    "an old epoch wrote after a new one",
  );
  assert.ok((epochs.at(-1) ?? 0) > 1, "nobody took it over");
}

function linesOf(ledger: string, tool: string): number {
  return ledger.split("\n").filter((line) => line.startsWith(`${tool} by`)).length;
}

async function assertTakeOver({ url, stage, pays, looks }: Pair): Promise<void> {
  const seen = await entriesWith(url, looks, ({ kind, type }) => kind === "reply" || type === "turn.ended");
  assertTakenOver(seen);
  assert.match(JSON.stringify(seen.at(-1)), /seen|completed/);
  const isUnknown = ({ kind, type, body }: Entry) =>
    kind === "outcome" && type === "tool.call" && (body as { status?: string }).status === "unknown";
  assertTakenOver(await entriesWith(url, pays, isUnknown));
  const ledger = await Deno.readTextFile(stage.path("ledger"));
  assert.equal(linesOf(ledger, "pay"), 1, `it was done twice:\n${ledger}`);
  assert.equal(linesOf(ledger, "look"), 2, "what may be repeated is asked again by its new owner");
}

Deno.test("runtime that is killed is followed by another within its lease: nothing harmful is repeated (K17, GA-45)", async () => {
  await withPair(async (pair) => {
    pair.worker.signal("SIGKILL");
    await assertTakeOver(pair);
  });
});

Deno.test("runtime that was stopped beyond its lease is fenced root by root, and goes on with the others (K17, F12)", async () => {
  await withPair(async (pair) => {
    const { worker, pays, looks, talks, url } = pair;
    worker.signal("SIGSTOP");
    await assertTakeOver(pair);
    const before = [await entriesOf(url, pays), await entriesOf(url, looks)];
    worker.signal("SIGCONT");
    await worker.until(`lost ${pays} lease_lost`);
    await worker.until(`lost ${looks} lease_lost`);
    await worker.until(`refused ${pays} lease_lost`);
    const said = await worker.until("answered still here");
    assert.doesNotMatch(said, /unwatched|fault|log writer\.stopped/);
    assert.deepEqual(
      [await entriesOf(url, pays), await entriesOf(url, looks)],
      before,
      "a fenced runtime wrote",
    );
    const kept = await entriesOf(url, talks);
    assert.deepEqual([...new Set(kept.map(({ epoch }) => epoch))], [1], "nobody took it over");
  });
});

Deno.test("commands of two machines share a remote store: a session that another process holds is refused (K17)", async () => {
  await using server = startKvConnect();
  await onStage(async (stage) => {
    stage.give(token, server.token);
    stage.give("TROUPE_STORE", server.url);
    await writeAgent(stage, readScript);
    await stage.write({ "config/troupe/troupe.yaml": "policy: { tools: { read_file: prompt } }\n" });
    const held = stage.start("run", "agent", "hi", "--workspace", "ws", "--answer", "wait");
    await held.until("A question waits");
    const id = /ses_\w+/.exec(await held.until("session ses_"))?.[0] ?? "";
    // Reading always works; another session is this process's own.
    assert.match(await stage.output("log", id), /session\.prompt/);
    const elsewhere = await stage.run("run", "agent", "again", "--session", id);
    assertRefused(elsewhere, 4, "session_elsewhere", `process ${held.pid} on `, "at least until");
    const own = await stage.run("run", "agent", "hi", "--workspace", "ws", "--answer", "allow");
    assert.equal(own.code, 0, own.err);
    assert.equal((await stage.output("sessions")).match(/^ses_/gm)?.length, 2);
    assertRefused(await stage.run("cancel", id), 2, "owner_missing", "No door leads to");
    assertRefused(await stage.run("doctor"), 4, "store_in_use", `process ${held.pid} on `);
    for (const ended of [elsewhere, own]) {
      assert.doesNotMatch(ended.out + ended.err, new RegExp(server.token));
    }
  });
  assert.ok(!server.seen.some((text) => text.includes(server.token)));
});
