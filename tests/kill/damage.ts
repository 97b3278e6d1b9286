/** Damage between a kill and the next start: nothing is silently different afterwards, and nothing is repaired in place. */
import type { RootAddress } from "../../schemas/ids.ts";
import { StoreError } from "../../src/journal/store.ts";
import { entryText } from "./client.ts";
import type { Damage } from "./draw.ts";
import { judgeChains, judgeReplay, type Read, readStore } from "./judges.ts";
import type { Play } from "./round.ts";

/** Damages that need everything in the file itself: its log is written back when a store is closed in order. */
const ofFile: readonly Damage[] = ["flip_file", "truncate_file", "zero_page"];

/** Lets a runtime work, ends it, damages its files, and starts another one. */
export async function playDamage(play: Play): Promise<void> {
  const { client, scene: { paths: { store } }, draw: { damage = "cut_log", killsAfterMs } } = play;
  const owner = play.owner();
  const host = await client.connect(owner);
  if (host === undefined) return play.complain("F10", "The owner did not start");
  if (ofFile.includes(damage)) {
    await client.play(host);
    await play.finish(owner, host);
  } else {
    const working = client.play(host);
    await Promise.race([client.firstAccepted, owner.ended]);
    await pause(killsAfterMs[0] ?? 0);
    await play.kill(owner);
    await working;
  }
  await damageFiles(store, damage, play.draw.random);
  const copy = `${store}.copy`;
  await Deno.copyFile(store, copy);
  await Deno.copyFile(`${store}-wal`, `${copy}-wal`).catch(() => {});
  const found = await lookAt(copy);
  if (found.read !== undefined) judgePrefix(play, found.read, damage);
  const [before, main] = [await hashOf(store), await hashOf(`${store}-wal`)];
  await restart(play, found, { before, main });
  found.read?.store.close();
}

interface Found {
  readonly read: Read | undefined;
  /** Why it cannot be read, or how much of it cannot. */
  readonly code: string | undefined;
}

/** Reads a copy as the next start will find it. */
async function lookAt(path: string): Promise<Found> {
  try {
    return { read: await readStore(path), code: undefined };
  } catch (error) {
    if (error instanceof StoreError) return { read: undefined, code: error.code };
    throw error;
  }
}

/** What can be read is what was told, as far as it goes; only a log that was cut, or a flip in it, takes from the end. */
function judgePrefix(play: Play, { streams }: Read, damage: Damage): void {
  const { heard } = play.client;
  const mayLose = damage === "cut_log" || damage === "flip_log" || damage === "flip_snapshot";
  for (const [place, text] of heard) {
    const [root = "", seq] = place.split(" ");
    const entry = streams.get(root as RootAddress)?.[Number(seq) - 1];
    if (entry === undefined && !mayLose) play.complain("I7", `${place} is gone, and nothing says so`);
    if (entry !== undefined && entryText(entry) !== text) play.complain("F10", `${place} is silently another entry`);
  }
}

interface Hashes {
  readonly before: string;
  readonly main: string;
}

/** Refused with exit code 3, the files as they were; or it runs, and what it runs on is sound. */
async function restart(play: Play, found: Found, hashes: Hashes): Promise<void> {
  const { client, scene: { paths: { store } } } = play;
  const owner = play.owner();
  const host = await client.connect(owner);
  if (host === undefined) {
    const { code } = await owner.ended;
    const isTold = /\[(store_corrupt|journal_corrupt)\]/.test(owner.err);
    play.damaged = "refused";
    if (code !== 3 || !isTold) play.complain("F10", `A damaged store ended a start with exit code ${code}`);
    if (await hashOf(store) !== hashes.before || await hashOf(`${store}-wal`) !== hashes.main) {
      play.complain("F10", "The files of a store that was refused are not what they were");
    }
    return;
  }
  // Others may run; whoever was damaged is set aside and says so.
  const roots = await host.listRoots();
  const aside = new Set(roots.filter(({ status }) => status === "quarantined").map(({ address }) => address));
  play.damaged = aside.size > 0 ? "set aside" : found.read === undefined ? "partly readable" : "runs";
  await host.close();
  owner.signal("SIGTERM");
  const { code } = await owner.ended;
  if (code !== 0) play.complain("F10", `The runtime on a damaged store ended with exit code ${code}`);
  if (found.read === undefined) return;
  const after = await readStore(store);
  try {
    await judgeChains(after, (invariant, message) => play.complain(invariant, message));
    const streams = new Map([...after.streams].filter(([address]) => !aside.has(address)));
    await judgeReplay({ ...after, streams }, (invariant, message) => play.complain(invariant, message));
    for (const [root, entries] of found.read.streams) {
      for (const [index, entry] of entries.entries()) {
        const now = after.streams.get(root)?.[index];
        if (now === undefined || entryText(now) !== entryText(entry)) {
          return play.complain("I6", `The next start changed ${root} at ${entry.seq}`);
        }
      }
    }
  } finally {
    after.store.close();
  }
}

async function damageFiles(store: string, damage: Damage, random: () => number): Promise<void> {
  const file = damage === "flip_lock" ? `${store}.lock` : ofFile.includes(damage) ? store : `${store}-wal`;
  const bytes = await Deno.readFile(file);
  const at = (size: number) => Math.floor(random() * size);
  switch (damage) {
    case "cut_log":
      return await Deno.truncate(file, Math.max(0, bytes.length - 1 - at(20_000)));
    case "truncate_file":
      return await Deno.truncate(file, Math.floor(bytes.length * 0.6));
    case "zero_page":
      return await Deno.writeFile(file, bytes.fill(0, 0, 4_096));
    case "flip_lock":
      return await Deno.writeFile(file, new Uint8Array(1 + at(64)).map(() => at(256)));
    case "flip_snapshot":
      return await Deno.writeFile(file, flipped(bytes, placeOfSnapshot(bytes) ?? at(bytes.length)));
    case "flip_log":
    case "flip_file":
      return await Deno.writeFile(file, flipped(bytes, at(bytes.length)));
  }
}

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  bytes[at] = (bytes[at] ?? 0) ^ 1 << (at % 8);
  return bytes;
}

/** Somewhere in the text of a snapshot. */
function placeOfSnapshot(bytes: Uint8Array): number | undefined {
  const at = new TextDecoder("latin1").decode(bytes).lastIndexOf('"status":"active"');
  return at < 0 ? undefined : at;
}

async function hashOf(path: string): Promise<string> {
  const bytes = await Deno.readFile(path).catch(() => new Uint8Array());
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
