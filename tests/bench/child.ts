/** The bench's side of the dialogue: a long-lived child process that is asked one thing at a time. */
import type { Dialogue } from "./protocol.ts";
import { TextLineStream } from "./text_lines.ts";

/** How a child is started. */
export interface ChildOptions {
  /** Name in messages. */
  readonly name: string;
  readonly script: URL;
  readonly config: URL;
  readonly args?: readonly string[];
  readonly v8Flags?: readonly string[];
}

type Reply = { readonly ok: unknown } | { readonly error: string } | { readonly ready: true };

/** A running child. */
export class Child {
  readonly name: string;
  readonly #process: Deno.ChildProcess;
  readonly #requests: WritableStreamDefaultWriter<Uint8Array>;
  readonly #replies: ReadableStreamDefaultReader<string>;

  constructor(name: string, process: Deno.ChildProcess) {
    this.name = name;
    this.#process = process;
    this.#requests = process.stdin.getWriter();
    this.#replies = process.stdout.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream()).getReader();
  }

  /** Starts a child and waits until it is ready. Throws if it ends before that. */
  static async start({ name, script, config, args = [], v8Flags = [] }: ChildOptions): Promise<Child> {
    const flags = v8Flags.length === 0 ? [] : [`--v8-flags=${v8Flags.join(",")}`];
    const command = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "-q",
        "--frozen",
        `--config=${config.pathname}`,
        ...flags,
        script.pathname,
        ...args,
      ],
      env: { NODE_ENV: "production" },
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    });
    const child = new Child(name, command.spawn());
    await child.#reply();
    return child;
  }

  /** Asks one thing and waits for the answer. */
  async ask<K extends keyof Dialogue>(request: Dialogue[K][0] & { readonly do: K }): Promise<Dialogue[K][1]> {
    await this.#requests.write(new TextEncoder().encode(`${JSON.stringify(request)}\n`));
    const reply = await this.#reply();
    if ("ok" in reply) return reply.ok as Dialogue[K][1];
    throw new Error(
      `${this.name} could not do "${request.do}": ${"error" in reply ? reply.error : "no answer"}`,
    );
  }

  /** Kills the child where it stands, as a power cut would. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
    await this.#replies.cancel();
    await this.#requests.abort().catch(() => {});
  }

  /** Lets the child end. */
  async end(): Promise<void> {
    await this.#requests.close();
    await this.#replies.cancel();
    await this.#process.status;
  }

  async #reply(): Promise<Reply> {
    const { done, value } = await this.#replies.read();
    if (done) throw new Error(`${this.name} ended before it answered`);
    return JSON.parse(value) as Reply;
  }
}
