/** One process without rights: it is given one job, its doors are kept by us, and it never outlives the job. */
import type { DoorAnswer, DoorRequest, JailJob, JailMessage } from "../../schemas/authored.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { createToken } from "../door/token.ts";
import type { OwnProgram } from "../mcp/connections.ts";
import type { Child } from "../processes/child.ts";
import { ProcessError } from "../processes/process_error.ts";
import type { SpawnOptions } from "../processes/spawn.ts";
import type { Clock } from "../seams.ts";
import { FrameReader } from "./frames.ts";
import { processorMs } from "./processor_time.ts";

/** What a jail is made with. */
export interface JailOptions {
  readonly start: (options: SpawnOptions) => Promise<Child>;
  readonly program: OwnProgram;
  readonly clock: Clock;
}

/** How a job ended. `broken`: without an answer, and why, one clause. */
export type JobEnd =
  | { readonly type: "described"; readonly definition: Json }
  | { readonly type: "result"; readonly value: Json }
  | { readonly type: "failed"; readonly message: string; readonly isArguments: boolean }
  | { readonly type: "broken"; readonly why: string };

/** Who hears of a job while it is done. */
export interface JobTerms {
  /** Ends the job at once: the process with all its group is killed. */
  readonly signal: AbortSignal;
  /** Time of the processor that it may use, in milliseconds. */
  readonly cpuMsMax?: number;
  readonly onDoor?: (request: DoorRequest) => Promise<DoorAnswer>;
  readonly onProgress?: (text: string) => void;
}

/** A process that waits for its one job. */
export class Jail {
  readonly #child: Child;
  readonly #clock: Clock;
  readonly #messages: AsyncGenerator<JailMessage, undefined>;
  #doorUses = 0;
  #doorsOpen = 0;
  #cpuSpentMs = 0;
  #isOver = false;
  #hasBegun = false;

  /** Takes a child that was just started, and will be told the secret: see {@linkcode Jail.open}. */
  constructor(child: Child, secret: string, clock: Clock) {
    this.#child = child;
    this.#clock = clock;
    this.#messages = messagesOf(child, secret);
    child.ended.then(() => this.#isOver = true);
  }

  /** Starts one. Whether it came up is told by its job. */
  static async open({ start, program, clock }: JailOptions): Promise<Jail> {
    const cwd = Deno.build.os === "windows" ? "C:\\" : "/";
    const child = await start({ ...program, cwd });
    const secret = await createToken();
    const jail = new Jail(child, secret, clock);
    jail.#write(`${secret}\n`);
    return jail;
  }

  /** True once code of a tool may have run in it. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** False once it is known that its process has ended. */
  get isAlive(): boolean {
    return !this.#isOver;
  }

  get pid(): number {
    return this.#child.pid;
  }

  /**
   * Does the job, and kills the process: nothing of a call is there when the next one begins. Whoever calls waits for
   * {@linkcode Jail.end} as well. Never rejects.
   */
  async run(job: JailJob, terms: JobTerms): Promise<JobEnd> {
    const over = new AbortController();
    const kill = () => this.#child.kill();
    if (terms.signal.aborted) kill();
    terms.signal.addEventListener("abort", kill, { once: true });
    const cpuMsMax = terms.cpuMsMax ?? limits.jailCpuMsMax;
    void this.#watchProcessor(cpuMsMax, over.signal);
    try {
      this.#write(`${JSON.stringify(job)}\n`);
      return await this.#follow(terms) ?? await this.#broken(terms.signal);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      return { type: "broken", why: "it wrote what is no message of a tool, or one that is too large" };
    } finally {
      over.abort();
      terms.signal.removeEventListener("abort", kill);
      kill();
    }
  }

  /** Kills the process and its group, and waits until they are gone. */
  async end(): Promise<void> {
    this.#child.kill();
    await this.#child.close();
  }

  async #follow({ onDoor, onProgress }: JobTerms): Promise<JobEnd | undefined> {
    for await (const message of this.#messages) {
      switch (message.type) {
        case "begun":
          this.#hasBegun = true;
          break;
        case "progress":
          onProgress?.(message.text);
          break;
        case "door":
          void this.#open(message, onDoor);
          break;
        default:
          return message;
      }
    }
    return undefined;
  }

  /** Opens a door once. Bounded: a tool that asks without end is answered with a refusal. */
  async #open(
    { id, request }: Extract<JailMessage, { type: "door" }>,
    onDoor: JobTerms["onDoor"],
  ): Promise<void> {
    const isTooMuch = ++this.#doorUses > limits.doorUsesPerCallMax ||
      this.#doorsOpen >= limits.doorUsesAtOnceMax;
    if (onDoor === undefined || isTooMuch) {
      const message = onDoor === undefined
        ? "There are no doors here"
        : "Too many uses of ctx: ask for less at once";
      this.#answer(id, { ok: false, code: "door_closed", message });
      return;
    }
    this.#doorsOpen++;
    try {
      this.#answer(id, await onDoor(request));
    } catch {
      // A fault of the door itself: what it was is in the log of whoever keeps it.
      this.#answer(id, { ok: false, code: "door_failed", message: "The runtime failed to do this" });
    } finally {
      this.#doorsOpen--;
    }
  }

  #answer(id: number, answer: DoorAnswer): void {
    this.#write(`${JSON.stringify({ id, answer })}\n`);
  }

  #write(text: string): void {
    // A process that has ended hears nothing; its end is told by its output.
    this.#child.write(new TextEncoder().encode(text)).catch((error) => {
      if (!(error instanceof ProcessError)) throw error;
    });
  }

  async #watchProcessor(msMax: number, over: AbortSignal): Promise<void> {
    const before = processorMs(this.#child.pid) ?? 0;
    while (!over.aborted) {
      await this.#clock.sleepUntil(this.#clock.now() + limits.jailCpuLookMs, over);
      const used = (processorMs(this.#child.pid) ?? 0) - before;
      if (over.aborted || used <= msMax) continue;
      this.#cpuSpentMs = msMax;
      this.#child.kill();
      return;
    }
  }

  /** Why a process is gone that gave no answer. */
  async #broken(signal: AbortSignal): Promise<JobEnd> {
    const { code, signal: by } = await this.#child.ended;
    const words = this.#child.stderr();
    const why = this.#cpuSpentMs > 0
      ? `it used more than ${this.#cpuSpentMs / 1_000} s of the processor`
      : signal.aborted
      ? "it was ended with its call"
      : /out of memory|heap limit|Array buffer allocation failed/i.test(words)
      ? `it used more than ${limits.jailHeapMegabytesMax} MB of memory`
      : by === null
      ? `its process ended by itself (code ${code})`
      : `its process was ended by ${by}`;
    return { type: "broken", why };
  }
}

async function* messagesOf(child: Child, secret: string): AsyncGenerator<JailMessage, undefined> {
  const frames = new FrameReader(secret);
  for await (const chunk of child.stdout) yield* frames.push(chunk);
  return undefined;
}
