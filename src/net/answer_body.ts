/** The body of an answer as a stream for whoever asked: one piece at a time, and never half of it as the whole. */
import { boundContent, codingOf, type Pull, tooLarge } from "./content.ts";
import { type Answer, checkEnd } from "./exchange.ts";
import { lost } from "./head.ts";
import { HttpError } from "./http_error.ts";
import type { Patience } from "./patience.ts";
import type { Socket } from "./socket.ts";

/** What a body needs. */
export interface BodyRequest {
  readonly answer: Answer;
  readonly socket: Socket;
  readonly patience: Patience;
  readonly idleMs: number;
  readonly bytesMax: number;
  /** Called once: with true if the connection may carry another request. */
  readonly onEnd: (isReusable: boolean) => void;
}

const bodilessStatus = new Set([204, 205, 304]);

/**
 * Makes the body of a `Response`. What is there already is taken at once, so that a short answer costs no stream; else
 * each read of the stream reads once from the connection. An answer that ends early or is too large is an error of the
 * stream.
 */
export async function openBody(request: BodyRequest, status: number): Promise<BodyInit | null> {
  const { answer, socket, bytesMax } = request;
  const coding = codingOf(answer.head);
  const { length } = answer.body;
  if (length !== undefined && length > bytesMax) throw tooLarge(bytesMax);
  if (bodilessStatus.has(status) && length !== 0) {
    throw new HttpError(
      "http_protocol_error",
      `Cannot read the answer of a server: one of status ${status} has no body`,
    );
  }
  if (length === 0 || coding === "identity" && length !== undefined && length <= socket.unread.length) {
    const bytes = await takeAll(answer, length);
    checkEnd(socket, answer.body);
    request.onEnd(answer.isReusable());
    return length === 0 ? null : bytes;
  }
  const raw: Pull = () => answer.body.next();
  return streamOf(request, boundContent(raw, coding, bytesMax));
}

async function takeAll({ body }: Answer, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(length);
  for (let at = 0; at < length;) {
    const bytes = await body.next();
    if (!bytes) throw lost();
    whole.set(bytes, at);
    at += bytes.length;
  }
  return whole;
}

function streamOf(request: BodyRequest, pull: Pull): ReadableStream<Uint8Array<ArrayBuffer>> {
  const { answer, socket, patience, idleMs, onEnd } = request;
  let isOver = false;
  const end = (isReusable: boolean) => {
    if (isOver) return;
    isOver = true;
    onEnd(isReusable);
  };
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      patience.signal.addEventListener("abort", () => {
        if (isOver) return;
        end(false);
        controller.error(patience.signal.reason);
      }, { once: true });
    },
    async pull(controller) {
      patience.enter("body", idleMs);
      try {
        const bytes = await pull();
        if (isOver) return;
        patience.rest();
        if (bytes) return controller.enqueue(bytes as Uint8Array<ArrayBuffer>);
        checkEnd(socket, answer.body);
        end(answer.isReusable());
        controller.close();
      } catch (error) {
        if (isOver) return;
        end(false);
        controller.error(error instanceof HttpError ? error : lost(error));
      }
    },
    cancel: () => end(false),
  }, { highWaterMark: 0 });
}
