/** Writes a session to an export: line by line, so that a long one never stands in memory. */
import type { CheckpointBody, CreatedBody, Entry, RootRecord } from "../../schemas/entry.ts";
import type { Records } from "../host/host.ts";
import { shelvedHashIn } from "../journal/named_blobs.ts";
import type { Seams } from "../seams.ts";
import {
  type ExportBlob,
  exportGenesis,
  type ExportHeader,
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
}

/** Writes one root's stream. */
export async function writeExport(request: ExportRequest): Promise<ExportCounts> {
  const { records, root } = request;
  const writer = new SealedLines(request);
  const catalogs: NamedCatalogs = { needed: new Set(), possible: new Set() };
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
  let blobs = 0;
  for (const hash of new Set([...catalogs.needed, ...catalogs.possible])) {
    const bytes = await blobOf(records, hash, catalogs.needed.has(hash));
    if (bytes === undefined) continue;
    await writer.add({ blob: hash, base64: bytes.toBase64() } satisfies ExportBlob);
    blobs += 1;
  }
  await writer.end({ entries, blobs });
  return { entries, blobs };
}

function headerOf({ address, kind }: RootRecord, first: Entry): ExportHeader {
  const { code } = first.body as unknown as CreatedBody;
  return { troupe: "export", v: exportVersion, address, machine: kind, code };
}

/** Catalogs that a replay looks up. In a saved state any hash may be one of a catalog, or of something else. */
interface NamedCatalogs {
  readonly needed: Set<string>;
  readonly possible: Set<string>;
}

function noteCatalogs({ needed, possible }: NamedCatalogs, entry: Entry): void {
  const hash = shelvedHashIn(entry);
  if (hash !== undefined) needed.add(hash);
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

class SealedLines {
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

  async end(counts: ExportCounts): Promise<void> {
    await this.#flush(counts);
  }

  async #flush(end: ExportCounts | undefined): Promise<void> {
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
