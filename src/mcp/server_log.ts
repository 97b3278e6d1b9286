/** The private log of what servers that are processes wrote to their standard error, beside the store (DM-72). */
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { realStorePath } from "../journal/store_file.ts";
import type { ChildEnd } from "../processes/child.ts";
import type { Redactor } from "../redact/redactor.ts";
import type { Seams } from "../seams.ts";
import { lastText } from "./plain_text.ts";

/** What stands in the log for words that could not be searched for secrets. */
export const unsearched = "[left out: it could not be searched for secrets]";

const fileMode = 0o600;

/** Options of {@linkcode ServerLog}. */
export interface ServerLogOptions {
  /** Path of the store. What is no file has no log: what was said there is in the journal alone. */
  readonly store: string;
  readonly redactor: Pick<Redactor, "text">;
  readonly clock: Seams["clock"];
  readonly log: Seams["log"];
}

/** How a server ended that was started by a connection. */
export interface ServerEnd extends ChildEnd {
  readonly connection: RootAddress;
  /** The end of what it wrote, raw. */
  readonly stderr: string;
}

/** One log for all servers of a store, one JSON line for each process that ended and had something to say. */
export class ServerLog {
  readonly #options: ServerLogOptions;
  readonly #path: string | undefined;
  #isUsable = true;

  constructor(options: ServerLogOptions, path: string | undefined) {
    this.#options = options;
    this.#path = path;
  }

  /** The log beside a store, `<store>.servers.log`; the file is made when the first line comes. */
  static async beside(options: ServerLogOptions): Promise<ServerLog> {
    const { store } = options;
    const isFile = store !== ":memory:" && !/^https?:/.test(store);
    return new ServerLog(options, isFile ? `${await realStorePath(store)}.servers.log` : undefined);
  }

  /** Writes how a server ended. At once, so that no end of the runtime comes before it; never throws. */
  note({ connection, code, signal, stderr }: ServerEnd): void {
    if (stderr === "" || this.#path === undefined || !this.#isUsable) return;
    const at = new Date(this.#options.clock.now()).toISOString();
    try {
      append(
        this.#path,
        `${JSON.stringify({ at, connection, code, signal, stderr: this.#clean(stderr) })}\n`,
      );
    } catch (error) {
      this.#isUsable = false;
      const why = error instanceof Error ? error.name : String(error);
      this.#options.log({ level: "warning", event: "server_log_unusable", detail: { why } });
    }
  }

  /** Whole, then cut: a secret whose beginning was cut away would not be known again. */
  #clean(stderr: string): string {
    try {
      const { value, isWithheld } = this.#options.redactor.text(stderr, "durable");
      return isWithheld ? unsearched : lastText(value, limits.mcpStderrCharactersMax);
    } catch {
      return unsearched;
    }
  }
}

function append(path: string, line: string): void {
  const bytes = new TextEncoder().encode(line);
  if (sizeOf(path) + bytes.length > limits.mcpLogFileBytesMax) Deno.renameSync(path, `${path}.old`);
  using file = Deno.openSync(path, { append: true, create: true, mode: fileMode });
  const { mode } = file.statSync();
  if (mode !== null && (mode & 0o077) !== 0) Deno.chmodSync(path, fileMode);
  for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
}

function sizeOf(path: string): number {
  try {
    return Deno.statSync(path).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}
