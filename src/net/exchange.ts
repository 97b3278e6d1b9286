/** One request and its answer over one connection. */
import { limits } from "../../schemas/limits.ts";
import { type Body, frameBody } from "./body.ts";
import { broken, type Head, listOf, readHead } from "./head.ts";
import { HttpError } from "./http_error.ts";
import { headBytes, type Outgoing } from "./outgoing.ts";
import type { Patience } from "./patience.ts";
import type { Socket } from "./socket.ts";
import type { UrlTarget } from "./url_policy.ts";

/** What an exchange may take. */
export interface ExchangeBounds {
  readonly headersMs: number;
  readonly idleMs: number;
}

/** What an exchange needs. */
export interface ExchangeRequest {
  readonly socket: Socket;
  readonly target: UrlTarget;
  readonly request: Outgoing;
  readonly patience: Patience;
  readonly bounds: ExchangeBounds;
}

/** An answer whose body was not read yet. */
export interface Answer {
  readonly head: Head;
  readonly body: Body;
  /** True if, once the body was read, the connection can carry another request. */
  isReusable(): boolean;
}

/** Sends a request and reads the head of its answer, which may come before all was sent. */
export async function exchange(work: ExchangeRequest): Promise<Answer> {
  const { socket, request, patience, bounds } = work;
  const sending = new Sending(work);
  const sent = sending.run();
  const failed = new Promise<never>((_, reject) => void sent.catch(reject));
  patience.enter("send", bounds.idleMs);
  void sent.then(() => {
    if (!sending.isStopped) patience.enter("head", bounds.headersMs);
  }, () => {});
  const head = await Promise.race([readHead(socket), failed]);
  sending.stop();
  patience.rest();
  const body = frameBody(socket, head, request.method);
  const says = listOf(head, "connection");
  const isKept = head.isPersistent ? !says.includes("close") : says.includes("keep-alive");
  return { head, body, isReusable: () => isKept && body.isFramed && sending.isWhole && !socket.isClosed };
}

/** Whether the end of a body is the end of what came: more is an answer to no question. */
export function checkEnd(socket: Socket, { isFramed }: Body): void {
  if (isFramed && socket.unread.length > 0) throw broken("there is more than it says");
}

const crlf = new Uint8Array([0x0d, 0x0a]);
const lastChunk = new TextEncoder().encode("0\r\n\r\n");

/** The request on its way. Rejects only if its own body fails: a server may answer without having read all. */
class Sending {
  readonly #work: ExchangeRequest;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  isWhole = false;
  isStopped = false;

  constructor(work: ExchangeRequest) {
    this.#work = work;
  }

  async run(): Promise<void> {
    const { target, request } = this.#work;
    const head = headBytes(target, request);
    if (request.body instanceof ReadableStream) await this.#stream(head, request.body);
    else this.isWhole = await this.#write(request.body ? joined(head, request.body) : head);
  }

  /** What was not sent is not sent any more: the answer is there, or nobody waits for it. */
  readonly stop = (): void => {
    this.isStopped = true;
    void this.#reader?.cancel().catch(() => {});
  };

  async #stream(head: Uint8Array, body: ReadableStream<Uint8Array>): Promise<void> {
    const { signal } = this.#work.patience;
    this.#reader = body.getReader();
    signal.addEventListener("abort", this.stop, { once: true });
    try {
      let isWritten = await this.#write(head);
      for (let bytes = 0; isWritten && !this.isStopped;) {
        const chunk = await readFrom(this.#reader);
        if (this.isStopped) return;
        if (!chunk) {
          this.isWhole = await this.#write(lastChunk);
          return;
        }
        bytes += chunk.length;
        if (bytes > limits.httpRequestBodyBytesMax) {
          throw unfinished(`has more than ${limits.httpRequestBodyBytesMax} bytes`);
        }
        if (chunk.length > 0) isWritten = await this.#write(chunkOf(chunk));
      }
      this.stop();
    } finally {
      signal.removeEventListener("abort", this.stop);
    }
  }

  /** False if the other side does not take it. It may have answered nevertheless. */
  async #write(bytes: Uint8Array): Promise<boolean> {
    const { socket, patience, bounds } = this.#work;
    try {
      for (let at = 0; at < bytes.length; at += limits.httpReadBytes) {
        if (!this.isStopped) patience.enter("send", bounds.idleMs);
        await socket.write(bytes.subarray(at, at + limits.httpReadBytes));
      }
      return true;
    } catch {
      return false;
    }
  }
}

async function readFrom(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | undefined> {
  try {
    return (await reader.read()).value;
  } catch (cause) {
    throw unfinished("failed", cause);
  }
}

/** The body of a request ended badly, when a part of it was on its way. */
function unfinished(what: string, cause?: unknown): HttpError {
  return new HttpError("http_request_invalid", `Cannot send a request to its end: its body ${what}`, {
    cause,
  });
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function chunkOf(bytes: Uint8Array): Uint8Array {
  return joined(new TextEncoder().encode(`${bytes.length.toString(16)}\r\n`), bytes, crlf);
}
