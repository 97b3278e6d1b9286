/** The pieces of one streamed answer on their way to whoever asked. */
import { apiLimits } from "../../schemas/api_limits.ts";

/** Pieces that have come and wait for the reader. */
export class RpcPieces {
  readonly #waiting: unknown[] = [];
  #end: { readonly error?: unknown } | undefined;
  #news = Promise.withResolvers<void>();
  readonly #onTaken: () => void;

  /** `onTaken` hears that there is room again. */
  constructor(onTaken: () => void) {
    this.#onTaken = onTaken;
  }

  /** True while more should wait at the sender. */
  get isFull(): boolean {
    return this.#waiting.length >= apiLimits.watchEventsMax;
  }

  /** Nobody reads any more. */
  discard(): void {
    this.#end ??= {};
    this.#waiting.length = 0;
  }

  /** Takes a piece. */
  push(piece: unknown): void {
    if (this.#end === undefined) this.#waiting.push(piece);
    this.#tell();
  }

  /** Nothing more comes. What has come is still read; then the error, if there is one, is thrown. */
  end(end: { readonly error?: unknown } = {}): void {
    this.#end ??= end;
    this.#tell();
  }

  /** Gives the pieces in their order. */
  async *read(): AsyncIterable<unknown> {
    for (;;) {
      if (this.#waiting.length > 0) {
        yield this.#waiting.shift();
        this.#onTaken();
      } else if (this.#end !== undefined) {
        if (this.#end.error !== undefined) throw this.#end.error;
        return;
      } else await this.#news.promise;
    }
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}
