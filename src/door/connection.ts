/** One client at the door: reads its requests, guards them, and answers each under its own id. */
import type { z } from "zod";
import { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { LineSplitter, readJson } from "../border.ts";
import type { ActingHost } from "../host/host.ts";
import { untilTasksEnd } from "../host/host_tasks.ts";
import { peek } from "../peek.ts";
import type { Seams } from "../seams.ts";
import { writeAll } from "./write_all.ts";
import { methods } from "./methods.ts";
import { DoorError, type DoorMethod, doorMethods, DoorRequest, type DoorResponse } from "./protocol.ts";
import { isSameToken } from "./token.ts";

/** Until the token was shown, a line is this long at most and must come within this time. */
const stranger = { lineBytesMax: 4_096, durationMs: 5_000 } as const;
const requestsAtOnceMax = 32;
/** Longest wait for answers that are being ended. */
const lastWordsMs = 500;
const readBytes = 65_536;

/** What a connection needs of its door. */
export interface ConnectionOptions {
  readonly connection: Deno.Conn;
  readonly host: ActingHost;
  readonly token: string;
  readonly seams: Seams;
  /** Told when a prompt begins and ends to be answered. */
  readonly onPrompt: (change: 1 | -1) => void;
}

/** One client, from its first byte to its last. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #running = new Map<number, AbortController>();
  readonly #answering = new Set<Promise<void>>();
  readonly #known = new AbortController();
  /** Aborts when the client has gone. */
  readonly #gone = new AbortController();
  #writing: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Serves the client until it leaves or does something wrong. Never throws. */
  async serve(): Promise<void> {
    const { seams, connection } = this.#options;
    const { clock } = seams;
    clock.sleepUntil(clock.now() + stranger.durationMs, this.#known.signal).then(() => {
      if (!this.#known.signal.aborted) this.close();
    });
    const lines = new LineSplitter(stranger.lineBytesMax);
    const buffer = new Uint8Array(readBytes);
    try {
      for (let count = await connection.read(buffer); count !== null; count = await connection.read(buffer)) {
        for (const line of lines.take(buffer.subarray(0, count))) {
          await this.#take(line);
          lines.bytesMax = limits.doorLineBytesMax;
        }
      }
    } catch (error) {
      if (!this.#isClosed) await this.#fail(0, error);
    } finally {
      await this.#writing.catch(() => {});
      this.close();
    }
  }

  /** Ends everything that is being answered, and waits a moment until it has said its last words. */
  async finish(): Promise<void> {
    const { clock } = this.#options.seams;
    for (const abort of this.#running.values()) abort.abort();
    const stop = new AbortController();
    const late = clock.sleepUntil(clock.now() + lastWordsMs, stop.signal);
    await Promise.race([Promise.all(this.#answering), late]);
    stop.abort();
  }

  /** Ends the connection and everything that is being answered on it. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#known.abort();
    this.#gone.abort();
    for (const abort of this.#running.values()) abort.abort();
    try {
      this.#options.connection.close();
    } catch {
      // The other side was faster.
    }
  }

  /** Takes one line. Throws what ends the connection: no token, no JSON, no request. */
  async #take(line: string): Promise<void> {
    const { token, seams } = this.#options;
    const value = readJson(line, { bytesMax: limits.doorLineBytesMax });
    const shown = typeof value === "object" && value !== null && "token" in value
      ? value["token"]
      : undefined;
    // The token first: a stranger learns nothing about the rest.
    if (typeof shown !== "string" || !await isSameToken(shown, token, seams.digest)) {
      seams.log({ level: "warning", event: "door.token_refused" });
      throw new DoorError("token_invalid", "The token is not the one of this store's owner");
    }
    this.#known.abort();
    const request = DoorRequest.safeParse(value);
    if (!request.success) {
      throw new DoorError("request_invalid", `This is no request: ${problemOf(request.error)}`);
    }
    const { id } = request.data;
    if (this.#running.has(id)) throw new DoorError("request_invalid", `The request ${id} is not ended yet`);
    if (this.#running.size >= requestsAtOnceMax) {
      await this.#fail(
        id,
        new DoorError("door_busy", `At most ${requestsAtOnceMax} requests are answered at once`),
      );
      return;
    }
    const answering = this.#answer(request.data);
    this.#answering.add(answering);
    answering.finally(() => this.#answering.delete(answering));
  }

  async #answer({ id, method, params }: DoorRequest): Promise<void> {
    const abort = new AbortController();
    this.#running.set(id, abort);
    const isAwaited = method === "prompt" || method === "task_end";
    const { host, onPrompt } = this.#options;
    if (isAwaited) onPrompt(1);
    try {
      const value = await this.#perform(method, params, { id, abort });
      await this.#send({ id, type: "end", value: value as never });
    } catch (error) {
      await this.#fail(id, error);
    } finally {
      this.#running.delete(id);
      // The giver of a prompt waits for its tasks next: the owner stays in between.
      const session = method === "prompt" ? RootAddress.safeParse(peek(params, "session")) : undefined;
      if (session?.success) await untilTasksEnd(host, session.data, this.#gone.signal).catch(() => {});
      if (isAwaited) onPrompt(-1);
    }
  }

  async #perform(
    method: DoorMethod,
    params: unknown,
    { id, abort }: { readonly id: number; readonly abort: AbortController },
  ): Promise<unknown> {
    const parsed = doorMethods[method].params.safeParse(params);
    if (!parsed.success) {
      throw new DoorError("params_invalid", `Cannot ${method}: ${problemOf(parsed.error)}`);
    }
    // The table pairs each method with the type of its own parameters; the union of all forgets the pairing.
    const perform = methods[method] as (call: unknown) => Promise<unknown>;
    return await perform({
      host: this.#options.host,
      params: parsed.data,
      send: (item: unknown) => this.#send({ id, type: "item", value: item as never }),
      signal: abort.signal,
      stop: (request: number) => this.#running.get(request)?.abort(),
    });
  }

  async #fail(id: number, error: unknown): Promise<void> {
    const code = error instanceof Error && "code" in error && typeof error.code === "string"
      ? error.code
      : "internal";
    if (code === "internal") {
      this.#options.seams.log({ level: "error", event: "door.failed", detail: { message: String(error) } });
    }
    const message = (error instanceof Error ? error.message : String(error)).slice(0, 4_000);
    await this.#send({ id, type: "error", code, message }).catch(() => {});
  }

  /** One line after the other; resolves when this one is out, so that a slow client slows its sender. */
  #send(response: DoorResponse): Promise<void> {
    const bytes = new TextEncoder().encode(`${JSON.stringify(response)}\n`);
    const sent = this.#writing.then(() => writeAll(this.#options.connection, bytes));
    this.#writing = sent.catch(() => this.close());
    return sent;
  }
}

function problemOf(error: z.ZodError): string {
  const [issue] = error.issues;
  return `${issue?.path.map(String).join(".") || "the value"}: ${issue?.message ?? "not accepted"}`;
}
