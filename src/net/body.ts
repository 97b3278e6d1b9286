/** Where the body of an answer begins and ends. */
import { limits } from "../../schemas/limits.ts";
import { broken, type Head, latin1, listOf, lost, parseFields, readHeadText, valuesOf } from "./head.ts";
import type { Socket } from "./socket.ts";

/** The bytes of a body, as they come. */
export interface Body {
  /** The next bytes, at least one; nothing at the end. */
  next(): Promise<Uint8Array | undefined>;
  /** True if the end could be told from the connection's end. */
  readonly isFramed: boolean;
  /** Bytes in all, where the answer says so. */
  readonly length?: number;
}

const digits = /^\d{1,15}$/;
const chunkSize = /^([0-9A-Fa-f]{1,12})[ \t]*(?:;[^\r\n]*)?$/;
const lineFeed = 0x0a;

/** Frames the body of an answer to `method`. Refuses answers that say two things about their length. */
export function frameBody(socket: Socket, head: Head, method: string): Body {
  const codings = listOf(head, "transfer-encoding");
  const lengths = new Set(valuesOf(head, "content-length"));
  if (codings.length > 0) {
    if (lengths.size > 0) throw broken("it names two lengths");
    if (codings.length > 1 || codings[0] !== "chunked" || !head.isPersistent) {
      throw broken("its transfer coding is not chunked");
    }
  }
  if (lengths.size > 1) throw broken("it names two lengths");
  const [length] = lengths;
  if (length !== undefined && !digits.test(length)) throw broken("its length is no number");
  if (method === "HEAD" || head.status === 204 || head.status === 304) return new LengthBody(socket, 0);
  if (codings.length > 0) return new ChunkedBody(socket);
  return length === undefined ? new OpenBody(socket) : new LengthBody(socket, Number(length));
}

/** Takes what is there, at most `most` bytes, reading once if nothing is. */
async function takeSome(socket: Socket, most: number): Promise<Uint8Array | undefined> {
  if (socket.unread.length === 0 && !await socket.more()) return undefined;
  const taken = socket.unread.slice(0, most);
  socket.use(taken.length);
  return taken;
}

class LengthBody implements Body {
  readonly isFramed = true;
  readonly length: number;
  readonly #socket: Socket;
  #left: number;

  constructor(socket: Socket, length: number) {
    this.#socket = socket;
    this.length = length;
    this.#left = length;
  }

  async next(): Promise<Uint8Array | undefined> {
    if (this.#left === 0) return undefined;
    const bytes = await takeSome(this.#socket, this.#left);
    if (!bytes) throw lost();
    this.#left -= bytes.length;
    return bytes;
  }
}

/** A body that ends with its connection: nobody can tell whether it was whole. */
class OpenBody implements Body {
  readonly isFramed = false;
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  next(): Promise<Uint8Array | undefined> {
    return takeSome(this.#socket, limits.httpReadBytes);
  }
}

class ChunkedBody implements Body {
  readonly isFramed = true;
  readonly #socket: Socket;
  #left = 0;
  #isFirst = true;
  #isOver = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  async next(): Promise<Uint8Array | undefined> {
    if (this.#isOver) return undefined;
    if (this.#left === 0) {
      if (!this.#isFirst && await this.#line() !== "") throw broken("a chunk is longer than it says");
      this.#isFirst = false;
      const [, size] = chunkSize.exec(await this.#line()) ?? [];
      if (size === undefined) throw broken("a chunk has no proper length");
      this.#left = parseInt(size, 16);
      if (this.#left === 0) return await this.#finish();
    }
    const bytes = await takeSome(this.#socket, this.#left);
    if (!bytes) throw lost();
    this.#left -= bytes.length;
    return bytes;
  }

  /** Trailers are read and dropped: nothing here may be changed after the fact. */
  async #finish(): Promise<undefined> {
    this.#isOver = true;
    while (this.#socket.unread.length < 2) if (!await this.#socket.more()) throw lost();
    if (this.#socket.unread[0] === 0x0d && this.#socket.unread[1] === lineFeed) this.#socket.use(2);
    else parseFields((await readHeadText(this.#socket)).slice(0, -4).split("\r\n"));
    return undefined;
  }

  async #line(): Promise<string> {
    while (true) {
      const unread = this.#socket.unread;
      const end = unread.indexOf(lineFeed);
      if (end > limits.httpChunkLineBytesMax || end < 0 && unread.length > limits.httpChunkLineBytesMax) {
        throw broken("the line of a chunk is too long");
      }
      if (end >= 0) {
        const text = latin1(unread.subarray(0, end));
        this.#socket.use(end + 1);
        if (!text.endsWith("\r")) throw broken("the line of a chunk does not end as it should");
        return text.slice(0, -1);
      }
      if (!await this.#socket.more()) throw lost();
    }
  }
}
