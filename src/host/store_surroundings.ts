/** What stands around a store's file: its owner, its mode, its disk, and the processes of a runtime that died. */
import { statfs } from "node:fs/promises";
import { doctorBounds } from "../../schemas/doctor_limits.ts";
import { type Finding, findingAt } from "../journal/finding.ts";
import { realStorePath } from "../journal/store_file.ts";
import type { StoreOwner } from "../journal/store_lock.ts";
import { findMarked } from "../processes/marked.ts";
import type { Seams } from "../seams.ts";

/** What is known of a file besides its content. */
export interface Surroundings {
  readonly file: string;
  readonly bytes: number;
  /** Octal, as in `600`; null where there is none. */
  readonly mode: string | null;
  /** Of the write-ahead log beside it: what its owner wrote last. */
  readonly logBytes: number;
  /** Null where the system does not say. */
  readonly diskFreeBytes: number | null;
  /** The process that holds the store, or that said so and died. */
  readonly owner: { readonly pid: number; readonly since: string; readonly isAlive: boolean } | null;
  /** Processes that carry the store's mark; null where the system does not tell. */
  readonly processes: readonly number[] | null;
}

/** The surroundings of a file, and what of them is worth a word. Reads only. */
export interface SurroundingsReport {
  readonly surroundings: Surroundings;
  readonly findings: readonly Finding[];
}

/** What {@linkcode lookAround} is told. */
export interface LookOrder {
  /** What the file beside the store said of its owner before we came. */
  readonly note: StoreOwner | undefined;
  /** True if this process holds the store, so that nobody else does. */
  readonly isOurs: boolean;
  readonly digest: Seams["digest"];
}

/** Looks around the store at `location`. */
export async function lookAround(
  location: string,
  { note, isOurs, digest }: LookOrder,
): Promise<SurroundingsReport> {
  const file = await realStorePath(location);
  const { size: bytes, mode } = await Deno.stat(file);
  const logBytes = (await Deno.stat(`${file}-wal`).catch(() => undefined))?.size ?? 0;
  const processes = await findMarked(file, digest) ?? null;
  const surroundings: Surroundings = {
    file,
    bytes,
    mode: mode === null ? null : (mode & 0o777).toString(8),
    logBytes,
    diskFreeBytes: await freeBytesOf(file),
    owner: ownerOf(note, isOurs),
    processes,
  };
  return { surroundings, findings: findingsOf(surroundings) };
}

function ownerOf(note: StoreOwner | undefined, isOurs: boolean): Surroundings["owner"] {
  if (note === undefined) return null;
  const { pid, startedAt } = note;
  return { pid, since: new Date(startedAt).toISOString(), isAlive: !isOurs };
}

/** Bytes that may still be written to the disk of a file. */
export async function freeBytesOf(path: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch {
    return null;
  }
}

function findingsOf({ mode, logBytes, diskFreeBytes, owner, processes }: Surroundings): readonly Finding[] {
  const findings: Finding[] = [];
  if (mode !== null && Deno.build.os !== "windows" && (Number.parseInt(mode, 8) & 0o077) !== 0) {
    findings.push(findingAt("file", "file_mode", `Its mode is ${mode}`));
  }
  if (diskFreeBytes !== null && diskFreeBytes < doctorBounds.diskFreeBytesLow) {
    findings.push(findingAt("disk", "disk_low", `${diskFreeBytes} bytes are free on its disk`));
  }
  if (logBytes > doctorBounds.writeAheadLogBytesLarge) {
    findings.push(findingAt("file", "log_large", `Its write-ahead log has ${logBytes} bytes`));
  }
  if (owner !== null && !owner.isAlive) {
    const what = `Process ${owner.pid}, which held it since ${owner.since}, died without letting it go`;
    findings.push(findingAt("lock", "owner_gone", what));
  }
  // A living owner's processes are its own business.
  if (owner?.isAlive !== true && processes !== null && processes.length > 0) {
    const named = processes.slice(0, doctorBounds.processesNamedMax).join(", ");
    const what = `${processes.length} processes of a runtime that is gone still run: ${named}`;
    findings.push(findingAt("processes", "process_left", what));
  }
  return findings;
}
