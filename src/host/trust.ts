/** What the operator trusts: MCP servers that are started without a question, by the fingerprints of their declarations. */
import { z } from "zod";
import { Digest, ServerId } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { TrustLevel } from "../../schemas/provenance.ts";
import type { Env } from "./home.ts";
import { fileMode, folderMode, othersMayWrite, replaceFile } from "./replace_file.ts";

/** How far an operator may trust a server of others (AR-8): nobody but troupe itself is `trusted_local`. */
export const GivenTrust = TrustLevel.extract(["team_audited", "third_party"]);
/** How far an operator may trust a server of others. */
export type GivenTrust = z.infer<typeof GivenTrust>;

/** A server that may be started without a question, as long as its declaration has this fingerprint (DM-62). */
export const TrustedServer = z.strictObject({
  /** Hash of everything that starting the server depends on. */
  fingerprint: Digest,
  server: ServerId,
  /** The agent's folder, a real path. For people, and for taking trust away. */
  folder: z.string().min(1).max(limits.pathCharactersMax),
  /** When it was trusted, in milliseconds since the epoch. */
  at: z.int().nonnegative(),
  /** Without it, it is a third party's. */
  level: GivenTrust.optional(),
});
/** A server that may be started without a question. */
export type TrustedServer = Readonly<z.infer<typeof TrustedServer>>;

const TrustFile = z.strictObject({ v: z.literal(1), servers: z.array(TrustedServer) });

/** What can be wrong with the file of what is trusted; stable, for programs. */
export type TrustErrorCode = "trust_unreadable" | "trust_unsafe" | "trust_unwritable" | "trust_full";

/** The file of what is trusted cannot be used. It is never taken for an empty one, and never overwritten. */
export class TrustError extends Error {
  override readonly name = "TrustError";
  /** Stable; for programs. */
  readonly code: TrustErrorCode;
  constructor(code: TrustErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Largest file, in bytes: some thousand servers. */
const fileBytesMax = 1_048_576;

/** The file of what is trusted: `$TROUPE_TRUST`, or in the user's data folder; undefined if no home is known. */
export function trustFile(env: Env): string | undefined {
  const named = env("TROUPE_TRUST");
  if (named !== undefined) return named;
  const home = env("HOME") ?? env("USERPROFILE");
  const base = env("XDG_DATA_HOME") ?? (home === undefined ? undefined : `${home}/.local/share`);
  return base === undefined ? undefined : `${base}/troupe/trusted.json`;
}

/**
 * What is trusted, in one file that is read at every use: what another process added counts at once. A missing file is
 * an empty one. Every method throws {@linkcode TrustError} for a file that cannot be read (`trust_unreadable`), or that
 * others may write (`trust_unsafe`): who writes it decides what is started.
 */
export class TrustStore {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** All that is trusted, in the order in which it was. */
  async list(): Promise<readonly TrustedServer[]> {
    const text = await this.#readText();
    return text === undefined ? [] : this.#parse(text);
  }

  /** How far a declaration of this fingerprint is trusted; undefined if it is not. */
  async levelOf(fingerprint: string): Promise<GivenTrust | undefined> {
    const found = (await this.list()).find((one) => one.fingerprint === fingerprint);
    return found === undefined ? undefined : found.level ?? "third_party";
  }

  /** Trusts servers. A fingerprint that is trusted already stays as it is, but for another level. */
  async add(servers: readonly TrustedServer[]): Promise<void> {
    await this.#change((trusted) => {
      const known = new Map(trusted.map((one) => [one.fingerprint, one]));
      for (const one of servers) {
        const { level, ...kept } = known.get(one.fingerprint) ?? one;
        const given = one.level ?? level;
        known.set(one.fingerprint, { ...kept, ...(given === undefined ? {} : { level: given }) });
      }
      return [...known.values()];
    });
  }

  /** Trusts no server of a folder any more. Returns how many there were. */
  async remove(folder: string): Promise<number> {
    const isOfFolder = (one: TrustedServer) => one.folder === folder;
    // Nothing is made where nothing is to be taken away.
    if (!(await this.list()).some(isOfFolder)) return 0;
    let removed = 0;
    await this.#change((trusted) => {
      const kept = trusted.filter((one) => !isOfFolder(one));
      removed = trusted.length - kept.length;
      return kept;
    });
    return removed;
  }

  /** Reads, changes and writes under a lock: of two processes, one waits, and neither loses what the other added. */
  async #change(change: (trusted: readonly TrustedServer[]) => readonly TrustedServer[]): Promise<void> {
    using lock = await this.#openLock();
    await lock.lock(true);
    const before = await this.list();
    const after = change(before);
    if (JSON.stringify(after) !== JSON.stringify(before)) await this.#write(after);
  }

  /** The lock file is never deleted: two processes could then lock different files of one name. */
  async #openLock(): Promise<Deno.FsFile> {
    const folder = this.#path.match(/^(.*)[/\\][^/\\]*$/)?.[1] ?? "";
    try {
      if (folder !== "") await Deno.mkdir(folder, { recursive: true, mode: folderMode });
      return await Deno.open(`${this.#path}.lock`, { read: true, write: true, create: true, mode: fileMode });
    } catch (error) {
      throw this.#unwritable(error);
    }
  }

  /** Written beside its place and moved there, so that nobody ever reads half of it. */
  async #write(servers: readonly TrustedServer[]): Promise<void> {
    const text = `${JSON.stringify(TrustFile.parse({ v: 1, servers }), undefined, 2)}\n`;
    const bytes = new TextEncoder().encode(text);
    if (bytes.length > fileBytesMax) {
      const message =
        `Cannot trust more servers in "${this.#path}": it would grow beyond ${fileBytesMax} bytes; ` +
        "take some away with troupe trust FOLDER --remove";
      throw new TrustError("trust_full", message);
    }
    try {
      await replaceFile(this.#path, bytes);
    } catch (error) {
      throw this.#unwritable(error);
    }
  }

  /** The file's text; undefined if there is no file. */
  async #readText(): Promise<string | undefined> {
    try {
      using file = await Deno.open(this.#path, { read: true });
      const { mode, size, isFile } = await file.stat();
      if (!isFile) throw this.#unreadable("it is no file");
      this.#refuseUnsafe(mode);
      if (size > fileBytesMax) throw this.#unreadable(`it has more than ${fileBytesMax} bytes`);
      const bytes = await new Response(file.readable).arrayBuffer();
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch (error) {
      if (error instanceof TrustError) throw error;
      if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
        return undefined;
      }
      throw this.#unreadable(error instanceof TypeError ? "it is not UTF-8 text" : reasonOf(error), error);
    }
  }

  /** Windows has no such bits. */
  #refuseUnsafe(mode: number | null): void {
    if (mode === null || (mode & othersMayWrite) === 0) return;
    const shown = (mode & 0o777).toString(8).padStart(4, "0");
    const message = `Cannot trust what "${this.#path}" says: others may write it (mode ${shown}); ` +
      "look at what is in it, then take that right away with chmod 600";
    throw new TrustError("trust_unsafe", message);
  }

  #parse(text: string): readonly TrustedServer[] {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw this.#unreadable("it is not JSON", error);
    }
    const parsed = TrustFile.safeParse(value);
    if (parsed.success) return parsed.data.servers;
    const { path = [], message = "" } = parsed.error.issues[0] ?? {};
    const where = path.length === 0 ? "" : ` (${path.map(String).join(".")}: ${message})`;
    throw this.#unreadable(`this release did not write it${where}`, parsed.error);
  }

  #unreadable(why: string, cause?: unknown): TrustError {
    const message =
      `Cannot read what is trusted in "${this.#path}": ${why}; mend it, or move it away and trust ` +
      "each agent again with troupe trust";
    return new TrustError("trust_unreadable", message, { cause });
  }

  #unwritable(cause: unknown): TrustError {
    const message = `Cannot write what is trusted to "${this.#path}": ${reasonOf(cause)}; make its folder ` +
      "writable, or name another file in TROUPE_TRUST";
    return new TrustError("trust_unwritable", message, { cause });
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
