/** A real process, killed in the middle of its commits, on a real file: what it was told is durable is there (F02). */
import assert from "node:assert/strict";
import { examine } from "../../src/journal/doctor.ts";
import type { Finding } from "../../src/journal/finding.ts";
import { type Journal, openJournal } from "../../src/journal/journal.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import type { Store } from "../../src/journal/store.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { startKvConnect } from "../support/kv_connect/server.ts";
import { root } from "../support/units.ts";

const seams = createSystemSeams({ log: () => {} });
function resolve(path: string): string {
  return JSON.stringify(import.meta.resolve(path));
}

/** Writes unit after unit and prints the last sequence of each that is durable, until it is killed. */
const writerCode = `
  import { type Journal, openJournal } from ${resolve("../../src/journal/journal.ts")};
  import { openKvStore } from ${resolve("../../src/journal/kv_store.ts")};
  import { createSystemSeams } from ${resolve("../../src/system_seams.ts")};
  import { unitFrom, root } from ${resolve("../support/units.ts")};
  const store = await openKvStore(Deno.args[0]);
  const journal = await openJournal({ store, seams: createSystemSeams({ log() {} }) });
  let seq = (await journal.readHead(root)).seq;
  const write = () => {
    const first = seq + 1;
    seq += 1 + first % 3;
    const last = seq;
    journal.writer.push(unitFrom(first, last - first + 1), () => {
      Deno.stdout.writeSync(new TextEncoder().encode(last + "\\n"));
      write();
    });
    journal.writer.urge();
  };
  for (let lane = 0; lane < 5; lane++) write();
`;

/** Runs a writer, kills it once it has acknowledged `count` units, and returns the last sequence it acknowledged. */
async function runAndKill(path: string, count: number, folder?: string): Promise<number> {
  const script = `${folder === undefined ? path : `${folder}/remote`}.writer.ts`;
  await Deno.writeTextFile(script, writerCode);
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-lock", "--no-check", "--config", config, script, path],
    stdout: "piped",
  }).spawn();
  let text = "";
  for await (const bytes of process.stdout) {
    text += new TextDecoder().decode(bytes);
    if (text.split("\n").length > count) {
      try {
        process.kill("SIGKILL");
      } catch {
        // It has ended already.
      }
    }
  }
  await process.status;
  const acknowledged = text.split("\n").slice(0, -1).map(Number);
  assert.ok(acknowledged.length >= count);
  return Math.max(...acknowledged);
}

/** What the doctor finds. The stream belongs to no machine, so it has no record. */
async function findingsIn(store: Store): Promise<readonly Finding[]> {
  const { findings } = await examine(store, seams.digest);
  return findings.filter(({ code }) => code !== "record_damaged");
}

/** Nothing is wrong, no sequence is missing, and all that was acknowledged is there. */
async function assertWhole(store: Store, acknowledged: number): Promise<Journal> {
  assert.deepEqual(await findingsIn(store), []);
  const journal = await openJournal({ store, seams });
  let seq = 0;
  for await (const entry of journal.readEntries(root)) assert.equal(entry.seq, ++seq);
  assert.ok(seq >= acknowledged, `${acknowledged} was acknowledged, ${seq} is there`);
  return journal;
}

Deno.test("journal on a remote store that loses answers has every entry that a killed process was told of (F02, K16)", async () => {
  const folder = await Deno.makeTempDir();
  await using server = startKvConnect({
    // An answer that was lost after the commit took hold, and a server that is busy, in between.
    faults: ({ kind, number }) =>
      kind !== "write" ? undefined : number % 9 === 5 ? "lost" : number % 9 === 7 ? "unavailable" : undefined,
  });
  Deno.env.set("DENO_KV_ACCESS_TOKEN", server.token);
  try {
    for (let round = 1; round <= 2; round++) {
      const acknowledged = await runAndKill(server.url, 40 * round, folder);
      const store = await openKvStore(server.url);
      try {
        await assertWhole(store, acknowledged);
      } finally {
        store.close();
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("journal of a killed process has every acknowledged entry, no gap and a valid chain", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/store.db`;
    for (let round = 1; round <= 4; round++) {
      const acknowledged = await runAndKill(path, 30 * round);
      const store = await openKvStore(path);
      try {
        assert.equal((await assertWhole(store, acknowledged)).epoch, 2 * round);
      } finally {
        store.close();
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
