/** The SDK's transport over a child process: one JSON-RPC message a line on its standard input and output. */
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { givenUp } from "../effects/deadline.ts";
import type { Child, ChildEnd } from "../processes/child.ts";
import { LineSplitter, LineTooLongError } from "../processes/lines.ts";
import type { Clock } from "../seams.ts";
import { Asked, NotSentError } from "./asked.ts";
import { type Incoming, readMessage } from "./message.ts";
import { oneLine } from "./plain_text.ts";
import type { JSONRPCMessage } from "./sdk_v1.ts";
import type { Wire } from "./wire.ts";

/** How long the end of the process and the end of its output may lie apart, so that one story is told. Milliseconds. */
const settleMs = 200;
/** Answers of ours to a server that asks and does not read; what comes beyond is not answered. */
const repliesWaitingMax = 100;

/** What is shown of a line that is no message. */
const shownCharacters = 200;

/** Options of {@linkcode ChildTransport}. */
export interface ChildTransportOptions {
  readonly child: Child;
  readonly clock: Clock;
  /** Told of the first lines that are no messages, each as one visible line. */
  readonly onNoise: (line: string) => void;
}

/**
 * Carries messages to and from a child. Lines that are no messages are counted and passed over; too many of them, or a
 * message beyond the limit, end the connection. The connection is lost when the child ends, ends its output or does not read its input:
 * once, and for good. The transport never ends the child; whoever opened it does.
 */
export class ChildTransport implements Wire {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Wire["onmessage"];
  /** The revision that was agreed on. */
  protocolVersion = "";
  /** Why there is no connection any more; resolves once. */
  readonly lost: Promise<Failure>;
  readonly asked = new Asked();
  readonly isPerRequest = false;
  readonly #child: Child;
  readonly #clock: Clock;
  readonly #onNoise: (line: string) => void;
  readonly #lines = new LineSplitter(limits.mcpMessageBytesMax);
  #lose: (reason: Failure) => void = () => {};
  #loss: Failure | undefined;
  /** The server has ended, or its output has: nothing is sent any more, but what it said is still read. */
  #isEnding = false;
  #sending: Promise<void> = Promise.resolve();
  #repliesWaiting = 0;
  #noise = 0;
  /** Lines that were no messages since a moment. */
  #burst = { sinceMs: -Infinity, lines: 0 };

  constructor({ child, clock, onNoise }: ChildTransportOptions) {
    this.#child = child;
    this.#clock = clock;
    this.#onNoise = onNoise;
    const { promise, resolve } = Promise.withResolvers<Failure>();
    this.lost = promise;
    this.#lose = resolve;
  }

  /** Why there is no connection any more; undefined while there is one. */
  get loss(): Failure | undefined {
    return this.#loss;
  }

  /** Lines that were no messages. */
  get noise(): number {
    return this.#noise;
  }

  forget(request: number): void {
    this.asked.forget(request);
  }

  start(): Promise<void> {
    this.#watch();
    return Promise.resolve();
  }

  begin(): void {
    this.protocolVersion = "";
  }

  /** Sends a message behind all others. Rejects with {@linkcode NotSentError} if nothing of it was written. */
  async send(message: JSONRPCMessage): Promise<void> {
    const request = this.asked.take(message);
    if (!this.#isWanted(message)) return;
    const bytes = new TextEncoder().encode(`${JSON.stringify(message)}\n`);
    if (bytes.length > limits.mcpMessageBytesMax) {
      throw new NotSentError(tooLarge("A message for the server"));
    }
    const isReply = !("method" in message);
    if (isReply) this.#repliesWaiting += 1;
    const sent = this.#sending.then(() => this.#write(bytes, request));
    this.#sending = sent.catch(() => {}).then(() => void (isReply && (this.#repliesWaiting -= 1)));
    await sent;
  }

  setProtocolVersion(version: string): void {
    this.protocolVersion = version;
  }

  /** Ends the connection from our side. */
  close(): Promise<void> {
    this.end(failure("mcp_connection_closed", "The connection to the MCP server was closed"));
    return Promise.resolve();
  }

  /** Ends the connection for a reason; the first one counts. */
  end(reason: Failure): void {
    if (this.#loss !== undefined) return;
    this.#loss = reason;
    this.#lose(reason);
    this.onclose?.();
  }

  /** Nothing is said about a request that the server does not have, and no flood of questions is answered. */
  #isWanted(message: JSONRPCMessage): boolean {
    if (!("method" in message)) return this.#repliesWaiting < repliesWaitingMax;
    if (message.method !== "notifications/cancelled") return true;
    return this.asked.stateOf(Number(message.params?.["requestId"])) === "written";
  }

  async #write(bytes: Uint8Array, request: number | undefined): Promise<void> {
    if (this.#loss !== undefined) throw new NotSentError(this.#loss);
    if (this.#isEnding) throw new NotSentError(lostBy("The MCP server is ending"));
    if (request !== undefined && !this.asked.note(request, true)) return;
    try {
      await this.#child.write(bytes);
    } catch (error) {
      await this.#settle(this.#child.ended);
      // If it has ended, whoever watches it knows more.
      if (!this.#isEnding) this.end(lostBy("The MCP server does not read its input any more"));
      throw error;
    }
  }

  /** Reads to the end of the output, and tells how the connection was lost. Never rejects. */
  async #watch(): Promise<void> {
    const output = this.#read();
    const { ended } = this.#child;
    await Promise.race([output, ended]);
    this.#isEnding = true;
    // Whatever the server wrote before it ended still counts.
    await this.#settle(Promise.all([output, ended]));
    const end = await Promise.race([ended, undefined]);
    this.end(lostBy(end === undefined ? "The MCP server closed its output" : describeEnd(end)));
  }

  async #read(): Promise<void> {
    try {
      for await (const chunk of this.#child.stdout) await this.#take(chunk);
    } catch {
      // A broken pipe is an end as well.
    }
  }

  /** After the loss it goes on reading, so that a server that still writes is not blocked on its way to the end. */
  async #take(chunk: Uint8Array): Promise<void> {
    if (this.#loss !== undefined) return;
    let lines: readonly Uint8Array[];
    let reason: Failure | undefined;
    try {
      lines = this.#lines.push(chunk);
    } catch (error) {
      if (!(error instanceof LineTooLongError)) throw error;
      lines = error.lines;
      reason = tooLarge("The MCP server sent a message that");
    }
    for (const line of lines) {
      const incoming = readMessage(line);
      if (incoming === undefined || (incoming.answers ?? -1) > this.asked.last) this.#noteNoise(line);
      else this.#deliver(incoming);
      // The SDK hears of a notification one step later; the answer behind it must not overtake it.
      if (incoming?.answers === undefined) await Promise.resolve();
      if (this.#loss !== undefined) return;
    }
    if (reason !== undefined) this.end(reason);
  }

  #deliver({ message, answers }: Incoming): void {
    if (answers !== undefined && !this.asked.settle(answers, message)) return;
    try {
      this.onmessage?.(message);
    } catch {
      this.#noteNoise(new TextEncoder().encode("a message that cannot be used"));
    }
  }

  #noteNoise(line: Uint8Array): void {
    this.#noise += 1;
    if (this.#noise <= limits.mcpNoiseLinesToldMax) this.#onNoise(shownLine(line));
    const nowMs = this.#clock.now();
    if (nowMs - this.#burst.sinceMs >= limits.mcpNoiseWindowMs) this.#burst = { sinceMs: nowMs, lines: 0 };
    this.#burst.lines += 1;
    if (this.#burst.lines > limits.mcpNoiseLinesMax) this.end(tooNoisy());
  }

  async #settle(event: Promise<unknown>): Promise<void> {
    const stop = new AbortController();
    await Promise.race([event, this.#clock.sleepUntil(this.#clock.now() + settleMs, stop.signal)]);
    stop.abort(givenUp);
  }
}

function describeEnd({ code, signal }: ChildEnd): string {
  return signal === null
    ? `The MCP server ended with exit code ${code}`
    : `The MCP server was ended by ${signal}`;
}

function lostBy(story: string): Failure {
  return retryableFailure("mcp_connection_lost", story);
}

function shownLine(line: Uint8Array): string {
  return oneLine(new TextDecoder().decode(line.subarray(0, 4 * shownCharacters)), shownCharacters);
}

function tooNoisy(): Failure {
  const text =
    `The MCP server wrote more than ${limits.mcpNoiseLinesMax} lines that are no messages to its ` +
    "standard output within a minute: have it log to its standard error";
  return failure("mcp_protocol_error", text);
}

function tooLarge(subject: string): Failure {
  const text =
    `${subject} has more than ${limits.mcpMessageBytesMax} bytes, the most that one message may have`;
  return failure("mcp_message_too_large", text);
}
