/** A child process in a group of its own, and the ladder by which it really ends. */
import { limits } from "../../schemas/limits.ts";
import type { Clock } from "../seams.ts";
import { ProcessGroup } from "./group.ts";
import { Input } from "./input.ts";
import { Output } from "./output.ts";
import { spawnLeader, type SpawnOptions } from "./spawn.ts";
import type { ReadStartMark } from "./start_mark.ts";
import { Tail } from "./tail.ts";

export { ProcessError } from "./process_error.ts";

/** What is waited for at most, once a child has ended, for the last bytes that are still in its pipes. */
const lastBytesMs = 250;

/** What is started, and where. */
export interface ChildOptions extends SpawnOptions {
  readonly clock: Clock;
  readonly readStartMark?: ReadStartMark | undefined;
}

/** How a child ended. */
export interface ChildEnd {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
}

/** A child process, from its start to its end. Whoever started it calls `close`, also if it has ended by itself. */
export interface Child {
  readonly pid: number;
  /** True once it is known for certain which process it is (DM-97). */
  identify(): Promise<boolean>;
  /** Ends with the child's output, at the latest when `close` resolves. */
  readonly stdout: ReadableStream<Uint8Array>;
  /** Writes in order. Rejects with {@linkcode ProcessError} `process_input_closed` once the child does not read any more. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends its input, once everything before has been written: how most programs are asked to end. */
  endInput(): void;
  /** Resolves when the process itself has ended, its group is gone and its last words are in `stderr`. Never rejects. */
  readonly ended: Promise<ChildEnd>;
  /** The last that it wrote to standard error. Raw: it may hold anything. */
  stderr(): string;
  /**
   * Ends it by the ladder: end of input, TERM to the group, KILL to the group. One ladder for all callers. While it
   * goes on, whoever reads `stdout` still gets everything; what nobody reads is thrown away.
   */
  close(): Promise<ChildEnd>;
  /** KILL to the group at once. */
  kill(): void;
}

/** Starts a child in a group of its own. Throws {@linkcode ProcessError}. */
export function startChild(options: ChildOptions): Child {
  const process = spawnLeader(options, { stdin: "piped" });
  return new RunningChild(process, options);
}

class RunningChild implements Child {
  readonly pid: number;
  readonly ended: Promise<ChildEnd>;
  readonly #process: Deno.ChildProcess;
  readonly #group: ProcessGroup;
  readonly #clock: Clock;
  readonly #input: Input;
  readonly #output: Output;
  readonly #errors = new Tail(limits.processStderrTailBytesMax);
  /** Resolves when the process has ended and its group has been swept. */
  readonly #over: Promise<ChildEnd>;
  #closing: Promise<ChildEnd> | undefined;

  constructor(process: Deno.ChildProcess, { command, clock, readStartMark }: ChildOptions) {
    this.pid = process.pid;
    this.#process = process;
    this.#group = new ProcessGroup(process, readStartMark);
    this.#clock = clock;
    this.#input = new Input(command, process.stdin);
    this.#output = new Output(process.stdout);
    this.#over = this.#sweep();
    this.ended = this.#end();
  }

  identify(): Promise<boolean> {
    return this.#group.identify(this.#clock);
  }

  get stdout(): ReadableStream<Uint8Array> {
    return this.#output.stream;
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#input.write(bytes);
  }

  endInput(): void {
    this.#input.close();
  }

  stderr(): string {
    return this.#errors.text();
  }

  close(): Promise<ChildEnd> {
    return this.#closing ??= this.#close();
  }

  kill(): void {
    this.#group.signal("SIGKILL");
  }

  async #close(): Promise<ChildEnd> {
    if (!this.#output.isRead) this.#output.discard();
    this.#input.close();
    if (!await this.#comes(this.#over, limits.processEofGraceMs)) {
      this.#group.signal("SIGTERM");
      if (!await this.#comes(this.#over, limits.processTermGraceMs)) this.kill();
    }
    const end = await this.ended;
    if (this.#output.isRead) await this.#comes(this.#output.finish(), lastBytesMs);
    await this.#output.cut();
    return end;
  }

  /** Waits for the process, and ends what it leaves behind in its group: once, and at once. */
  async #sweep(): Promise<ChildEnd> {
    const { code, signal } = await this.#process.status;
    this.#group.signal("SIGKILL");
    this.#group.close();
    this.#input.abandon();
    return { code: signal === null ? code : null, signal };
  }

  async #end(): Promise<ChildEnd> {
    const reader = this.#process.stderr.getReader();
    const drained = this.#drain(reader);
    const end = await this.#over;
    // A process that left the group may hold the pipe open for as long as it lives.
    await this.#comes(drained, lastBytesMs);
    await reader.cancel().catch(() => {});
    return end;
  }

  async #drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        this.#errors.push(part.value);
      }
    } catch {
      // A broken pipe has nothing more to say.
    }
  }

  /** True if `event` comes within `ms`. */
  async #comes(event: Promise<unknown>, ms: number): Promise<boolean> {
    const stop = new AbortController();
    const late = this.#clock.sleepUntil(this.#clock.now() + ms, stop.signal).then(() => false);
    const inTime = await Promise.race([event.then(() => true), late]);
    stop.abort();
    return inTime;
  }
}
