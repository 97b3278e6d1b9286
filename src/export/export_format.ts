/** The file that `troupe export` writes: a header, the entries, the blobs that they need, sealed piece by piece. */
import { z } from "zod";
import { type Entry, Entry as EntrySchema } from "../../schemas/entry.ts";
import { Digest, RootAddress, RootKind } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { BorderBounds } from "../border.ts";

/** Version of the format that this release writes and reads. */
export const exportVersion = 1;

/** What the first seal hangs on. */
export const exportGenesis = `sha256:${"0".repeat(64)}`;

/** Lines that one seal covers, at most; damage is named as a range of lines. */
export const linesPerSealMax = 64;

/** Bounds of one line: an entry is deeper than what it carries, and holds as many values as its bytes allow. */
export const exportLineBounds: Required<BorderBounds> = {
  bytesMax: limits.jsonBytesMax,
  depthMax: limits.jsonDepthMax + 16,
  nodesMax: limits.unitBytesMax,
};

/** The first line: what follows. `code` is the hash of the machines that began the stream. */
export const ExportHeader = z.strictObject({
  troupe: z.literal("export"),
  v: z.literal(exportVersion),
  address: RootAddress,
  machine: RootKind,
  code: Digest,
});
/** The first line of an export. */
export type ExportHeader = z.infer<typeof ExportHeader>;

/** Bytes that entries name, by their digest: sealed catalogs, whole results, what is attached to them. */
export const ExportBlob = z.strictObject({ blob: Digest, base64: z.base64() });
/** A line that holds a blob. */
export type ExportBlob = z.infer<typeof ExportBlob>;

/**
 * A seal: SHA-256 over the seal before it and the exact bytes of the lines since then, each with its line end.
 * The last one counts everything; a file without it was cut off.
 */
export const ExportSeal = z.strictObject({
  seal: Digest,
  lines: z.int().min(0),
  end: z.strictObject({ entries: z.int().min(1), blobs: z.int().min(0) }).optional(),
});
/** A line that seals those before it. */
export type ExportSeal = z.infer<typeof ExportSeal>;

/** One entry, as it stands in the journal, with its body. */
export const ExportEntry: z.ZodType<Entry> = EntrySchema;

/** Hash of a seal: chained to the one before it. */
export async function sealOf(
  before: string,
  lines: readonly string[],
  digest: (bytes: Uint8Array) => Promise<string>,
): Promise<string> {
  return await digest(new TextEncoder().encode(`${before}\n${lines.join("\n")}\n`));
}
