/**
 * The server's end of a connection over standard input and output: one JSON-RPC message a line. Nobody else may write
 * to the output. A line that is no message is answered as JSON-RPC asks for, and is not the end.
 */
import { BorderError, readJson } from "../border.ts";
import { LineSplitter } from "../processes/lines.ts";
import { peerRefusals, PeerRequestId, readPeerMessage } from "./peer_message.ts";
import type { JSONRPCMessage, Transport } from "./sdk_v1.ts";

/** Requests that may wait for their answers; with more of them, nothing is read. */
const requestsOpenMax = 256;
/** Answers that may wait for whoever reads them, in bytes; with more of them, nothing is read. */
const bytesUnwrittenMax = 1_048_576;
const readBytes = 65_536;
/** Listens for as long as the connection stands. */
const endlessMethod = "subscriptions/listen";

/** What a transport is made of. `Deno.stdin` and `Deno.stdout` are the two ends of a process. */
export interface ServerTransportParts {
  readonly input: { read(buffer: Uint8Array): Promise<number | null> };
  readonly output: { write(bytes: Uint8Array): Promise<number> };
  /** Longest message that is read, in bytes. A longer one is the end. */
  readonly messageBytesMax: number;
}

/** Speaks with one client until its input ends and all of its requests are answered. */
export class ServerTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Hears each message first. */
  onheard?: (message: JSONRPCMessage) => void;
  /**
   * Resolves at the end of input, once nothing is left to answer, and when nobody reads the output any more. Rejects if
   * a message is too long, or the system refuses to read or to write.
   */
  readonly ended: Promise<void>;
  readonly #parts: ServerTransportParts;
  readonly #end = Promise.withResolvers<void>();
  /** How often each id waits for an answer: a client that uses one twice gets two. */
  readonly #open = new Map<PeerRequestId, number>();
  /** Requests that wait for no answer in particular: the end of input is theirs too. */
  readonly #endless = new Set<PeerRequestId>();
  #writing: Promise<void> = Promise.resolve();
  #bytesUnwritten = 0;
  #news = Promise.withResolvers<void>();
  #isOver = false;

  constructor(parts: ServerTransportParts) {
    this.#parts = parts;
    this.ended = this.#end.promise;
    // Whoever waits for it hears of it; until then it is nobody's fault.
    this.ended.catch(() => {});
  }

  /** Begins to read. */
  start(): Promise<void> {
    this.#read().then(() => this.#finish(), (error) => this.#finish(error));
    return Promise.resolve();
  }

  /** Writes a message. An answer to a request that was canceled goes nowhere. */
  async send(message: JSONRPCMessage): Promise<void> {
    const isAnswer = "result" in message || "error" in message;
    const { id } = message as { readonly id?: PeerRequestId };
    if (isAnswer && id !== undefined && !this.#close(id) && !this.#endless.delete(id)) return;
    await this.#write(message);
  }

  /** Ends the connection at once. */
  close(): Promise<void> {
    this.#finish();
    return Promise.resolve();
  }

  async #read(): Promise<void> {
    const { input, messageBytesMax } = this.#parts;
    const lines = new LineSplitter(messageBytesMax);
    const buffer = new Uint8Array(readBytes);
    while (!this.#isOver) {
      const count = await input.read(buffer);
      if (count === null) break;
      for (const line of lines.push(buffer.subarray(0, count))) {
        this.#take(line);
        await this.#until(() => this.#mayTake());
      }
    }
    // The last message of a client that leaves may lack its line end.
    const rest = lines.rest();
    if (rest.length > 0) this.#take(rest);
    await this.#until(() => this.#open.size === 0);
    await this.#writing;
  }

  #mayTake(): boolean {
    return this.#open.size < requestsOpenMax && this.#bytesUnwritten <= bytesUnwrittenMax;
  }

  #take(line: Uint8Array): void {
    if (this.#isOver) return;
    const read = readMessage(line, this.#parts.messageBytesMax);
    if (read === undefined) return;
    if ("refusal" in read) void this.#write(read.refusal);
    else {
      this.#note(read.message);
      this.onheard?.(read.message);
      this.onmessage?.(read.message);
    }
  }

  /** Keeps the account of what waits for an answer. */
  #note(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    if ("id" in message) {
      if (message.method === endlessMethod) this.#endless.add(message.id);
      else this.#open.set(message.id, (this.#open.get(message.id) ?? 0) + 1);
    } else if (message.method === "notifications/cancelled") {
      const id = PeerRequestId.safeParse(message.params?.["requestId"]);
      if (!id.success) return;
      this.#endless.delete(id.data);
      if (this.#open.delete(id.data)) this.#tell();
    }
  }

  /** Takes a request off the account; false if it is not on it. */
  #close(id: PeerRequestId): boolean {
    const count = this.#open.get(id);
    if (count === undefined) return false;
    if (count > 1) this.#open.set(id, count - 1);
    else this.#open.delete(id);
    this.#tell();
    return true;
  }

  /** Writes after all that was written before. Never rejects: a write that fails is the end. */
  #write(message: unknown): Promise<void> {
    const bytes = new TextEncoder().encode(`${JSON.stringify(message)}\n`);
    this.#bytesUnwritten += bytes.length;
    this.#writing = this.#writing.then(() => this.#put(bytes));
    return this.#writing;
  }

  async #put(bytes: Uint8Array): Promise<void> {
    try {
      for (let written = 0; written < bytes.length && !this.#isOver;) {
        written += await this.#parts.output.write(bytes.subarray(written));
      }
    } catch (error) {
      // Nobody reads on: the client left without a word, and that is no fault.
      this.#finish(error instanceof Deno.errors.BrokenPipe ? undefined : error);
    }
    this.#bytesUnwritten -= bytes.length;
    this.#tell();
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!this.#isOver && !isSo()) await this.#news.promise;
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  #finish(error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (error === undefined) this.#end.resolve();
    else this.#end.reject(error);
    this.#tell();
    this.onclose?.();
  }
}

type MessageRead = { readonly message: JSONRPCMessage } | { readonly refusal: unknown };

/** The message in a line, or what to answer; undefined if there is nothing to answer. */
function readMessage(line: Uint8Array, bytesMax: number): MessageRead | undefined {
  let value: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(line);
    if (text.trim() === "") return undefined;
    value = readJson(text, { bytesMax });
  } catch (error) {
    const isJson = error instanceof BorderError && error.code !== "json_invalid";
    if (!(error instanceof BorderError)) return refuse(peerRefusals.parse, "The line is not UTF-8 text");
    return refuse(isJson ? peerRefusals.invalid : peerRefusals.parse, error.message);
  }
  const message = readPeerMessage(value);
  if (message !== undefined) return { message };
  const fields: { readonly [key: string]: unknown } = typeof value === "object" ? { ...value } : {};
  // Answers and notifications are never answered, not even broken ones: two peers would go on for ever.
  const isAnswer = !("method" in fields) && ("result" in fields || "error" in fields);
  const isNotification = typeof fields["method"] === "string" && !("id" in fields);
  if (isAnswer || isNotification) return undefined;
  const id = PeerRequestId.safeParse(fields["id"]);
  return refuse(
    peerRefusals.invalid,
    "The line is no JSON-RPC 2.0 message: send one a line, no batches",
    id.success ? id.data : null,
  );
}

function refuse(code: number, message: string, id: PeerRequestId | null = null): MessageRead {
  return { refusal: { jsonrpc: "2.0", id, error: { code, message } } };
}
