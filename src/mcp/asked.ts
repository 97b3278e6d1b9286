/** The requests that a server has not answered yet, and who hears of their answers. */
import type { Failure } from "../../schemas/failure.ts";
import type { JSONRPCMessage } from "./sdk_v1.ts";

/** Requests of which a second or a late answer is still heard; the oldest are forgotten. */
const straysHeardMax = 32;

/** A request that nobody has answered yet. */
interface Question {
  /** False as long as certainly nothing of it was written, and again once the server certainly did not act on it. */
  isWritten: boolean;
  /** Who hears of the answer instead of the SDK, which has given the request up. */
  late?: (message: JSONRPCMessage) => void;
}

/** What is known of a request: not a byte was written, it was, or it was answered or given up. */
export type RequestState = "unwritten" | "written" | "over";

/** A request that brought no answer, and why. */
export class RequestError extends Error {
  readonly failure: Failure;
  constructor(reason: Failure) {
    super(reason.message);
    this.failure = reason;
  }
}

/** A message that was not sent, or of which it is certain that nobody acted on it. */
export class NotSentError extends RequestError {
  override readonly name = "NotSentError";
}

/** A request that was sent, and whose answer will not come. */
export class AnswerLostError extends RequestError {
  override readonly name = "AnswerLostError";
}

/** The requests of one connection. */
export class Asked {
  readonly #questions = new Map<number, Question>();
  /** Who hears of an answer that comes once more, or too late: each once. */
  readonly #strays = new Map<number, (message: JSONRPCMessage) => void>();
  #last = -1;

  /** The id of the request that was handed over last. */
  get last(): number {
    return this.#last;
  }

  /** Takes a message that is about to be sent; gives the number of the request, if it is one. */
  take(message: JSONRPCMessage): number | undefined {
    if (!("method" in message && "id" in message)) return undefined;
    this.#last = Number(message.id);
    this.#questions.set(this.#last, { isWritten: false });
    return this.#last;
  }

  stateOf(request: number): RequestState {
    const question = this.#questions.get(request);
    if (question === undefined) return "over";
    return question.isWritten ? "written" : "unwritten";
  }

  /** Notes that something of a request was written, or that nobody acted on it. False if nobody wants it any more. */
  note(request: number, isWritten: boolean): boolean {
    const question = this.#questions.get(request);
    if (question === undefined) return false;
    question.isWritten = isWritten;
    return true;
  }

  /** Gives a request up. One that still waits for its turn is never written. */
  forget(request: number): void {
    this.#questions.delete(request);
  }

  /** Lets somebody else than the SDK hear of the answer to a request. */
  redirect(request: number, hear: (message: JSONRPCMessage) => void): void {
    const question = this.#questions.get(request);
    if (question !== undefined) question.late = hear;
  }

  /** Lets somebody hear of one answer that comes after the one that counts, or after the request was given up. */
  hearStray(request: number, hear: (message: JSONRPCMessage) => void): void {
    this.#strays.set(request, hear);
    if (this.#strays.size <= straysHeardMax) return;
    for (const oldest of this.#strays.keys()) return void this.#strays.delete(oldest);
  }

  /** Settles a request by its answer. True if the answer is for the SDK: it is the first, and still wanted there. */
  settle(request: number, message: JSONRPCMessage): boolean {
    const question = this.#questions.get(request);
    if (question === undefined) {
      // Too late, twice, or to nothing that was asked.
      const hear = this.#strays.get(request);
      this.#strays.delete(request);
      hear?.(message);
      return false;
    }
    this.#questions.delete(request);
    if (question.late === undefined) return true;
    question.late(message);
    return false;
  }
}
