/** What a body says, decoded: within bounds on what comes, on what it becomes, and on how much it grows. */
import { limits } from "../../schemas/limits.ts";
import { broken, type Head, listOf } from "./head.ts";
import { HttpError } from "./http_error.ts";

/** Gives the next bytes, or nothing at the end. */
export type Pull = () => Promise<Uint8Array | undefined>;

/** How a body is encoded. Others were not offered to the server and are refused. */
export type Coding = "identity" | "gzip";

/** Reads the coding. More than one layer, and what we did not offer, is refused. */
export function codingOf(head: Head): Coding {
  const codings = listOf(head, "content-encoding").filter((coding) => coding !== "identity");
  if (codings.length > 1) throw broken("its content is encoded more than once");
  const [coding] = codings;
  if (coding === undefined) return "identity";
  if (coding === "gzip" || coding === "x-gzip") return "gzip";
  throw broken("its content is encoded in a way that was not offered");
}

/** A body of more bytes than are read. */
export function tooLarge(bytesMax: number): HttpError {
  return new HttpError("response_too_large", `Cannot read an answer of more than ${bytesMax} bytes`);
}

/** Reads `pull` with a bound on bytes, before and after decoding. */
export function boundContent(pull: Pull, coding: Coding, bytesMax: number): Pull {
  const wire = new Count(pull, bytesMax);
  if (coding === "identity") return () => wire.next();
  const decoded = decode(() => wire.next());
  let bytes = 0;
  return async () => {
    const chunk = await decoded();
    bytes += chunk?.length ?? 0;
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    if (bytes > limits.httpInflationFreeBytes && bytes > wire.bytes * limits.httpInflationMax) {
      throw new HttpError(
        "response_too_large",
        `Cannot read an answer that becomes more than ${limits.httpInflationMax} times as large as it came`,
      );
    }
    return chunk;
  };
}

class Count {
  bytes = 0;
  readonly #pull: Pull;
  readonly #bytesMax: number;

  constructor(pull: Pull, bytesMax: number) {
    this.#pull = pull;
    this.#bytesMax = bytesMax;
  }

  async next(): Promise<Uint8Array | undefined> {
    const chunk = await this.#pull();
    this.bytes += chunk?.length ?? 0;
    if (this.bytes > this.#bytesMax) throw tooLarge(this.#bytesMax);
    return chunk;
  }
}

/** Decodes in slices, so that a small piece cannot become everything at once. */
function decode(pull: Pull): Pull {
  let rest: Uint8Array = new Uint8Array(0);
  let failure: unknown;
  const source = new ReadableStream<BufferSource>({
    async pull(controller) {
      try {
        if (rest.length === 0) rest = await pull() ?? rest;
        if (rest.length === 0) return controller.close();
        controller.enqueue(rest.slice(0, limits.httpDecodeSliceBytes));
        rest = rest.subarray(limits.httpDecodeSliceBytes);
      } catch (error) {
        failure = error;
        controller.error(error);
      }
    },
  }, { highWaterMark: 0 });
  const reader = source.pipeThrough(new DecompressionStream("gzip")).getReader();
  return async () => {
    try {
      return (await reader.read()).value;
    } catch {
      throw failure ?? broken("its content is no proper gzip");
    }
  };
}
