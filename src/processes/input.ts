/** Standard input of a child: written in order, until the child does not read any more. */
import { ProcessError, quoted } from "./process_error.ts";

/** The writing end of a child's standard input. */
export class Input {
  readonly #command: string;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  /** Writes on their way: each can be told that nobody will read it. */
  readonly #open = new Set<() => void>();
  #isClosed = false;

  constructor(command: string, stream: WritableStream<Uint8Array>) {
    this.#command = command;
    this.#writer = stream.getWriter();
    // What goes wrong is told to whoever writes.
    this.#writer.closed.catch(() => {});
  }

  /** Writes all of `bytes` behind what was written before. Rejects with `process_input_closed`. */
  write(bytes: Uint8Array): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const fail = () => {
      this.#open.delete(fail);
      reject(this.#refusal());
    };
    if (this.#isClosed) {
      fail();
      return promise;
    }
    this.#open.add(fail);
    this.#writer.write(bytes).then(() => {
      this.#open.delete(fail);
      resolve();
    }, fail);
    return promise;
  }

  /** Ends the input once everything before has been written. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#writer.close().catch(() => {});
  }

  /** The child has ended: nobody will read what is still on its way. */
  abandon(): void {
    this.#isClosed = true;
    for (const fail of this.#open) fail();
    // Not waited for: a process that escaped may hold the pipe, full, for as long as it lives.
    this.#writer.abort().catch(() => {});
  }

  #refusal(): ProcessError {
    return new ProcessError(
      "process_input_closed",
      `Cannot write to ${quoted(this.#command)}: it does not read its input any more; start it again`,
    );
  }
}
