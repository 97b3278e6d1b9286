/** Writes a session to an export: line by line, so that a long one never stands in memory. */
import type { CheckpointBody, CreatedBody, Entry, RootRecord } from "../../schemas/entry.ts";
import type { Records } from "../host/host.ts";
import { attachmentIn, attachmentsOf, imagesIn, shelvedHashIn } from "../journal/named_blobs.ts";
import type { Seams } from "../seams.ts";
import {
  type ExportBlob,
  exportGenesis,
  type ExportHeader,
  exportLineBounds,
  type ExportSeal,
  exportVersion,
  linesPerSealMax,
  sealOf,
} from "./export_format.ts";

/** What is exported, and where to. */
export interface ExportRequest {
  readonly records: Pick<Records, "readPages" | "readBlob">;
  readonly root: RootRecord;
  readonly digest: Seams["digest"];
  /** Takes whole lines, each with its line end. */
  readonly write: (text: string) => Promise<void>;
  /** Told how many entries were written so far. */
  readonly onProgress?: (entries: number) => void;
}

/** What was written. */
export interface ExportCounts {
  readonly entries: number;
  readonly blobs: number;
  /** Of those, whole results of tools and what is attached to them. */
  readonly results: number;
  /** Those that were left out: a line of an export has no room for them. */
  readonly leftOut: number;
}

/** Writes one root's stream. */
export async function writeExport(request: ExportRequest): Promise<ExportCounts> {
  const { records, root } = request;
  const writer = new SealedLines(request);
  const catalogs: NamedCatalogs = { needed: new Set(), possible: new Set(), results: new Set() };
  let entries = 0;
  for await (const page of records.readPages(root.address)) {
    for (const entry of page) {
      if (entries === 0) await writer.add(headerOf(root, entry));
      await writer.add(entry);
      entries += 1;
      noteCatalogs(catalogs, entry);
    }
    request.onProgress?.(entries);
  }
  const written = await writeBlobs(records, writer, catalogs);
  await writer.end({ entries, blobs: written.blobs });
  return { entries, ...written };
}

/** Writes what entries name: first what a replay looks up, then what is kept for people, with all that is attached to it. */
async function writeBlobs(
  records: ExportRequest["records"],
  writer: SealedLines,
  { needed, possible, results }: NamedCatalogs,
): Promise<Omit<ExportCounts, "entries">> {
  let [blobs, kept, leftOut] = [0, 0, 0];
  const hashes = new Set([...needed, ...possible, ...results]);
  // What is added on the way is come to as well.
  for (const hash of hashes) {
    const bytes = await blobOf(records, hash, needed.has(hash));
    if (bytes === undefined) continue;
    if (results.has(hash)) { for (const one of attachmentsOf(bytes)) hashes.add(one); }
    if (!needed.has(hash) && bytes.length > blobBytesMax) {
      leftOut += 1;
      continue;
    }
    await writer.add({ blob: hash, base64: bytes.toBase64() } satisfies ExportBlob);
    blobs += 1;
    if (!needed.has(hash) && !possible.has(hash)) kept += 1;
  }
  return { blobs, results: kept, leftOut };
}

/** Bytes of which a line has room, written as base64 beside their digest. */
const blobBytesMax = Math.floor(exportLineBounds.bytesMax * 3 / 4) - 1_024;

function headerOf({ address, kind }: RootRecord, first: Entry): ExportHeader {
  const { code } = first.body as unknown as CreatedBody;
  return { troupe: "export", v: exportVersion, address, machine: kind, code };
}

/** Catalogs that a replay looks up. In a saved state any hash may be one of a catalog, or of something else. */
interface NamedCatalogs {
  readonly needed: Set<string>;
  readonly possible: Set<string>;
  /** Whole results of tools, and images of prompts: a replay needs none of them. */
  readonly results: Set<string>;
}

function noteCatalogs({ needed, possible, results }: NamedCatalogs, entry: Entry): void {
  const hash = shelvedHashIn(entry);
  if (hash !== undefined) needed.add(hash);
  const result = attachmentIn(entry);
  if (result !== undefined) results.add(result);
  for (const image of imagesIn(entry)) results.add(image);
  if (entry.kind !== "checkpoint") return;
  const { state } = entry.body as unknown as CheckpointBody;
  for (const found of JSON.stringify(state).match(/sha256:[0-9a-f]{64}/g) ?? []) possible.add(found);
}

async function blobOf(
  records: Pick<Records, "readBlob">,
  hash: string,
  isNeeded: boolean,
): Promise<Uint8Array | undefined> {
  try {
    return await records.readBlob(hash);
  } catch (error) {
    const isAbsent = error instanceof Error && "code" in error && error.code === "journal_corrupt";
    if (isAbsent && !isNeeded) return undefined;
    throw error;
  }
}

/** Lines as an export has them: sealed piece by piece. */
export class SealedLines {
  readonly #request: Pick<ExportRequest, "digest" | "write">;
  #seal = exportGenesis;
  #lines: string[] = [];

  constructor(request: Pick<ExportRequest, "digest" | "write">) {
    this.#request = request;
  }

  async add(value: object): Promise<void> {
    this.#lines.push(JSON.stringify(value));
    if (this.#lines.length >= linesPerSealMax) await this.#flush(undefined);
  }

  async end(counts: NonNullable<ExportSeal["end"]>): Promise<void> {
    await this.#flush(counts);
  }

  async #flush(end: ExportSeal["end"]): Promise<void> {
    const { digest, write } = this.#request;
    const lines = this.#lines.splice(0);
    const texts = lines.length === 0 ? "" : `${lines.join("\n")}\n`;
    // The end is sealed with the rest: its counts stand among the lines that its hash covers.
    const covered = end === undefined ? lines : [...lines, JSON.stringify(end)];
    this.#seal = await sealOf(this.#seal, covered, digest);
    const seal: ExportSeal = { seal: this.#seal, lines: lines.length, ...(end === undefined ? {} : { end }) };
    await write(`${texts}${JSON.stringify(seal)}\n`);
  }
}
