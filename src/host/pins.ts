/** What the operator approved of servers' tools: one file for each declaration, beside the file of what is trusted. */
import { z } from "zod";
import { type Failure, failure } from "../../schemas/failure.ts";
import { Digest, ServerId } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { McpDeclaration } from "../../schemas/manifest.ts";
import { Pins, type Review, reviewTools, type ToolPin } from "../mcp/pinned_tools.ts";
import { fileMode, folderMode, othersMayWrite, removeIfThere, replaceFile } from "./replace_file.ts";

const PinFile = z.strictObject({ v: z.literal(1), server: ServerId, fingerprint: Digest, ...Pins.shape });
type PinFile = z.infer<typeof PinFile>;

/** The pins of a declaration cannot be used: they are never taken for none, since then everything were approved. */
export class PinsError extends Error {
  override readonly name = "PinsError";
  readonly code = "mcp_pins_unusable";
}

/** Where pins are kept: beside the file of what is trusted; undefined if that has no place. */
export function pinFolder(trustFile: string | undefined): string | undefined {
  return trustFile === undefined ? undefined : `${trustFile}.pins`;
}

/** The pins of one operator. Without a folder they are kept as long as this process lives. */
export class PinStore {
  readonly #folder: string | undefined;
  readonly #inMemory = new Map<string, PinFile>();

  constructor(folder: string | undefined) {
    this.#folder = folder;
  }

  /** Compares a list with what was approved, and keeps what is new: what must not be called, and why. */
  async review(
    { server, fingerprint }: Pick<McpDeclaration, "server" | "fingerprint">,
    told: ReadonlyMap<string, ToolPin>,
  ): Promise<Omit<Review, "pins"> | Failure> {
    try {
      let reviewed: Omit<Review, "pins"> = { drifted: new Map(), isAnother: false };
      await this.#change(fingerprint, (before) => {
        const { pins, ...review } = reviewTools(before, told);
        reviewed = review;
        return { v: 1, server, fingerprint, ...pins };
      });
      return reviewed;
    } catch (error) {
      if (error instanceof PinsError) return failure(error.code, error.message);
      throw error;
    }
  }

  /** The pins of a declaration; undefined if its tools were never listed. Throws {@linkcode PinsError}. */
  async read(fingerprint: string): Promise<Pins | undefined> {
    const found = await this.#read(fingerprint);
    return found === undefined ? undefined : { approved: found.approved, waiting: found.waiting };
  }

  /** Approves tools that wait, but only as they were shown. Returns how many those were. */
  async approve(fingerprint: string, shown: { readonly [tool: string]: ToolPin }): Promise<number> {
    let count = 0;
    await this.#change(fingerprint, (before) => {
      if (before === undefined) return undefined;
      const isShown = ([name, { hash }]: readonly [string, ToolPin]) =>
        Object.hasOwn(shown, name) && shown[name]?.hash === hash;
      const taken = Object.entries(before.waiting).filter(isShown);
      count = taken.length;
      const waiting = Object.entries(before.waiting).filter((one) => !isShown(one));
      return {
        ...before,
        approved: { ...before.approved, ...Object.fromEntries(taken) },
        waiting: Object.fromEntries(waiting),
      };
    });
    return count;
  }

  /** Forgets a declaration: its next list is approved as a first one. */
  async remove(fingerprint: string): Promise<void> {
    this.#inMemory.delete(fingerprint);
    const path = this.#pathOf(fingerprint);
    if (path !== undefined) await removeIfThere(path);
  }

  #pathOf(fingerprint: string): string | undefined {
    return this.#folder === undefined ? undefined : `${this.#folder}/${fingerprint.replace(":", "-")}.json`;
  }

  /** Reads, changes and writes under a lock, so that two processes lose nothing of each other. */
  async #change(
    fingerprint: string,
    change: (before: PinFile | undefined) => PinFile | undefined,
  ): Promise<void> {
    const path = this.#pathOf(fingerprint);
    if (path === undefined || this.#folder === undefined) {
      const after = change(this.#inMemory.get(fingerprint));
      if (after !== undefined) this.#inMemory.set(fingerprint, after);
      return;
    }
    using lock = await this.#openLock(this.#folder);
    await lock.lock(true);
    const before = await this.#read(fingerprint);
    const after = change(before);
    if (after === undefined || JSON.stringify(after) === JSON.stringify(before)) return;
    const bytes = new TextEncoder().encode(`${JSON.stringify(after, undefined, 2)}\n`);
    if (bytes.length > limits.mcpPinsBytesMax) {
      throw unusable(path, `it would have more than ${limits.mcpPinsBytesMax} bytes`);
    }
    try {
      await replaceFile(path, bytes);
    } catch (error) {
      throw unusable(path, "it cannot be written", error);
    }
  }

  async #openLock(folder: string): Promise<Deno.FsFile> {
    try {
      await Deno.mkdir(folder, { recursive: true, mode: folderMode });
      return await Deno.open(`${folder}/lock`, { read: true, write: true, create: true, mode: fileMode });
    } catch (error) {
      throw unusable(`${folder}/lock`, "it cannot be written", error);
    }
  }

  async #read(fingerprint: string): Promise<PinFile | undefined> {
    const path = this.#pathOf(fingerprint);
    if (path === undefined) return this.#inMemory.get(fingerprint);
    let value: unknown;
    try {
      using file = await Deno.open(path, { read: true });
      const { mode, size } = await file.stat();
      // Windows has no such bits.
      if (mode !== null && (mode & othersMayWrite) !== 0) throw unusable(path, "others may write it");
      if (size > limits.mcpPinsBytesMax) throw unusable(path, "it is too large");
      value = await new Response(file.readable).json();
    } catch (error) {
      if (error instanceof PinsError) throw error;
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw unusable(path, "it cannot be read", error);
    }
    const parsed = PinFile.safeParse(value);
    if (parsed.success && parsed.data.fingerprint === fingerprint) return parsed.data;
    throw unusable(path, "this release did not write it for that server");
  }
}

/** The message names the file, but no path: it is shown to models too. */
function unusable(path: string, why: string, cause?: unknown): PinsError {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const message =
    `Cannot tell which tools were approved by the pins in "${name}": ${why}; look at it, then remove it ` +
    "(beside the file of what is trusted), and the server's tools are approved anew";
  return new PinsError(message, { cause });
}
