/**
 * The actor API on a pipe: JSON-RPC 2.0, one message a line, for the program that started this process. Pieces of a
 * stream come as notifications `<method>/event` with the request's id, and then its result. The end of input, a broken
 * output and {@linkcode RpcServer.drain} all end it alike: what was accepted is answered, for so long at most.
 */
import { apiLimits } from "../../schemas/api_limits.ts";
import { ApiMethod, apiMethods } from "../../schemas/api.ts";
import { RpcCancel, rpcCancel, type RpcId, type RpcRequest } from "../../schemas/api_rpc.ts";
import { LineSplitter, LineTooLongError } from "../processes/lines.ts";
import type { Seams } from "../seams.ts";
import type { ActorApi, ApiRequest } from "./actor_api.ts";
import { ApiFailure } from "./api_failure.ts";
import type { Caller } from "./caller.ts";
import { readLine, readParams, rpcError } from "./rpc_message.ts";
import { type ByteSink, RpcOutput } from "./rpc_output.ts";

const readBytes = 65_536;

/** What a server is made of. `Deno.stdin` and `Deno.stdout` are the two ends of a process. */
export interface RpcServerParts {
  readonly api: ActorApi;
  /** Who speaks at the other end. */
  readonly caller: Caller;
  readonly input: { read(buffer: Uint8Array): Promise<number | null> };
  /** Nobody else may write to it. */
  readonly output: ByteSink;
  readonly seams: Pick<Seams, "clock" | "nextId" | "log">;
}

interface OpenRequest {
  readonly abort: AbortController;
  /** True for a watch that ends only when it is given up. */
  readonly isEndless: boolean;
}

/** Speaks with one program. */
export class RpcServer {
  readonly #parts: RpcServerParts;
  readonly #output: RpcOutput;
  readonly #open = new Map<RpcId, OpenRequest>();
  readonly #asked = Promise.withResolvers<void>();
  readonly #hurried = Promise.withResolvers<void>();
  #isDraining = false;
  #news = Promise.withResolvers<void>();

  constructor(parts: RpcServerParts) {
    this.#parts = parts;
    this.#output = new RpcOutput(parts.output);
  }

  /** Asks it to end: what comes from now on is refused as `draining`. A second time, it hurries. */
  drain(): void {
    if (this.#isDraining) this.#hurried.resolve();
    this.#isDraining = true;
    this.#asked.resolve();
  }

  /** Resolves at the end. Rejects if the input could not be read on. */
  async run(): Promise<void> {
    const reading = this.#read().then(() => undefined, (error: unknown) => ({ error }));
    const { broken } = this.#output;
    const first = await Promise.race([reading, this.#asked.promise, broken]);
    this.#isDraining = true;
    for (const { abort, isEndless } of this.#open.values()) if (isEndless) abort.abort();
    await this.#comes([this.#idle(), this.#hurried.promise, broken], apiLimits.drainMs);
    // A turn goes on without its asker, so an `ask` answers at once that it does.
    for (const { abort } of this.#open.values()) abort.abort();
    await this.#comes([this.#idle(), broken], apiLimits.hurriedDrainMs);
    await this.#comes([this.#output.flushed(), broken], apiLimits.hurriedDrainMs);
    if (first !== undefined) throw first.error;
  }

  async #read(): Promise<void> {
    const lines = new LineSplitter(apiLimits.bodyBytesMax);
    const buffer = new Uint8Array(readBytes);
    for (;;) {
      const count = await this.#parts.input.read(buffer);
      if (count === null) break;
      await this.#takeAll(lines, buffer.subarray(0, count));
    }
    // The last message of a program that leaves may lack its line end.
    const rest = lines.rest();
    if (rest.length > 0) this.#take(rest);
  }

  async #takeAll(lines: LineSplitter, chunk: Uint8Array): Promise<void> {
    let whole: readonly Uint8Array[];
    let tooLong: LineTooLongError | undefined;
    try {
      whole = lines.push(chunk);
    } catch (error) {
      if (!(error instanceof LineTooLongError)) throw error;
      [whole, tooLong] = [error.lines, error];
    }
    for (const line of whole) {
      this.#take(line);
      // A program that does not read is not read either.
      while (this.#output.bytesUnwritten > apiLimits.rpcUnwrittenBytesMax) await this.#output.flushed();
    }
    if (tooLong === undefined) return;
    // Where the next line begins cannot be told any more.
    this.#refuse(null, new ApiFailure("line_too_long", tooLong.message));
    throw tooLong;
  }

  #take(line: Uint8Array): void {
    const read = readLine(line);
    if (read === undefined) return;
    if ("refused" in read) {
      this.#refuse(read.id, read.refused, read.code);
      return;
    }
    const { request } = read;
    if (request.id === undefined) this.#hear(request);
    else void this.#answer(request, request.id);
  }

  #refuse(id: RpcId | null, error: unknown, code?: number): void {
    const told = this.#parts.api.describe(error, this.#parts.seams.nextId("req"));
    void this.#output.write({ jsonrpc: "2.0", id, error: rpcError(told, code) });
  }

  /** A notification. A command without an answer would be done or refused, and nobody told: none is carried out. */
  #hear({ method, params }: RpcRequest): void {
    const given = method === rpcCancel ? RpcCancel.safeParse(params).data : undefined;
    if (given !== undefined) {
      this.#open.get(given.id)?.abort.abort();
      return;
    }
    const isOurs = Object.hasOwn(apiMethods, method);
    if (!isOurs) return;
    const detail = { method, why: "it has no id, so nobody would be told" };
    this.#parts.seams.log({ level: "warning", event: "api.notification_ignored", detail });
  }

  async #answer(request: RpcRequest, id: RpcId): Promise<void> {
    const busy = this.#busy(id);
    if (busy !== undefined) return this.#refuse(id, busy);
    const abort = new AbortController();
    const { method, params } = request;
    this.#open.set(id, { abort, isEndless: isEndless(method, params) });
    const answer = await this.#outcome(id, request, abort.signal);
    // No longer open before it is told, so that whoever hears it may ask the next thing.
    this.#open.delete(id);
    answer();
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  /** Carries a request out; what it returns tells the answer. Never throws. */
  async #outcome(id: RpcId, request: RpcRequest, signal: AbortSignal): Promise<() => void> {
    const { caller } = this.#parts;
    const { method } = request;
    try {
      const result = await this.#perform(id, { ...readParams(request), caller, method, signal });
      return () => void this.#output.write({ jsonrpc: "2.0", id, result });
    } catch (error) {
      return () => this.#refuse(id, error);
    }
  }

  #busy(id: RpcId): ApiFailure | undefined {
    if (this.#isDraining) {
      return new ApiFailure("draining", "The runtime stops: send the same key to the next one");
    }
    if (this.#open.has(id)) {
      return new ApiFailure(
        "request_invalid",
        "A request of this id is open: give each one an id of its own",
      );
    }
    if (this.#open.size < apiLimits.rpcRequestsMax) return undefined;
    const most = apiLimits.rpcRequestsMax;
    return new ApiFailure(
      "requests_too_many",
      `${most} requests are open: wait for an answer, then ask again`,
    );
  }

  async #perform(id: RpcId, request: ApiRequest): Promise<unknown> {
    const { api } = this.#parts;
    const known = ApiMethod.safeParse(request.method).data;
    if (known === undefined || apiMethods[known].kind !== "stream") return await api.call(request);
    let events = 0;
    for await (const event of api.stream(request)) {
      events += 1;
      await this.#output.write({ jsonrpc: "2.0", method: `${known}/event`, params: { id, event } });
      if (request.signal.aborted) break;
    }
    return { events };
  }

  async #idle(): Promise<void> {
    while (this.#open.size > 0) await this.#news.promise;
  }

  /** Waits for the first of these, so long at most. */
  async #comes(events: readonly Promise<unknown>[], ms: number): Promise<void> {
    const { clock } = this.#parts.seams;
    const enough = new AbortController();
    await Promise.race([...events, clock.sleepUntil(clock.now() + ms, enough.signal)]);
    enough.abort();
  }
}

/** True for a stream that ends only when it is given up. */
function isEndless(method: string, params: RpcRequest["params"]): boolean {
  return method === "program_calls" || (method === "watch" && params?.["follow"] !== false);
}
