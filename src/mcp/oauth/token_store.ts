/** Where logins are kept: one file each, for its owner's eyes alone, changed under a lock and replaced as a whole. */
import { limits } from "../../../schemas/limits.ts";
import type { Seams } from "../../seams.ts";
import { credentialsUnusable } from "./auth_error.ts";
import { secretsOf, TokenRecord } from "./token_record.ts";

/** Makes a value known as a secret. False if it cannot be looked for: then it is not used. */
export type KeepSecret = (name: string, value: string) => boolean;

/** Options of {@linkcode TokenStore}. */
export interface TokenStoreOptions {
  /** Made when the first login is kept. */
  readonly folder: string;
  readonly keepSecret: KeepSecret;
  readonly clock: Seams["clock"];
  readonly digest: Seams["digest"];
}

/** What a login is kept by (B101). */
export type TokenKey = Pick<TokenRecord, "issuer" | "resource" | "client">;

const fileMode = 0o600;
const folderMode = 0o700;
/** Bits of a mode by which anybody but the owner may do anything. */
const others = 0o077;
const nameForm = /^[0-9a-f]{32}\.json$/;

/** The folder of logins beside the file of what is trusted. */
export function credentialsFolder(trustFile: string): string {
  return `${trustFile.replace(/[^/\\]*$/, "")}credentials`;
}

/** The logins of one person on one machine, shared by all processes. Every fault is `mcp_credentials_unusable`. */
export class TokenStore {
  readonly #options: TokenStoreOptions;

  constructor(options: TokenStoreOptions) {
    this.#options = options;
  }

  /** The name by which a login is kept. */
  async nameOf({ issuer, resource, client: { id } }: TokenKey): Promise<string> {
    const bytes = new TextEncoder().encode(JSON.stringify([issuer, resource, id]));
    return (await this.#options.digest(bytes)).slice("sha256:".length, "sha256:".length + 32);
  }

  /** Names and logins for a server's URL, the newest first. */
  async find(endpoint: string): Promise<readonly (readonly [name: string, record: TokenRecord])[]> {
    const found: (readonly [string, TokenRecord])[] = [];
    let fault: unknown;
    for (const name of await this.#names()) {
      try {
        const record = await this.read(name);
        if (record?.endpoints.includes(endpoint)) found.push([name, record]);
      } catch (error) {
        fault ??= error; // Whose it is cannot be known; it does not stop the others.
      }
    }
    if (found.length === 0 && fault !== undefined) throw fault;
    return found.sort(([, one], [, other]) => other.got_at - one.got_at);
  }

  /** A login; undefined if there is none. Its secrets are known from then on. */
  async read(name: string): Promise<TokenRecord | undefined> {
    const path = this.#path(name);
    const record = await this.#readFile(path);
    if (record !== undefined) this.#keepSecrets(record);
    return record;
  }

  /**
   * Changes a login under its lock: of two processes one waits, and sees what the other made. `change` may take its time;
   * what it gives is on disk before this ends. Given back unchanged, nothing is written.
   */
  async change(
    name: string,
    change: (record: TokenRecord | undefined) => Promise<TokenRecord | undefined>,
  ): Promise<TokenRecord | undefined> {
    using _lock = await this.#lock(name);
    await this.#finish(name);
    const before = await this.read(name);
    const after = await change(before);
    if (after === undefined || after === before) return after;
    this.#keepSecrets(after);
    await this.#write(name, after);
    return after;
  }

  /** Forgets a login. */
  async remove(name: string): Promise<void> {
    using _lock = await this.#lock(name);
    for (const path of [this.#path(name), draftOf(this.#path(name))]) await removeIfThere(path);
  }

  #path(name: string): string {
    return `${this.#options.folder}/${name}.json`;
  }

  async #names(): Promise<readonly string[]> {
    const names: string[] = [];
    try {
      for await (const { name } of Deno.readDir(this.#options.folder)) {
        if (nameForm.test(name)) names.push(name.slice(0, -".json".length));
      }
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return [];
      throw this.#unusable("its folder cannot be read", error);
    }
    if (names.length > limits.oauthCredentialsMax) {
      throw this.#unusable(
        `there are more than ${limits.oauthCredentialsMax}; take some away with troupe mcp auth --logout`,
      );
    }
    return names.sort();
  }

  async #readFile(path: string): Promise<TokenRecord | undefined> {
    let bytes: Uint8Array;
    try {
      using file = await Deno.open(path, { read: true });
      const { mode, size, isFile } = await file.stat();
      if (!isFile) throw this.#unusable("one of them is no file");
      if (mode !== null && (mode & others) !== 0) {
        const shown = (mode & 0o777).toString(8).padStart(4, "0");
        throw this.#unusable(
          `others may read or write "${fileName(path)}" (mode ${shown}); remove that file, and log in again`,
        );
      }
      if (size > limits.oauthRecordBytesMax) throw this.#unusable(`"${fileName(path)}" is too large`);
      bytes = new Uint8Array(await new Response(file.readable).arrayBuffer());
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      if (error instanceof Error && error.name === "AuthError") throw error;
      throw this.#unusable(`"${fileName(path)}" cannot be read`, error);
    }
    const record = parse(bytes);
    if (record === undefined) {
      throw this.#unusable(`this release did not write "${fileName(path)}"; remove it, and log in again`);
    }
    return record;
  }

  /** Fails closed: a token that cannot be taken out of what is shown is not used. */
  #keepSecrets(record: TokenRecord): void {
    const lost = secretsOf(record).find(([name, value]) => !this.#options.keepSecret(name, value));
    if (lost !== undefined) {
      throw credentialsUnusable(
        `Cannot use a login: its ${
          lost[0]
        } cannot be kept out of what is shown; it is too short or too plain`,
      );
    }
  }

  /** Who died between writing and moving left the only tokens that count; a half-written draft is none. */
  async #finish(name: string): Promise<void> {
    const path = this.#path(name);
    const draft = draftOf(path);
    let left: TokenRecord | undefined;
    try {
      left = parse(await Deno.readFile(draft));
    } catch {
      return;
    }
    const current = await this.#readFile(path);
    try {
      if (left !== undefined && left.generation > (current?.generation ?? 0)) await Deno.rename(draft, path);
      else await Deno.remove(draft);
    } catch (error) {
      throw this.#unusable(`"${fileName(path)}" cannot be written`, error);
    }
  }

  /** Flushed, then moved to its place: nobody ever reads half of it, and no power cut leaves an empty one. */
  async #write(name: string, record: TokenRecord): Promise<void> {
    const path = this.#path(name);
    const bytes = new TextEncoder().encode(`${JSON.stringify(TokenRecord.parse(record), undefined, 2)}\n`);
    if (bytes.length > limits.oauthRecordBytesMax) throw this.#unusable("the login is too large");
    try {
      using file = await Deno.open(draftOf(path), { write: true, createNew: true, mode: fileMode });
      for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
      await file.sync();
      await Deno.rename(draftOf(path), path);
    } catch (error) {
      throw this.#unusable(`"${fileName(path)}" cannot be written`, error);
    }
  }

  /** The lock file is never deleted: two processes could then lock different files of one name. */
  async #lock(name: string): Promise<Deno.FsFile> {
    const { folder, clock } = this.#options;
    let file: Deno.FsFile;
    try {
      await Deno.mkdir(folder, { recursive: true, mode: folderMode });
      file = await Deno.open(`${folder}/${name}.lock`, {
        read: true,
        write: true,
        create: true,
        mode: fileMode,
      });
    } catch (error) {
      throw this.#unusable("their folder cannot be written", error);
    }
    const untilMs = clock.now() + limits.oauthLockMs;
    while (!(await file.tryLock(true))) {
      if (clock.now() >= untilMs) {
        file.close();
        throw this.#unusable("another process holds one of them; try again when it has ended");
      }
      await clock.sleepUntil(clock.now() + limits.oauthLockPollMs);
    }
    return file;
  }

  #unusable(why: string, cause?: unknown) {
    return credentialsUnusable(`Cannot use the logins that are kept beside what is trusted: ${why}`, cause);
  }
}

function parse(bytes: Uint8Array): TokenRecord | undefined {
  try {
    const parsed = TokenRecord.safeParse(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

function draftOf(path: string): string {
  return `${path}.part`;
}

function fileName(path: string): string {
  return path.replace(/^.*[/\\]/, "");
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) {
      throw credentialsUnusable("Cannot remove a login: its file cannot be removed", error);
    }
  }
}
