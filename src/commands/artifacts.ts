/** The whole outputs of commands: files beside the store, for their owner alone, under names that say nothing (DM-101, DM-102). */
import { limits } from "../../schemas/limits.ts";
import { realStorePath } from "../journal/store_file.ts";
import { makePrivate } from "../processes/private_folder.ts";
import type { Seams } from "../seams.ts";

/** Hexadecimal digits of a hash that name a root. */
const rootDigits = 32;

/** One whole output, as records name it. */
export interface ArtifactDescriptor {
  /** `out-` and 32 hexadecimal digits: which session's, for whoever knows the store. */
  readonly root: string;
  /** Below the root. */
  readonly path: string;
  readonly bytes: number;
  /** True if there was more than is kept. */
  readonly isCut: boolean;
}

/** A file that takes one output. Whatever goes wrong rejects. */
export interface Artifact {
  write(text: string): Promise<void>;
  /** Makes it durable; gives what is kept, undefined if nothing came. */
  close(): Promise<ArtifactDescriptor | undefined>;
}

/** The two outputs of one command. */
export interface CommandArtifacts {
  readonly stdout: Artifact;
  readonly stderr: Artifact;
}

/** Opens the artifacts of one command of a session. Rejects if a file cannot be made. */
export type OpenArtifacts = (session: string, name: string) => Promise<CommandArtifacts>;

/** Where the artifacts of a store are: `<store>.artifacts`. */
export class ArtifactFolder {
  readonly #store: string;
  readonly #digest: Seams["digest"];

  /** @param store Path of the store. What is kept in memory, or far away, has no folder beside it. */
  constructor(store: string, digest: Seams["digest"]) {
    this.#store = store;
    this.#digest = digest;
  }

  /** Opens both files of a command, which are new. `name` is unique and plain. */
  readonly open: OpenArtifacts = async (session, name) => {
    const base = await this.#base();
    const root = await this.#rootOf(base, session);
    await makePrivate(base);
    await makePrivate(`${base}/${root}`);
    await makePrivate(`${base}/${root}/${name}`);
    const [stdout, stderr] = ["stdout.txt", "stderr.txt"].map((file) => ({ root, path: `${name}/${file}` }));
    return { stdout: await this.#file(base, stdout), stderr: await this.#file(base, stderr) };
  };

  async #file(base: string, place: ArtifactPlace | undefined): Promise<Artifact> {
    if (place === undefined) throw new TypeError("Cannot open an artifact without a place");
    const at = `${base}/${place.root}/${place.path}`;
    const file = await Deno.open(at, { write: true, createNew: true, mode: 0o600 });
    return new ArtifactFile(file, place, at);
  }

  async #rootOf(base: string, session: string): Promise<string> {
    const hash = await this.#digest(new TextEncoder().encode(`${base}\n${session}`));
    return `out-${hash.replace(/^sha256:/, "").slice(0, rootDigits)}`;
  }

  async #base(): Promise<string> {
    return `${await realStorePath(this.#store)}.artifacts`;
  }
}

type ArtifactPlace = Pick<ArtifactDescriptor, "root" | "path">;

/** One open file. It takes so much and no more: a flood fills no disk. */
export class ArtifactFile implements Artifact {
  readonly #file: Deno.FsFile;
  readonly #place: ArtifactPlace;
  readonly #at: string;
  #bytes = 0;
  #isCut = false;

  constructor(file: Deno.FsFile, place: ArtifactPlace, at: string) {
    this.#file = file;
    this.#place = place;
    this.#at = at;
  }

  async write(text: string): Promise<void> {
    if (this.#isCut || text === "") return;
    const all = new TextEncoder().encode(text);
    const room = limits.commandArtifactBytesMax - this.#bytes;
    this.#isCut = all.length > room;
    const bytes = this.#isCut ? all.subarray(0, wholeCharacters(all, room)) : all;
    for (let written = 0; written < bytes.length;) written += await this.#file.write(bytes.subarray(written));
    this.#bytes += bytes.length;
  }

  async close(): Promise<ArtifactDescriptor | undefined> {
    try {
      if (this.#bytes > 0) await this.#file.syncData();
    } finally {
      this.#file.close();
    }
    if (this.#bytes > 0) return { ...this.#place, bytes: this.#bytes, isCut: this.#isCut };
    await this.#forget();
    return undefined;
  }

  /** Nothing came: no file, and no folder once both are gone. */
  async #forget(): Promise<void> {
    await Deno.remove(this.#at).catch(() => {});
    await Deno.remove(this.#at.slice(0, this.#at.lastIndexOf("/"))).catch(() => {});
  }
}

/** At most `room` bytes, and no half character. */
function wholeCharacters(bytes: Uint8Array, room: number): number {
  let end = Math.max(0, room);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return end;
}
