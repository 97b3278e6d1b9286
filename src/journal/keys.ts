/** Every key of the store, in one place: no other file spells one. */
import { limits } from "../../schemas/limits.ts";
import { StoreError, type StoreKey } from "./store.ts";

/** Largest key that a store takes, in encoded bytes. */
const keyBytesMax = 2_048;

const encoder = new TextEncoder();

function byteLength(text: string): number {
  // UTF-16 units are at most 3 bytes each, so most ids are decided without encoding.
  return text.length * 3 <= limits.idBytesMax ? text.length : encoder.encode(text).length;
}

/** Size of a key as Deno KV encodes it: a tag and an end for each text, a tag and eight bytes for each number. */
export function keyBytes(key: StoreKey): number {
  let bytes = 0;
  for (const part of key) {
    bytes += typeof part === "number" ? 9 : textBytes(part) + 2;
  }
  return bytes;
}

/** Nearly every part of a key is plain text, which needs no encoding to be measured. */
function textBytes(text: string): number {
  // deno-lint-ignore no-control-regex -- a zero byte is what makes the difference
  if (/^[\x01-\x7f]*$/.test(text)) return text.length;
  // A zero byte is written as two.
  return encoder.encode(text).length + text.split("\0").length - 1;
}

/** An id as a part of a key. Refused with `id_too_long` over `bytesMax` (B131). */
function id(text: string, bytesMax: number = limits.idBytesMax): string {
  if (byteLength(text) > bytesMax) {
    throw new StoreError(
      "id_too_long",
      `Cannot use id "${text.slice(0, 40)}…": ${byteLength(text)} bytes, at most ${bytesMax} fit`,
    );
  }
  return text;
}

/** Size of a key in bytes. Refuses one that no store takes, with `id_too_long` (B131). */
export function checkedKeyBytes(key: StoreKey): number {
  const bytes = keyBytes(key);
  if (bytes <= keyBytesMax) return bytes;
  throw new StoreError("id_too_long", `Cannot use key of ${bytes} bytes: at most ${keyBytesMax} fit`);
}

/** Keys of the rows of a store. Each refuses ids over 128 bytes with `id_too_long` (B131). */
export const keys = {
  /** Format of the store. */
  store: (): StoreKey => ["meta", "store"],
  /** Epoch and group of the one writer (K16). */
  writer: (): StoreKey => ["writer"],
  /** The same of one runtime among several that share the store (K17). */
  writerOf: (runtime: string): StoreKey => ["writer", id(runtime)],
  /** Who may write a root, where several runtimes share the store (K17). */
  owner: (address: string): StoreKey => ["owner", id(address)],
  /** Until when its owner is left alone (K17). */
  lease: (address: string): StoreKey => ["lease", id(address)],
  /** Record of a root. */
  root: (address: string): StoreKey => ["root", id(address)],
  /** One packed value: entries of a stream from `firstSeq`. */
  log: (address: string, firstSeq: number): StoreKey => ["log", id(address), firstSeq],
  /** Last sequence and hash of a stream. */
  head: (address: string): StoreKey => ["head", id(address)],
  /** Snapshot of a root, or the manifest of a chunked one (K18). */
  snapshot: (address: string): StoreKey => ["snap", id(address)],
  /** One chunk of a snapshot. */
  snapshotChunk: (address: string, index: number): StoreKey => ["snapc", id(address), index],
  /** A small blob, or the manifest of a chunked one. */
  blob: (digest: string): StoreKey => ["blob", id(digest)],
  /** One chunk of a blob. */
  blobChunk: (digest: string, index: number): StoreKey => ["blobc", id(digest), index],
  /** A blob that nothing named when the doctor looked, and since when (R12). */
  orphan: (digest: string): StoreKey => ["orphan", id(digest)],
  /** A message on its way from one root to another (K13). */
  inbox: (to: string, from: string, seq: number, n: number): StoreKey => ["inbox", id(to), id(from), seq, n],
  /** A command that was accepted (K14). */
  command: (principal: string, key: string): StoreKey => ["cmd", id(principal), commandKey(key)],
  /** The reply to a command (K14). */
  reply: (principal: string, key: string): StoreKey => ["reply", id(principal), commandKey(key)],
  /** A root with open intents (K19). */
  open: (address: string): StoreKey => ["open", id(address)],
  /** A timer, in the order of due times (K19). */
  due: (dueAtMs: number, address: string, intentId: string): StoreKey => [
    "due",
    dueAtMs,
    id(address),
    id(intentId),
  ],
  /** A question that a person can answer; further parts as the kernel needs them. */
  question: (questionId: string, ...rest: (string | number)[]): StoreKey => [
    "question",
    id(questionId),
    ...rest.map((part) => typeof part === "number" ? part : id(part)),
  ],
  /** A task of a session, as its last change left it: only who names the owner finds it (DM-115). */
  task: (owner: string, task: string): StoreKey => ["task", id(owner), id(task)],
  /** What a task that has not ended alone may change: names that task (DM-119). */
  scope: (digest: string): StoreKey => ["scope", id(digest)],
  /** The session that a principal calls by this name. */
  named: (principal: string, name: string): StoreKey => ["named", id(principal), id(name)],
  /** A session that is stopped once this connection of a program is over: deleted when it has ended. */
  fate: (connection: string, address: string): StoreKey => ["fate", id(connection), id(address)],
  /** How often a program has promised to show that it is there. */
  heart: (connection: string): StoreKey => ["heart", id(connection)],
  /** A program that is connected over the API: who it is, and whom it serves. */
  program: (program: string): StoreKey => ["program", id(program)],
  /** A report of a program that was recorded (CM-121). */
  reported: (program: string, message: string): StoreKey => ["reported", id(program), id(message)],
  /** How often the recovery of a root was begun and not ended. */
  recover: (address: string): StoreKey => ["recover", id(address)],
} as const;

/** Where the rows of one kind begin: for lists. */
export const prefixes = {
  roots: ["root"],
  logs: ["log"],
  log: (address: string): StoreKey => ["log", id(address)],
  heads: ["head"],
  snapshots: ["snap"],
  writers: ["writer"],
  inboxes: ["inbox"],
  inbox: (to: string): StoreKey => ["inbox", id(to)],
  commands: ["cmd"],
  replies: ["reply"],
  opens: ["open"],
  dues: ["due"],
  questions: ["question"],
  allTasks: ["task"],
  tasks: (owner: string): StoreKey => ["task", id(owner)],
  scopes: ["scope"],
  recovers: ["recover"],
  names: ["named"],
  fates: ["fate"],
  fate: (connection: string): StoreKey => ["fate", id(connection)],
  hearts: ["heart"],
  programs: ["program"],
  reports: ["reported"],
  blobs: ["blob"],
  blobChunks: ["blobc"],
  orphans: ["orphan"],
  /** Of a store that several runtimes share: who owns a root, and until when (K17). */
  owners: ["owner"],
  leases: ["lease"],
} as const;

function commandKey(key: string): string {
  // Chosen by clients, so it may be longer than our own ids.
  return id(key, limits.commandKeyBytesMax);
}
