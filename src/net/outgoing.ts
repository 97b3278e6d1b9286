/** A request as it is sent: checked, with a body that is known or streamed. */
import { limits } from "../../schemas/limits.ts";
import { version } from "../version.ts";
import { HttpError } from "./http_error.ts";
import { originText, type UrlTarget } from "./url_policy.ts";

/** A request without its URL. */
export interface Outgoing {
  readonly method: string;
  readonly headers: Headers;
  /** Bytes can be sent again; a stream cannot. */
  readonly body?: Uint8Array | ReadableStream<Uint8Array>;
}

/** Headers that say how the message is carried: ours alone. */
const ours = new Set([
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const encoder = new TextEncoder();
const methodForm = /^[A-Z]{1,32}$/;
const refusedMethods = new Set(["CONNECT", "TRACE"]);
const bodiless = new Set(["GET", "HEAD"]);

/** Reads what `fetch` accepts. Refuses what a request of ours must not say. */
export async function readOutgoing(init: RequestInit): Promise<Outgoing> {
  const method = (init.method ?? "GET").toUpperCase();
  if (!methodForm.test(method) || refusedMethods.has(method)) throw invalid("its method is not allowed");
  const headers = readHeaders(init.headers);
  const given = init.body ?? undefined;
  if (given !== undefined && bodiless.has(method)) throw invalid(`a ${method} has no body`);
  if (given === undefined) return { method, headers };
  const body = await readBody(given, headers);
  return { method, headers, body };
}

function readHeaders(init: RequestInit["headers"]): Headers {
  let headers: Headers;
  try {
    headers = new Headers(init);
  } catch (cause) {
    throw invalid("one of its headers is none", cause);
  }
  let size = 0;
  for (const [name, value] of headers) {
    size += name.length + value.length;
    if (ours.has(name) || name.startsWith("proxy-")) throw invalid(`the header ${name} is not for callers`);
  }
  if (size > limits.httpHeadBytesMax) {
    throw invalid(`its headers have more than ${limits.httpHeadBytesMax} bytes`);
  }
  if (!headers.has("accept")) headers.set("accept", "*/*");
  if (!headers.has("user-agent")) headers.set("user-agent", `troupe/${version}`);
  return headers;
}

async function readBody(given: BodyInit, headers: Headers): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  if (given instanceof ReadableStream) return given;
  const { bytes, type } = typeof given === "string" ? ofText(given) : await ofOther(given);
  if (type !== null && !headers.has("content-type")) headers.set("content-type", type);
  if (bytes.length > limits.httpRequestBodyBytesMax) {
    throw invalid(`its body has more than ${limits.httpRequestBodyBytesMax} bytes`);
  }
  return bytes;
}

interface Whole {
  readonly bytes: Uint8Array;
  readonly type: string | null;
}

/** The usual case, without the detour that all others take. */
function ofText(text: string): Whole {
  return { bytes: encoder.encode(text), type: "text/plain;charset=UTF-8" };
}

async function ofOther(given: BodyInit): Promise<Whole> {
  const whole = new Response(given);
  return { bytes: await whole.bytes(), type: whole.headers.get("content-type") };
}

/** A request that was not made as it must be. Nothing was sent. */
export function invalid(what: string, cause?: unknown): HttpError {
  return new HttpError("http_request_invalid", `Cannot send a request: ${what}`, { cause, wasSent: false });
}

/** The head of a request as bytes, one a character. */
export function headBytes(target: UrlTarget, { method, headers, body }: Outgoing): Uint8Array {
  const host = originText(target).slice(target.scheme.length + 3);
  const lines = [`${method} ${target.url.pathname}${target.url.search} HTTP/1.1`, `host: ${host}`];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  lines.push("accept-encoding: gzip");
  if (body instanceof Uint8Array) lines.push(`content-length: ${body.length}`);
  else if (body) lines.push("transfer-encoding: chunked");
  else if (method !== "GET" && method !== "HEAD") lines.push("content-length: 0");
  const text = `${lines.join("\r\n")}\r\n\r\n`;
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}
