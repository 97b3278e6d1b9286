/** A server on loopback that says exactly the bytes it is told to, and counts who comes. */
import type { Certificate } from "./certificates.ts";

/** One request as it came: its head as text, and its body where its length was said. */
export interface RawRequest {
  readonly head: string;
  readonly body: string;
  /** Which connection it came on, from 1. */
  readonly connection: number;
}

/** What a server does with a request. It may write, close, or do nothing. */
export type Respond = (request: RawRequest, connection: Deno.Conn) => Promise<void> | void;

/** A server that listens. */
export interface RawServer {
  readonly port: number;
  readonly origin: string;
  readonly requests: readonly RawRequest[];
  /** Connections that were accepted so far. */
  readonly connections: number;
  /** Resolves when a request has come that no earlier call has given. */
  nextRequest(): Promise<RawRequest>;
  /** Resolves when one more connection has been closed by the other side. */
  nextEnd(): Promise<void>;
  close(): Promise<void>;
}

const encoder = new TextEncoder();

/** Writes text to a connection, one byte a character; a connection that is gone does not matter. */
export async function say(connection: Deno.Conn, ...texts: readonly (string | Uint8Array)[]): Promise<void> {
  try {
    for (const text of texts) {
      const bytes = typeof text === "string" ? bytesOf(text) : text;
      for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
    }
  } catch {
    // The client has gone: what it does is asserted where it is.
  }
}

/** One byte a character. Long texts are of ASCII, for which there is a fast way. */
function bytesOf(text: string): Uint8Array {
  return text.length > 10_000 ? encoder.encode(text) : Uint8Array.from(text, (it) => it.charCodeAt(0));
}

/** An ordinary answer. */
export function answerOf(body: string, headers = "", status = "200 OK"): string {
  return `HTTP/1.1 ${status}\r\ncontent-length: ${encoder.encode(body).length}\r\n${headers}\r\n${body}`;
}

/** A server that nobody may reach: it counts who comes, and sends everybody away at once. */
export function startForbidden(): Pick<RawServer, "port" | "connections" | "close"> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let connections = 0;
  const accepting = (async () => {
    try {
      for await (const connection of listener) {
        connections++;
        close(connection);
      }
    } catch {
      // The listener was closed.
    }
  })();
  return {
    port: (listener.addr as Deno.NetAddr).port,
    get connections() {
      return connections;
    },
    close: async () => {
      listener.close();
      await accepting;
    },
  };
}

/** Starts a server; with a certificate it speaks TLS. */
export function startRawServer(respond: Respond, certificate?: Certificate): RawServer {
  const at = { hostname: "127.0.0.1", port: 0 };
  const listener: Deno.Listener<Deno.Conn> = certificate
    ? Deno.listenTls({ ...at, ...certificate })
    : Deno.listen(at);
  const { port } = listener.addr as Deno.NetAddr;
  const requests: RawRequest[] = [];
  const open = new Set<Deno.Conn>();
  const news = new Signal<RawRequest>();
  const ends = new Signal<void>();
  let connections = 0;
  const serve = async (connection: Deno.Conn, index: number) => {
    try {
      let text = "";
      const buffer = new Uint8Array(65_536);
      for (let count; (count = await connection.read(buffer)) !== null;) {
        for (const byte of buffer.subarray(0, count)) text += String.fromCharCode(byte);
        for (let taken; (taken = takeRequest(text)) !== undefined;) {
          text = taken.rest;
          const request = { head: taken.head, body: taken.body, connection: index };
          requests.push(request);
          news.give(request);
          await respond(request, connection);
        }
      }
    } catch {
      // Closed while it was read, by either side.
    } finally {
      open.delete(connection);
      ends.give();
      close(connection);
    }
  };
  const accepting = (async () => {
    try {
      for await (const connection of listener) {
        open.add(connection);
        void serve(connection, ++connections);
      }
    } catch {
      // The listener was closed, or a handshake failed.
    }
  })();
  return {
    port,
    origin: `${certificate ? "https" : "http"}://127.0.0.1:${port}`,
    requests,
    get connections() {
      return connections;
    },
    nextRequest: () => news.next(),
    nextEnd: () => ends.next(),
    close: async () => {
      listener.close();
      for (const connection of open) close(connection);
      await accepting;
      while (open.size > 0) await ends.next();
    },
  };
}

/** Splits the first whole request off, by its length if it says one; chunks are left in the body as they came. */
function takeRequest(
  text: string,
): { readonly head: string; readonly body: string; readonly rest: string } | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = text.slice(0, end);
  const after = text.slice(end + 4);
  if (/^transfer-encoding: chunked$/im.test(head)) {
    const last = after.indexOf("0\r\n\r\n");
    return last < 0 ? undefined : { head, body: after.slice(0, last + 5), rest: after.slice(last + 5) };
  }
  const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
  if (after.length < length) return undefined;
  return { head, body: after.slice(0, length), rest: after.slice(length) };
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It was closed already.
  }
}

/** Values that are waited for one by one. */
class Signal<T> {
  readonly #values: T[] = [];
  readonly #waiting: ((value: T) => void)[] = [];

  give(value: T): void {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(value);
    else this.#values.push(value);
  }

  next(): Promise<T> {
    if (this.#values.length > 0) return Promise.resolve(this.#values.shift() as T);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
