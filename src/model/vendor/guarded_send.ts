/** How vendor packages send: by the guarded client, never elsewhere, and with every refusal read here. */
import { limits } from "../../../schemas/limits.ts";
import type { GuardedClient } from "../../net/guarded_client.ts";

/** An answer that is no stream of events: a refusal, or something that is no model's API. */
export class VendorRefusalError extends Error {
  override readonly name = "VendorRefusalError";
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;

  constructor(status: number, headers: Headers, body: string) {
    super(`Status ${status}`);
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}

/** A stream as it came, as far as its end tells something. */
export interface Heard {
  /** True if the stream said by `[DONE]` that it is whole. */
  isWhole: boolean;
}

/** What a vendor package takes as its `fetch`. */
export type Send = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** By what a request goes, and how long its answer may say nothing. */
export interface Sending {
  readonly client: Pick<GuardedClient, "fetch">;
  /** Milliseconds. */
  readonly timeoutMs?: number | undefined;
}

/** Makes what one request is sent with; `heard` is told of the end mark, on wires that have one. Redirects are refused: a key goes where the operator said, or nowhere. */
export function createSend({ client, timeoutMs = limits.modelCallDurationMs }: Sending, heard?: Heard): Send {
  return async (input, init = {}) => {
    const url = input instanceof Request ? input.url : input;
    const response = await client.fetch(url, { ...init, redirect: "error" }, {
      headersMs: timeoutMs,
      idleMs: timeoutMs,
      totalMs: limits.modelAnswerDurationMsMax,
    });
    const type = response.headers.get("content-type") ?? "";
    if (!response.ok || /^(text\/html|application\/json)/i.test(type)) {
      throw new VendorRefusalError(response.status, response.headers, await readBounded(response));
    }
    if (heard === undefined) return response;
    const { status, statusText, headers, body } = response;
    return new Response(body === null ? null : listening(body, heard), { status, statusText, headers });
  };
}

/**
 * Looks for the end mark in what passes; it may lie across two pieces. Reads only when it is read: a transform between
 * two streams would hold the first piece back for as many turns of the loop as it has queues.
 */
function listening(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  heard: Heard,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let tail = "";
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      tail = (tail + decoder.decode(value.subarray(-64))).slice(-64);
      heard.isWhole ||= /data:\s*\[DONE\]/.test(tail);
      controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}

async function readBounded(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  // Leaving the loop closes the connection: what a refusal says beyond its bound, nobody reads.
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    text += decoder.decode(piece, { stream: true });
    if (bytes > limits.vendorErrorBytesMax) break;
  }
  return text.slice(0, limits.vendorErrorBytesMax);
}
