/** The other side of a door: asks the owner of a store, over one connection. */
import { limits } from "../../schemas/limits.ts";
import { LineSplitter, readJson } from "../border.ts";
import type { StoreDoor } from "../journal/store_lock.ts";
import { writeAll } from "./write_all.ts";
import {
  type DoorEnd,
  DoorError,
  type DoorItem,
  type DoorMethod,
  doorMethods,
  type DoorParams,
  DoorResponse,
} from "./protocol.ts";

/** Values and depth of one answer: a full piece of entries, which are deeper than what they carry. */
const answerBounds = {
  bytesMax: limits.doorLineBytesMax,
  nodesMax: limits.doorLineBytesMax,
  depthMax: limits.jsonDepthMax + 16,
} as const;
const readBytes = 65_536;

/** What a request is given besides its parameters. */
export interface CallOptions<M extends DoorMethod> {
  /** Told of each piece, in order, before the call resolves. */
  readonly onItem?: (item: DoorItem<M>) => void;
  /** Asks the owner to end the answer; the call then resolves with what it ends with. */
  readonly signal?: AbortSignal;
}

interface Waiting {
  readonly item: (value: unknown) => void;
  readonly end: (value: unknown) => void;
  readonly fail: (error: unknown) => void;
}

/** A connection to a door. */
export class DoorClient {
  readonly #connection: Deno.Conn;
  readonly #token: string;
  readonly #waiting = new Map<number, Waiting>();
  readonly #reading: Promise<void>;
  #writing: Promise<void> = Promise.resolve();
  #lastId = 0;
  #ended: DoorError | undefined;

  constructor(connection: Deno.Conn, token: string) {
    this.#connection = connection;
    this.#token = token;
    this.#reading = this.#read();
  }

  /** Asks the owner. Rejects with a {@linkcode DoorError} that carries the owner's code. */
  async call<M extends DoorMethod>(
    method: M,
    params: DoorParams<M>,
    { onItem, signal }: CallOptions<M> = {},
  ): Promise<DoorEnd<M>> {
    if (this.#ended !== undefined) throw this.#ended;
    const id = ++this.#lastId;
    const schemas = doorMethods[method];
    const { promise, resolve, reject } = Promise.withResolvers<DoorEnd<M>>();
    this.#waiting.set(id, {
      // Parsed by the method's own schema; the union of all methods forgets which.
      item: (value) => onItem?.(schemas.item.parse(value) as DoorItem<M>),
      end: (value) => resolve(schemas.end.parse(value) as DoorEnd<M>),
      fail: reject,
    });
    const stop = () => void this.call("stop", { request: id }).catch(() => {});
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await this.#send({ token: this.#token, id, method, params });
      if (signal?.aborted) stop();
      return await promise;
    } finally {
      signal?.removeEventListener("abort", stop);
      this.#waiting.delete(id);
    }
  }

  /** Leaves. Whatever is still being answered fails with `door_closed`. */
  async close(): Promise<void> {
    this.#end(new DoorError("door_closed", "The connection to the owner was closed"));
    await this.#reading;
  }

  #send(request: object): Promise<void> {
    const bytes = new TextEncoder().encode(`${JSON.stringify(request)}\n`);
    if (bytes.length > limits.doorLineBytesMax) {
      return Promise.reject(
        new DoorError("line_too_long", "The request is too large for the door: send less"),
      );
    }
    const sent = this.#writing.then(() => writeAll(this.#connection, bytes));
    this.#writing = sent.catch(() => {});
    return sent.catch((error) => {
      throw this.#ended ?? gone(error);
    });
  }

  async #read(): Promise<void> {
    const lines = new LineSplitter(limits.doorLineBytesMax);
    const buffer = new Uint8Array(readBytes);
    try {
      for (
        let count = await this.#connection.read(buffer);
        count !== null;
        count = await this.#connection.read(buffer)
      ) {
        for (const line of lines.take(buffer.subarray(0, count))) this.#take(line);
      }
      this.#end(gone(undefined));
    } catch (error) {
      this.#end(error instanceof DoorError ? error : gone(error));
    }
  }

  #take(line: string): void {
    const response = DoorResponse.parse(readJson(line, answerBounds));
    if (response.type === "error" && response.id === 0) throw new DoorError(response.code, response.message);
    const waiting = this.#waiting.get(response.id);
    if (waiting === undefined) return; // Ended here while the answer was on its way.
    try {
      if (response.type === "item") waiting.item(response.value);
      else if (response.type === "end") waiting.end(response.value);
      else waiting.fail(new DoorError(response.code, response.message));
    } catch (error) {
      waiting.fail(error);
    }
  }

  #end(error: DoorError): void {
    this.#ended ??= error;
    for (const waiting of this.#waiting.values()) waiting.fail(this.#ended);
    this.#waiting.clear();
    try {
      this.#connection.close();
    } catch {
      // The other side was faster.
    }
  }
}

function gone(cause: unknown): DoorError {
  const message = "The process that holds the store ended, or closed its door, before it had answered";
  return new DoorError("door_closed", message, { cause });
}

/** Connects to an owner's door. Throws `door_closed` if nobody listens there. */
export async function connectDoor({ port, token }: StoreDoor): Promise<DoorClient> {
  try {
    return new DoorClient(await Deno.connect({ hostname: "127.0.0.1", port }), token);
  } catch (error) {
    throw new DoorError("door_closed", "The process that holds the store does not answer at its door", {
      cause: error,
    });
  }
}
