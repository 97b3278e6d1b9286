/** One packed value: a header line and one JSON line per entry, in bytes, hashed as a whole and chained (K18). */
import { type Entry, EntryKind, entryVersion } from "../../schemas/entry.ts";
import { type EntryFormat, entryFormat, isKnownVersion } from "./upcast.ts";
import { StoreError } from "./store.ts";

/** What the hash of a stream's first value hangs on. */
export const genesisHash = `sha256:${"0".repeat(64)}`;

/** Length of a digest as text: `sha256:` and 64 digits. */
export const digestLength = genesisHash.length;

/** The seam that hashes. */
export type Digest = (bytes: Uint8Array) => Promise<string>;

/** The first line of a packed value. `hash` covers every byte after it: the other fields, `prev` among them, and the body. */
export interface PackedHeader {
  readonly v: number;
  readonly root: string;
  readonly first: number;
  readonly last: number;
  readonly prev: string;
  readonly hash: string;
}

/** Damage in a stream: which root, which sequences, what was found. Code `journal_corrupt`. */
export class JournalDamage extends StoreError {
  readonly root: string;
  readonly first: number;
  readonly last: number;
  /** What was found, without place and advice. */
  readonly found: string;

  constructor(
    place: { readonly root: string; readonly first: number; readonly last: number },
    found: string,
  ) {
    const range = place.first === place.last
      ? `entry ${place.first}`
      : `entries ${place.first} to ${place.last}`;
    super(
      "journal_corrupt",
      `Cannot trust the journal of ${place.root} at ${range}: ${found}; run troupe doctor`,
    );
    this.root = place.root;
    this.first = place.first;
    this.last = place.last;
    this.found = found;
  }
}

const encoder = new TextEncoder();
// Fatal: replaced characters would be silent damage.
const decoder = new TextDecoder("utf-8", { fatal: true });
const hashPrefix = '{"hash":"';
const hashEnd = hashPrefix.length + digestLength;
const newline = 10;

/** Where a packed value stands in its stream. */
export interface PackedPlace {
  readonly root: string;
  readonly first: number;
  readonly last: number;
  readonly prev: string;
}

function headerOf({ root, first, last, prev }: PackedPlace): string {
  const place = `"v":${entryVersion},"root":${JSON.stringify(root)},"first":${first},"last":${last}`;
  return `${hashPrefix}${genesisHash}",${place},"prev":"${prev}"}\n`;
}

/** Size of the header of a packed value, in bytes; an upper bound for every place of this root. */
export function packedHeaderBytesMax(root: string): number {
  return 2 * digestLength + 110 + root.length;
}

/**
 * Puts lines (UTF-8, each with its newline) behind their header and hashes the whole. The bytes are made once:
 * the hash is written into its place in the header, which it does not cover.
 */
export async function encodePackedValue(
  place: PackedPlace,
  lines: readonly Uint8Array[],
  digest: Digest,
): Promise<{ readonly bytes: Uint8Array; readonly hash: string }> {
  const header = encoder.encode(headerOf(place));
  let length = header.length;
  for (const part of lines) length += part.length;
  const bytes = new Uint8Array(length);
  bytes.set(header);
  let offset = header.length;
  for (const part of lines) {
    bytes.set(part, offset);
    offset += part.length;
  }
  const hash = await digest(bytes.subarray(hashEnd));
  encoder.encodeInto(hash, bytes.subarray(hashPrefix.length, hashEnd));
  return { bytes, hash };
}

/** What a reader expects of a packed value, from its key and from the value before it. */
export interface Expected {
  readonly root: string;
  readonly first: number;
  /** Hash of the value before; undefined where the chain begins in the middle. */
  readonly prev?: string | undefined;
  /** Formats of entries that are read; those of this release by default. */
  readonly format?: EntryFormat | undefined;
}

/** A packed value, verified. */
export interface Decoded {
  readonly header: PackedHeader;
  readonly entries: readonly Entry[];
}

/**
 * Reads the header and checks it against the key, but no hash: enough to find where a value ends.
 * Throws {@linkcode JournalDamage}.
 */
export function readPackedHeader(value: unknown, expected: Expected): PackedHeader {
  const damage = (found: string) =>
    new JournalDamage({ root: expected.root, first: expected.first, last: expected.first }, found);
  if (!(value instanceof Uint8Array)) throw damage("the value is not bytes");
  const end = value.indexOf(newline);
  let header: Partial<PackedHeader> | undefined;
  try {
    header = JSON.parse(decoder.decode(value.subarray(0, Math.max(end, 0))));
  } catch {
    throw damage("the first line of the value cannot be read");
  }
  if (typeof header !== "object" || header === null) throw damage("the first line of the value is no header");
  const { v, root, first, last, prev, hash } = header;
  if (v === undefined || !isKnownVersion(v, expected.format)) {
    throw damage(`the value has format ${String(v)}, known is ${entryVersion}`);
  }
  if (root !== expected.root) throw damage(`the value belongs to ${String(root)}`);
  if (first !== expected.first) throw damage(`the value begins at ${String(first)}`);
  if (!Number.isSafeInteger(last) || last === undefined || last < first) throw damage("the value has no end");
  if (typeof prev !== "string" || typeof hash !== "string") throw damage("the value has no hash");
  return { v, root, first, last, prev, hash };
}

/**
 * Reads and verifies a packed value: header, hash over the exact bytes, chain, every entry. Extra fields are kept
 * (B128). Throws {@linkcode JournalDamage}, which names the range and, where one cannot be read, the entry.
 */
export async function decodePackedValue(
  value: unknown,
  expected: Expected,
  digest: Digest,
): Promise<Decoded> {
  const header = readPackedHeader(value, expected);
  const bytes = value as Uint8Array;
  const hash = await digest(bytes.subarray(hashEnd));
  let entries: Entry[];
  try {
    entries = parseLines(bytes.subarray(bytes.indexOf(newline) + 1), header, expected.format);
  } catch (error) {
    if (hash === header.hash || !(error instanceof JournalDamage)) throw error;
    throw new JournalDamage(header, `its bytes were altered (entry ${error.first}: ${error.found})`);
  }
  if (hash !== header.hash) throw new JournalDamage(header, "its bytes were altered: the hash does not fit");
  if (expected.prev !== undefined && header.prev !== expected.prev) throw brokenChain(header);
  return { header, entries };
}

/** The damage of a value that does not hang on the one before it. */
export function brokenChain(header: PackedHeader): JournalDamage {
  return new JournalDamage(header, "the chain is broken: it does not follow the entries before it");
}

function parseLines(body: Uint8Array, header: PackedHeader, format: EntryFormat | undefined): Entry[] {
  let text: string;
  try {
    text = decoder.decode(body);
  } catch {
    throw new JournalDamage(header, "its bytes are not UTF-8");
  }
  const entries: Entry[] = [];
  let seq = header.first;
  let start = 0;
  while (start < text.length) {
    let end = text.indexOf("\n", start);
    if (end < 0) end = text.length;
    entries.push(parseEntry(text.slice(start, end), { seq, root: header.root, format }));
    seq += 1;
    start = end + 1;
  }
  if (seq - 1 === header.last) return entries;
  throw new JournalDamage(
    header,
    `${entries.length} entries are there, not ${header.last - header.first + 1}`,
  );
}

const kinds: ReadonlySet<unknown> = new Set(EntryKind.options);

function parseEntry(
  line: string,
  { seq, root, format = entryFormat }: {
    readonly seq: number;
    readonly root: string;
    readonly format: EntryFormat | undefined;
  },
): Entry {
  let entry: Entry;
  try {
    entry = JSON.parse(line);
  } catch {
    throw new JournalDamage({ root, first: seq, last: seq }, "the entry is no JSON");
  }
  // An older one is looked at once it is of this version: see `upcast.ts`.
  if (isOlder(entry, format) && entry.seq === seq) return entry;
  const wrong = wrongField(entry, seq);
  if (wrong === undefined) return entry;
  throw new JournalDamage({ root, first: seq, last: seq }, wrong);
}

function isOlder(entry: unknown, format: EntryFormat): boolean {
  const { v } = Object(entry) as { readonly v?: unknown };
  return v !== format.version && isKnownVersion(v, format);
}

/**
 * What is wrong with an entry that should have number `seq`, or undefined. Checks by hand what the schema `Entry` says:
 * a parser of schemas would take longer than reading the JSON.
 */
export function wrongField(entry: Entry, seq: number): string | undefined {
  if (typeof entry !== "object" || entry === null) return "the entry is no object";
  if (entry.v !== entryVersion) return `the entry has version ${String(entry.v)}, known is ${entryVersion}`;
  if (entry.seq !== seq) return `the entry has number ${String(entry.seq)}`;
  if (!kinds.has(entry.kind)) {
    return `the entry has unknown kind "${String(entry.kind)}" (entry version ${entry.v})`;
  }
  if (!Number.isFinite(entry.at)) return "the entry has no field at";
  if (typeof entry.type !== "string" || entry.type === "") return "the entry has no field type";
  if (!Number.isSafeInteger(entry.cause) || entry.cause < 1) return "the entry has no field cause";
  if (!Number.isSafeInteger(entry.epoch) || entry.epoch < 1) return "the entry has no field epoch";
  const { blob, state } = entry;
  if (blob !== undefined && (typeof blob?.digest !== "string" || typeof blob.bytes !== "number")) {
    return "the entry has a field blob that names no blob";
  }
  if (state !== undefined && typeof state !== "string") return "the entry has a field state that is no hash";
  return undefined;
}
