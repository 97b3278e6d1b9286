/** A process of a round: the owner or the command, with what it said last. */

const main = new URL("../../main.ts", import.meta.url).pathname;
const owner = new URL("owner.ts", import.meta.url).pathname;
const config = new URL("../../deno.json", import.meta.url).pathname;

/** How a process ended. */
export interface Ended {
  readonly code: number;
  readonly signal: Deno.Signal | null;
}

/** Where and with what a process is started. */
export interface ProcessOptions {
  readonly folder: string;
  readonly env: { readonly [name: string]: string };
}

/** A process that was started. */
export class KillableProcess {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  isOver = false;
  out = "";
  err = "";
  readonly #child: Deno.ChildProcess;
  #news = Promise.withResolvers<void>();

  constructor(args: readonly string[], { folder, env }: ProcessOptions) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", "--no-check", "--config", config, ...args],
      cwd: folder,
      env: { ...env },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.pid = this.#child.pid;
    this.ended = this.#follow();
  }

  /** Waits until it says `text`, or ends. True if it said so. */
  async until(text: string): Promise<boolean> {
    while (!this.isOver && !`${this.out}${this.err}`.includes(text)) await this.#news.promise;
    return `${this.out}${this.err}`.includes(text);
  }

  signal(name: Deno.Signal): void {
    try {
      this.#child.kill(name);
    } catch {
      // It has ended already.
    }
  }

  /** Ends it at once, by its own pid. */
  async kill(): Promise<Ended> {
    this.signal("SIGKILL");
    return await this.ended;
  }

  /** The end of what it said. */
  get tail(): string {
    return `${this.out.slice(-500)}\n${this.err.slice(-3_000)}`.trim();
  }

  async #follow(): Promise<Ended> {
    const [status] = await Promise.all([
      this.#child.status,
      this.#read("out", this.#child.stdout),
      this.#read("err", this.#child.stderr),
    ]);
    this.isOver = true;
    this.#news.resolve();
    return { code: status.code, signal: status.signal };
  }

  async #read(name: "out" | "err", stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      this[name] += text;
      this.#news.resolve();
      this.#news = Promise.withResolvers();
    }
  }
}

/** Starts the owner of a store. */
export function startOwner(store: string, options: ProcessOptions): KillableProcess {
  return new KillableProcess([owner, store], options);
}

/** Starts the real command. */
export function startTroupe(args: readonly string[], options: ProcessOptions): KillableProcess {
  return new KillableProcess([main, ...args], options);
}
