/** A unit made ready for a commit while nobody waits for it: lines in bytes, sizes known, holes left for hashes. */
import type { Entry } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { blobRowCount } from "./blobs.ts";
import { checkedKeyBytes, keys } from "./keys.ts";
import { digestLength, genesisHash, packedHeaderBytesMax, wrongField } from "./packed_value.ts";
import { rowBytes, storeLimits, valueBytes } from "./row_size.ts";
import { StoreError, type StoreKey } from "./store.ts";
import type { Unit } from "./unit.ts";

/** Bytes whose digest is worked out when their group is sealed, or was given. */
export interface Hashed {
  readonly bytes: Uint8Array;
  digest: string | undefined;
}

/** A place in a line that waits for a digest of fixed length. */
export interface Hole {
  readonly line: Uint8Array;
  readonly offset: number;
  readonly source: Hashed;
}

/** A row of a commit. With `blob`, its value was too large, and becomes a reference to that blob. */
export interface SideRow {
  readonly key: StoreKey;
  readonly value: unknown;
  readonly blob: Hashed | undefined;
}

/** A unit with everything worked out that needs no waiting. */
export interface PreparedUnit {
  readonly unit: Unit;
  readonly lines: readonly Uint8Array[];
  readonly holes: readonly Hole[];
  /** Blobs of the same commit: large bodies and large rows (K18). */
  readonly blobs: readonly Hashed[];
  /** Blobs that must be committed before, because they do not fit into one commit with the unit. */
  readonly blobsBefore: readonly Hashed[];
  readonly rows: readonly SideRow[];
  /** Text of the snapshot. */
  readonly snapshot: Hashed | undefined;
  readonly size: Size;
}

/** What a unit adds to a commit; upper bounds. */
export interface Size {
  entries: number;
  bytes: number;
  mutations: number;
  keyBytes: number;
}

/** Reference to a blob in the place of a row's value that was too large for a row. */
export interface RowBlob {
  readonly $blob: string;
  readonly bytes: number;
}

const encoder = new TextEncoder();

/** Room that a commit keeps for its `writer` row, for packed values that are split, and for estimates. */
const slack = { bytes: 20_000, mutations: 40, keyBytes: 6_000 } as const;

class Draft {
  readonly lines: Uint8Array[] = [];
  readonly holes: Hole[] = [];
  readonly blobs: Hashed[] = [];
  readonly size: Size = { entries: 0, bytes: 0, mutations: 0, keyBytes: 0 };
  #text = "";

  addEntry(entry: Entry, state: Hashed | undefined): void {
    const text = JSON.stringify(entry);
    const body = largeBody(entry, text);
    if (body === undefined && state === undefined) {
      this.#text += text;
      this.#text += "\n";
      return;
    }
    this.#flush();
    this.#addLineWithHoles(entry, body, state);
  }

  finish(): void {
    this.#flush();
  }

  #flush(): void {
    if (this.#text === "") return;
    this.#addLine(encoder.encode(this.#text));
    this.#text = "";
  }

  #addLine(line: Uint8Array): void {
    this.lines.push(line);
    this.size.bytes += line.length;
  }

  /** Hashes are not known yet; their places are, counted from the end of the line, which is ASCII there. */
  #addLineWithHoles(entry: Entry, body: Hashed | undefined, state: Hashed | undefined): void {
    const rest: Entry = body === undefined
      ? { ...entry, state: undefined }
      : { ...entry, body: undefined, blob: undefined, state: undefined };
    // A hash that came with the entry stays: a fork copies what its origin recorded.
    const known = entry.state === undefined ? "" : `,"state":${JSON.stringify(entry.state)}`;
    const stateTail = state === undefined ? `${known}}\n` : `,"state":"${genesisHash}"}\n`;
    const blobTail = body === undefined ? "" : `","bytes":${body.bytes.length}}`;
    const blob = body === undefined ? "" : `,"blob":{"digest":"${genesisHash}${blobTail}`;
    const line = encoder.encode(JSON.stringify(rest).slice(0, -1) + blob + stateTail);
    if (state !== undefined) {
      this.holes.push({ line, offset: line.length - digestLength - 3, source: state });
    }
    if (body !== undefined) {
      const offset = line.length - stateTail.length - blobTail.length - digestLength;
      this.holes.push({ line, offset, source: body });
      this.blobs.push(body);
    }
    this.#addLine(line);
  }
}

/** The body's text if it is over the limit of a line (K18). Measures in bytes, and only where characters may not do. */
function largeBody(entry: Entry, text: string): Hashed | undefined {
  const bytesMax = limits.entryBodyBytesMax;
  if (text.length * 3 <= bytesMax || entry.body === undefined) return undefined;
  const bytes = encoder.encode(JSON.stringify(entry.body));
  return bytes.length > bytesMax ? { bytes, digest: undefined } : undefined;
}

function sideRow(key: StoreKey, value: unknown, draft: Draft): SideRow {
  let blob: Hashed | undefined;
  // A message or reply may be larger than a row; readers put it back (see `journal.ts`).
  if (!(value instanceof Uint8Array) && valueBytes(value) > limits.inlineValueBytesMax) {
    blob = { bytes: encoder.encode(JSON.stringify(value)), digest: undefined };
    draft.blobs.push(blob);
    draft.size.bytes += 200 + checkedKeyBytes(key);
  } else {
    draft.size.bytes += rowBytes(key, value);
  }
  draft.size.mutations += 1;
  draft.size.keyBytes += checkedKeyBytes(key);
  return { key, value, blob };
}

function addBlobs(size: Size, blobs: readonly Hashed[]): Size {
  const sum = { ...size };
  for (const { bytes } of blobs) {
    const rows = blobRowCount(bytes.length);
    sum.bytes += bytes.length + rows * 200;
    sum.mutations += rows;
    sum.keyBytes += rows * 100;
  }
  return sum;
}

/** Refuses what could be written and never be read: a bug of the caller. */
function checkEntries({ root, entries, stateText, stateSeq }: Unit): void {
  const first = entries[0]?.seq ?? 1;
  for (const [i, entry] of entries.entries()) {
    const wrong = wrongField(entry, first + i);
    if (wrong !== undefined) throw new TypeError(`Cannot write entry ${first + i} of ${root}: ${wrong}`);
  }
  if (stateText === undefined) return;
  if (stateSeq === undefined || stateSeq < first || stateSeq >= first + entries.length) {
    throw new TypeError(`Cannot write state of ${root} on entry ${stateSeq}: it is not in the unit`);
  }
}

/** Makes a unit ready. Throws `value_too_large` if no commit could hold it, `id_too_long` for keys (B131). */
export function prepareUnit(unit: Unit): PreparedUnit {
  checkEntries(unit);
  const draft = new Draft();
  const { root, entries, record, snapshot, stateText, stateSeq } = unit;
  const state = stateText === undefined ? undefined : hashedText(stateText);
  for (const entry of entries) draft.addEntry(entry, entry.seq === stateSeq ? state : undefined);
  draft.finish();
  const { size } = draft;
  const rows = unit.sets.map(({ key, value }) => sideRow(key, value, draft));
  if (record !== undefined) rows.push(sideRow(keys.root(root), record, draft));
  for (const key of unit.deletes) {
    size.mutations += 1;
    size.keyBytes += checkedKeyBytes(key);
  }
  size.entries = entries.length;
  if (entries.length > 0) {
    // The packed value and the head.
    size.bytes += packedHeaderBytesMax(root) + 300;
    size.mutations += 2;
    size.keyBytes += 2 * root.length + 40;
  }
  const text = snapshot === undefined ? undefined : hashedText(snapshot.text);
  if (text !== undefined) {
    size.bytes += text.bytes.length > limits.inlineValueBytesMax ? 0 : text.bytes.length + 2_000;
    size.mutations += 1;
    size.keyBytes += root.length + 20;
  }
  const whole = addBlobs(size, draft.blobs);
  const together = whole.bytes <= limits.groupBytesMax && whole.mutations <= limits.groupMutationsMax;
  refuseTooLarge(unit, together ? whole : size);
  return {
    unit,
    lines: draft.lines,
    holes: draft.holes,
    blobs: together ? draft.blobs : [],
    blobsBefore: together ? [] : draft.blobs,
    rows,
    snapshot: text,
    size: together ? whole : size,
  };
}

function hashedText(text: string): Hashed {
  return { bytes: encoder.encode(text), digest: undefined };
}

function refuseTooLarge({ root, entries }: Unit, size: Size): void {
  const fits = size.bytes <= storeLimits.commitBytesMax - slack.bytes &&
    size.mutations <= storeLimits.commitMutationsMax - slack.mutations &&
    size.keyBytes <= storeLimits.commitKeyBytesMax - slack.keyBytes;
  if (fits) return;
  throw new StoreError(
    "value_too_large",
    `Cannot write unit of ${root} from entry ${entries[0]?.seq ?? "none"}: ${size.bytes} bytes in ` +
      `${size.mutations} rows do not fit into one commit`,
  );
}
