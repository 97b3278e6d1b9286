/** Reads an export, and believes none of it: every line is bounded, sealed and parsed. It grants nothing (B130). */
import type { Entry } from "../../schemas/entry.ts";
import { BorderError, LineSplitter, readJson } from "../border.ts";
import { type AnyEntry, entryFormat, isKnownVersion, upcastEntry } from "../journal/upcast.ts";
import { shelve } from "../effects/shelved.ts";
import type { Seams } from "../seams.ts";
import {
  ExportBlob,
  ExportEntry,
  exportGenesis,
  ExportHeader,
  exportLineBounds,
  ExportSeal,
  exportVersion,
  linesPerSealMax,
  sealOf,
} from "./export_format.ts";

/** Why an export was refused. */
export type ExportErrorCode =
  | "export_invalid"
  | "export_altered"
  | "export_truncated"
  | "export_from_newer_version";

/** An export that cannot be used. */
export class ExportError extends Error {
  override readonly name = "ExportError";
  readonly code: ExportErrorCode;
  constructor(code: ExportErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** An export that was read to its end and fits its seals. */
export interface ReadExport {
  readonly header: ExportHeader;
  readonly entries: readonly Entry[];
  /** Blobs by digest; their bytes fit it. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}

/** Entries of one export that are read into memory, at most. */
const entriesMax = 1_000_000;

/** Reads an export from its bytes as they come. `name` is for messages. Throws {@linkcode ExportError}. */
export async function readExport(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
  digest: Seams["digest"],
): Promise<ReadExport> {
  const reader = new ExportReader(name, digest);
  for await (const line of linesOf(bytes, name)) await reader.take(line);
  return reader.finish();
}

/** Puts the export's catalogs and offers where machines look them up. Their digests were checked; replay needs nothing else. */
export function createShelvedLoader({ blobs }: ReadExport): (hash: string) => Promise<void> {
  return (hash) => {
    const bytes = blobs.get(hash);
    if (bytes === undefined) return Promise.resolve();
    shelve(hash, readJson(new TextDecoder().decode(bytes), exportLineBounds));
    return Promise.resolve();
  };
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>, name: string): AsyncIterable<string> {
  const lines = new LineSplitter(exportLineBounds.bytesMax);
  try {
    for await (const chunk of bytes) yield* lines.take(chunk);
    const last = lines.end();
    if (last !== undefined) yield last;
  } catch (error) {
    if (!(error instanceof BorderError)) throw error;
    throw new ExportError("export_invalid", `Cannot use "${name}": ${error.message}`);
  }
}

class ExportReader {
  readonly #name: string;
  readonly #digest: Seams["digest"];
  #header: ExportHeader | undefined;
  readonly #entries: Entry[] = [];
  readonly #blobs = new Map<string, Uint8Array>();
  #seal = exportGenesis;
  /** Lines that no seal covers yet. */
  #open: string[] = [];
  #line = 0;
  #isEnded = false;

  constructor(name: string, digest: Seams["digest"]) {
    this.#name = name;
    this.#digest = digest;
  }

  async take(line: string): Promise<void> {
    this.#line += 1;
    if (this.#isEnded) throw this.#refuse("export_altered", "something follows its end");
    const value = this.#parse(line);
    if (this.#header === undefined) {
      this.#header = this.#headerOf(value);
      this.#open.push(line);
      return;
    }
    // Entries may have fields that we do not know, so their number tells them.
    const isEntry = "seq" in value;
    if (!isEntry && "seal" in value) return await this.#takeSeal(value);
    if (this.#open.length >= linesPerSealMax) throw this.#refuse("export_altered", "a seal is missing");
    this.#open.push(line);
    if (isEntry) this.#takeEntry(value);
    else await this.#takeBlob(value);
  }

  finish(): ReadExport {
    if (this.#header === undefined) throw this.#refuse("export_invalid", "it is empty");
    if (!this.#isEnded) {
      throw this.#refuse("export_truncated", "it ends without its last seal: it was cut off");
    }
    return { header: this.#header, entries: this.#entries, blobs: this.#blobs };
  }

  #parse(line: string): object {
    try {
      const value = readJson(line, exportLineBounds);
      if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
    } catch (error) {
      if (!(error instanceof BorderError)) throw error;
      // A text that is no export at all is told apart from one that was damaged.
      const code = this.#header === undefined ? "export_invalid" : "export_altered";
      throw this.#refuse(error.code === "json_invalid" ? code : "export_invalid", error.message);
    }
    throw this.#refuse("export_invalid", "the line is no object");
  }

  #headerOf(value: object): ExportHeader {
    const header = ExportHeader.safeParse(value);
    if (header.success) return header.data;
    const { troupe, v } = value as { readonly troupe?: unknown; readonly v?: unknown };
    if (troupe !== "export") throw this.#refuse("export_invalid", "it is no export of troupe");
    if (typeof v === "number" && v > exportVersion) {
      throw this.#refuse(
        "export_from_newer_version",
        `it has version ${v}, this release knows ${exportVersion}`,
      );
    }
    throw this.#refuse("export_invalid", "its first line is not understood");
  }

  #takeEntry(value: object): void {
    const { v } = value as { readonly v?: unknown };
    const isOlder = v !== entryFormat.version && isKnownVersion(v);
    const entry = ExportEntry.safeParse(isOlder ? upcastEntry(value as AnyEntry) : value);
    if (!entry.success) throw this.#refuse("export_invalid", "the line is no entry that this release knows");
    const seq = this.#entries.length + 1;
    if (entry.data.seq !== seq) {
      throw this.#refuse("export_invalid", `entry ${entry.data.seq} stands where ${seq} must be`);
    }
    if (seq > entriesMax) throw this.#refuse("export_invalid", `it has more than ${entriesMax} entries`);
    this.#entries.push(entry.data);
  }

  async #takeBlob(value: object): Promise<void> {
    const blob = ExportBlob.safeParse(value);
    if (!blob.success) throw this.#refuse("export_invalid", "the line is neither entry, blob nor seal");
    const bytes = Uint8Array.fromBase64(blob.data.base64);
    if (await this.#digest(bytes) !== blob.data.blob) {
      throw this.#refuse("export_altered", "the blob's bytes were altered");
    }
    this.#blobs.set(blob.data.blob, bytes);
  }

  async #takeSeal(value: object): Promise<void> {
    const seal = ExportSeal.safeParse(value);
    if (!seal.success) throw this.#refuse("export_invalid", "the line is no seal");
    const { lines, end } = seal.data;
    const covered = end === undefined ? this.#open : [...this.#open, JSON.stringify(end)];
    const hash = await sealOf(this.#seal, covered, this.#digest);
    if (lines !== this.#open.length || hash !== seal.data.seal) {
      const first = this.#line - this.#open.length;
      const found = `lines ${first} to ${this.#line} were altered: they do not fit their seal`;
      throw new ExportError("export_altered", `Cannot trust "${this.#name}": ${found}`);
    }
    this.#seal = hash;
    this.#open = [];
    if (end === undefined) return;
    if (end.entries !== this.#entries.length || end.blobs !== this.#blobs.size) {
      throw this.#refuse("export_altered", "its counts do not fit");
    }
    this.#isEnded = true;
  }

  #refuse(code: ExportErrorCode, why: string): ExportError {
    const at = this.#line === 0 ? "" : `line ${this.#line}: `;
    return new ExportError(code, `Cannot use "${this.#name}": ${at}${why}`);
  }
}
