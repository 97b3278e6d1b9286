/** The body of a request: within its bounds of size and time, one JSON object, and nothing else (GA-25). */
import type { IncomingMessage } from "node:http";
import { apiLimits } from "../../../schemas/api_limits.ts";
import { BorderError, readJson } from "../../border.ts";
import type { Clock } from "../../seams.ts";
import { ApiFailure } from "../api_failure.ts";

/** Reads a body. Throws ApiFailure; what was not read by then is never read. */
export async function readBody(
  incoming: IncomingMessage,
  { clock, bodyMs }: { readonly clock: Clock; readonly bodyMs: number },
): Promise<{ readonly [name: string]: unknown }> {
  const { "content-type": type = "", "content-encoding": encoding, "content-length": length } =
    incoming.headers;
  if (!/^application\/json *(; *charset="?utf-8"? *)?$/i.test(type) || encoding !== undefined) {
    throw new ApiFailure("content_type_refused", "A body is application/json, as UTF-8 and not compressed");
  }
  if (Number(length ?? 0) > apiLimits.bodyBytesMax) throw tooLarge();
  const enough = new AbortController();
  const late = clock.sleepUntil(clock.now() + bodyMs, enough.signal).then(() => {
    if (enough.signal.aborted) return new Uint8Array();
    throw new ApiFailure("body_too_slow", `A body must be here in ${bodyMs / 1_000} s: send it again`);
  });
  try {
    return objectIn(await Promise.race([collect(incoming), late]));
  } finally {
    enough.abort();
  }
}

function tooLarge(): ApiFailure {
  return new ApiFailure("body_too_large", `A body has at most ${apiLimits.bodyBytesMax} bytes: send less`);
}

/** Listens instead of iterating: leaving a loop would end the connection before the refusal is written. */
function collect(incoming: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    incoming.on("data", (chunk: Uint8Array) => {
      size += chunk.length;
      if (size <= apiLimits.bodyBytesMax) return void chunks.push(chunk);
      incoming.pause();
      chunks.length = 0;
      reject(tooLarge());
    });
    incoming.on("end", () => {
      const bytes = new Uint8Array(size);
      let at = 0;
      for (const chunk of chunks) {
        bytes.set(chunk, at);
        at += chunk.length;
      }
      resolve(bytes);
    });
    const gone = () => reject(new ApiFailure("body_incomplete", "The connection ended before the body did"));
    incoming.on("error", gone);
    incoming.on("aborted", gone);
  });
}

function objectIn(bytes: Uint8Array): { readonly [name: string]: unknown } {
  const { bodyBytesMax: bytesMax, bodyDepthMax: depthMax } = apiLimits;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const value: unknown = text.trim() === "" ? {} : readJson(text, { bytesMax, depthMax });
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch (error) {
    if (error instanceof BorderError) throw new ApiFailure(error.code, error.message);
    if (!(error instanceof TypeError)) throw error;
    throw new ApiFailure("json_invalid", "The body is not UTF-8");
  }
  throw new ApiFailure("params_invalid", "The body must be one JSON object");
}
