/** Damage between a kill and the next start: nothing is silently different afterwards, and nothing is repaired in place. */
import { findingKinds } from "../../src/journal/finding.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { StoreError } from "../../src/journal/store.ts";
import type { Damage } from "./draw.ts";
import type { ActingHost } from "../../src/host/host.ts";
import { findingsIn, judgeReplay, type Read, readStore } from "./judges.ts";
import { pause } from "./pause.ts";
import type { Play } from "./play.ts";
import { entryText } from "./told.ts";

/** Damages that need everything in the file itself: its log is written back when a store is closed in order. */
const ofFile: readonly Damage[] = ["flip_file", "flip_snapshot", "truncate_file", "zero_page"];

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
  const read = await lookAt(copy);
  try {
    if (read !== undefined) await judgePrefix(play, read, damage);
    await restart(play, read);
  } finally {
    read?.store.close();
  }
}

/** Reads a copy as the next start will find it; nothing if it is damaged as a whole. */
async function lookAt(path: string): Promise<Read | undefined> {
  try {
    return await readStore(path);
  } catch (error) {
    if (error instanceof StoreError) return undefined;
    throw error;
  }
}

/** What can be read is what was told, as far as it goes; only a log that is cut, or damaged, takes from the end. */
async function judgePrefix(play: Play, { store, streams, broken }: Read, damage: Damage): Promise<void> {
  const { heard } = play.client;
  const mayLose = damage === "cut_log" || damage === "flip_log";
  for (const [place, text] of heard) {
    const [root = "", seq] = place.split(" ");
    if (broken.has(root as RootAddress)) continue;
    const entry = streams.get(root as RootAddress)?.[Number(seq) - 1];
    if (entry === undefined && !mayLose) play.complain("I7", `${place} is gone, and nothing says so`);
    if (entry !== undefined && entryText(entry) !== text) {
      play.complain("F10", `${place} is silently another entry`);
    }
  }
  const findings = await findingsIn(store).catch(() => undefined);
  for (const [root, why] of broken) {
    const isFound = findings?.some((one) => one.root === root && one.code !== "snapshot_unfit");
    if (isFound === false) play.complain("F10", `The doctor finds nothing wrong with ${root}: ${why}`);
  }
  // A log that is cut ends between two commits: every stream and its head agree.
  const half = findings?.filter(({ code }) => findingKinds[code].weight !== "note") ?? [];
  if (mayLose && half.length > 0) play.complain("F10", `A commit is there by half: ${half[0]?.message}`);
}

/** Refused with exit code 3, the files as they were; or it runs, and what it runs on is sound. */
async function restart(play: Play, read: Read | undefined): Promise<void> {
  const { client, scene: { paths: { store } } } = play;
  const hashes = async () => [await hashOf(store), await hashOf(`${store}-wal`)].join(" ");
  const before = await hashes();
  const owner = play.owner();
  const host = await client.connect(owner);
  if (host === undefined) {
    const { code } = await owner.ended;
    const isTold = /\[(store_corrupt|journal_corrupt)\]/.test(owner.err);
    play.damaged = "refused";
    if (code !== 3 || !isTold) play.complain("F10", `A damaged store ended a start with exit code ${code}`);
    if (await hashes() !== before) {
      play.complain("F10", "The files of a store that was refused are not what they were");
    }
    return;
  }
  const broken = read?.broken ?? new Map<RootAddress, string>();
  play.damaged = broken.size > 0 ? "partly damaged" : read === undefined ? "not all readable" : "sound";
  await judgeOthers(play, host, broken);
  await host.close();
  owner.signal("SIGTERM");
  const { code } = await owner.ended;
  if (code !== 0) play.complain("F10", `The runtime on a damaged store ended with exit code ${code}`);
  if (read !== undefined) await judgeAfter(play, read);
}

/** Whoever is damaged is set aside, and says so; the others go on. */
async function judgeOthers(
  { client, complain, ...play }: Play,
  host: ActingHost,
  broken: Read["broken"],
): Promise<void> {
  const roots = await host.listRoots();
  for (const session of client.sessions) {
    if (!roots.some(({ address }) => address === session)) continue;
    const told = await client.ask(host, session);
    const isRefused = /^(root_quarantined|journal_corrupt|store_corrupt)$/.test(told);
    const id = session.slice("session/".length);
    const isHarmed = [...broken.keys()].some((root) => root.includes(id));
    if (!isRefused && broken.has(session)) {
      complain.call(play as Play, "F10", `${session} is damaged, and its turn ended as ${told}`);
    }
    if (isRefused && !isHarmed) {
      complain.call(play as Play, "F10", `${session} is sound, and is refused: ${told}`);
    }
  }
}

/** What was sound before the start is there after it, to the letter, and replays. */
async function judgeAfter(play: Play, read: Read): Promise<void> {
  const after = await readStore(play.scene.paths.store);
  try {
    const streams = new Map([...after.streams].filter(([address]) => !read.broken.has(address)));
    await judgeReplay({ ...after, streams }, (invariant, message) => play.complain(invariant, message));
    for (const [root, entries] of read.streams) {
      const changed = entries.find((entry, index) => {
        const now = after.streams.get(root)?.[index];
        return now === undefined || entryText(now) !== entryText(entry);
      });
      if (changed !== undefined) play.complain("I6", `The next start changed ${root} at ${changed.seq}`);
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
      return await Deno.writeFile(file, flipped(bytes, pickPlace(bytes, '"historyValue"', random), at(8)));
    case "flip_log":
      return await Deno.writeFile(file, flipped(bytes, at(bytes.length), at(8)));
    case "flip_file": {
      // Much of a file is free; every other flip meets the time of an entry, where a digit becomes another.
      const isAimed = random() < 0.5;
      const place = isAimed ? pickPlace(bytes, '"at":', random) + 12 + at(4) : at(bytes.length);
      return await Deno.writeFile(file, flipped(bytes, place, isAimed ? 0 : at(8)));
    }
  }
}

function flipped(bytes: Uint8Array, at: number, bit: number): Uint8Array {
  bytes[at] = (bytes[at] ?? 0) ^ 1 << bit;
  return bytes;
}

/** One of the places of a text. */
function pickPlace(bytes: Uint8Array, text: string, random: () => number): number {
  const all = new TextDecoder("latin1").decode(bytes);
  const places: number[] = [];
  for (let at = all.indexOf(text); at >= 0; at = all.indexOf(text, at + 1)) places.push(at);
  return places[Math.floor(random() * places.length)] ?? 100;
}

async function hashOf(path: string): Promise<string> {
  const bytes = await Deno.readFile(path).catch(() => new Uint8Array());
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
