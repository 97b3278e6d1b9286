/** The carrier over a pipe: requests of a client as JSON-RPC, one message a line (schemas/api_rpc.ts). */
import { z } from "zod";
import { ApiError } from "../../schemas/api_error.ts";
import { apiMethods } from "../../schemas/api.ts";
import { apiLimits } from "../../schemas/api_limits.ts";
import { rpcCancel, RpcError, RpcId, RpcPiece } from "../../schemas/api_rpc.ts";
import { limits } from "../../schemas/limits.ts";
import { ActorApiError, type CarriedRequest, type Carrier } from "../client.ts";
import { LineSplitter } from "../processes/lines.ts";
import { readJson } from "../border.ts";
import { RpcPieces } from "./rpc_pieces.ts";

/** The other end of the pipe. */
export interface RpcPipe {
  /** Everything that it writes; ends with it. */
  readonly lines: ReadableStream<Uint8Array>;
  write(bytes: Uint8Array): Promise<void>;
  /** What is known of its end. */
  why(): Promise<string>;
  close(): Promise<void>;
}

const Message = z.looseObject({
  id: RpcId.nullish(),
  method: z.string().exactOptional(),
  params: z.unknown().optional(),
  result: z.unknown().optional(),
  error: RpcError.exactOptional(),
});

interface Pending {
  readonly pieces?: RpcPieces;
  readonly settle: (answer: { readonly result?: unknown; readonly error?: ActorApiError }) => void;
}

/** Speaks with a runtime over a pipe. */
export class RpcCarrier implements Carrier {
  readonly #pipe: RpcPipe;
  readonly #pending = new Map<number, Pending>();
  readonly #reading: Promise<void>;
  #nextId = 1;
  #lost: ActorApiError | undefined;
  #news = Promise.withResolvers<void>();

  constructor(pipe: RpcPipe) {
    this.#pipe = pipe;
    this.#reading = this.#read();
  }

  async call(request: CarriedRequest): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const settle: Pending["settle"] = ({ result, error }) =>
      error === undefined ? resolve(result) : reject(error);
    await this.#send(request, { settle });
    return await promise;
  }

  async *stream(request: CarriedRequest): AsyncIterable<unknown> {
    const pieces = new RpcPieces(() => this.#tell());
    const id = await this.#send(request, { pieces, settle: (answer) => pieces.end(answer) });
    try {
      yield* pieces.read();
    } finally {
      // Whoever stops reading has given it up; it counts as open until the other end says that it has ended.
      pieces.discard();
      if (this.#pending.has(id)) this.#cancel(id);
      this.#tell();
    }
  }

  /** Waits for the answers of calls that are open, gives up what is watched, and lets the other end go. */
  async close(): Promise<void> {
    for (const [id, { pieces }] of this.#pending) if (pieces !== undefined) this.#cancel(id);
    while (this.#lost === undefined && this.#pending.size > 0) await this.#news.promise;
    await this.#pipe.close();
    await this.#reading;
  }

  /** Sends a request once there is room: as many are open at once as the other end takes. */
  async #send({ method, params, key, signal }: CarriedRequest, pending: Pending): Promise<number> {
    while (this.#lost === undefined && this.#pending.size >= apiLimits.rpcRequestsMax) {
      await this.#news.promise;
    }
    if (this.#lost !== undefined) throw this.#lost;
    const id = this.#nextId++;
    this.#pending.set(id, pending);
    this.#tell();
    const isCommand = apiMethods[method].kind === "command" && key !== undefined;
    const own = params as { readonly [name: string]: unknown };
    const whole = isCommand ? { ...own, _meta: { idempotency_key: key } } : own;
    this.#write({ jsonrpc: "2.0", id, method, params: whole });
    const giveUp = () => void (this.#pending.has(id) && this.#cancel(id));
    if (signal?.aborted) giveUp();
    else signal?.addEventListener("abort", giveUp, { once: true });
    return id;
  }

  #cancel(id: number): void {
    this.#write({ jsonrpc: "2.0", method: rpcCancel, params: { id } });
  }

  #write(message: unknown): void {
    // What cannot be written shows as the end of the other side's output.
    this.#pipe.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`)).catch(() => {});
  }

  async #read(): Promise<void> {
    const lines = new LineSplitter(limits.jsonBytesMax);
    let trouble: string | undefined;
    try {
      for await (const chunk of this.#pipe.lines) {
        for (const line of lines.push(chunk)) await this.#take(line);
      }
    } catch (error) {
      trouble = String(error);
    }
    const why = trouble ?? await this.#pipe.why();
    this.#lost = new ActorApiError({
      code: "connection_lost",
      message: `The runtime does not answer any more: ${why}; start it again and send the same key`,
      retryable: true,
      outcome: "unknown",
      request_id: "none",
    });
    for (const { settle } of this.#pending.values()) settle({ error: this.#lost });
    this.#pending.clear();
    this.#tell();
  }

  async #take(line: Uint8Array): Promise<void> {
    const text = new TextDecoder().decode(line);
    const { id, method, params, result, error } = Message.parse(readJson(text));
    if (method !== undefined) {
      const { id: of, event } = RpcPiece.parse(params);
      const pieces = typeof of === "number" ? this.#pending.get(of)?.pieces : undefined;
      pieces?.push(event);
      // A slow reader holds up the sender, but not the answers that somebody waits for.
      while (this.#isHeldUp()) await this.#news.promise;
      return;
    }
    if (typeof id !== "number") return;
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.settle(error === undefined ? { result } : { error: told(error) });
    this.#tell();
  }

  #isHeldUp(): boolean {
    const open = [...this.#pending.values()];
    return open.some(({ pieces }) => pieces?.isFull === true) &&
      open.every(({ pieces }) => pieces !== undefined);
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}

function told({ message, data }: z.infer<typeof RpcError>): ActorApiError {
  const parsed = ApiError.safeParse(data);
  if (parsed.success) return new ActorApiError(parsed.data);
  return new ActorApiError({
    code: "internal",
    message,
    retryable: false,
    outcome: "unknown",
    request_id: "none",
  });
}
