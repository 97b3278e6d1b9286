/** The head of an answer, read by the letter of RFC 9112: what can be read in two ways is refused. */
import { limits } from "../../schemas/limits.ts";
import { HttpError } from "./http_error.ts";
import type { Socket } from "./socket.ts";

/** Status and headers of an answer. */
export interface Head {
  readonly status: number;
  readonly statusText: string;
  /** Names in lower case, values without the space around them. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** False for HTTP/1.0. */
  readonly isPersistent: boolean;
}

const statusLine = /^HTTP\/1\.([01]) (\d{3})(?: (.*))?$/;
const fieldName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// deno-lint-ignore no-control-regex
const badInValue = /[\u0000-\u0008\u000a-\u001f\u007f]/;

const carriageReturn = 0x0d;
const lineFeed = 0x0a;

/** Reads the head of the final answer; those that only say that one will come are passed over. */
export async function readHead(socket: Socket): Promise<Head> {
  for (let informational = 0; informational <= limits.httpInformationalMax; informational++) {
    const head = parseHead(await readHeadText(socket));
    if (head.status === 101) throw broken("it changes to a protocol that was not asked for");
    if (head.status >= 200) return head;
  }
  throw broken("it announces an answer again and again");
}

/** All values of a header. */
export function valuesOf(head: Pick<Head, "headers">, name: string): readonly string[] {
  return head.headers.filter(([header]) => header === name).map(([, value]) => value);
}

/** The members of a header that is a list, in lower case. */
export function listOf(head: Pick<Head, "headers">, name: string): readonly string[] {
  return valuesOf(head, name).flatMap((value) => value.split(","))
    .map((item) => item.trim().toLowerCase()).filter((item) => item !== "");
}

/** An answer that is not HTTP as we accept it. */
export function broken(what: string): HttpError {
  return new HttpError("http_protocol_error", `Cannot read the answer of a server: ${what}`);
}

/** The server went away in the middle of an answer, or before it. */
export function lost(cause?: unknown): HttpError {
  return new HttpError(
    "http_connection_lost",
    "Lost the connection to a server before its answer was whole",
    {
      cause,
    },
  );
}

/** Reads lines up to an empty one, with all bounds; the empty line is used up too. */
export async function readHeadText(socket: Socket): Promise<string> {
  let looked = 0;
  while (true) {
    const bytes = socket.unread;
    const end = endOfHead(bytes, looked);
    const size = end ?? bytes.length;
    if (size > limits.httpHeadBytesMax) {
      throw new HttpError(
        "response_too_large",
        `Cannot read an answer whose head has more than ${limits.httpHeadBytesMax} bytes`,
      );
    }
    if (end !== undefined) {
      const text = latin1(bytes.subarray(0, end));
      socket.use(end);
      return text;
    }
    looked = Math.max(0, bytes.length - 3);
    if (!await socket.more()) throw lost();
  }
}

/** Where the head ends, after its empty line. */
function endOfHead(bytes: Uint8Array, from: number): number | undefined {
  for (let at = bytes.indexOf(lineFeed, from); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) {
    if (
      at >= 3 && bytes[at - 1] === carriageReturn && bytes[at - 2] === lineFeed &&
      bytes[at - 3] === carriageReturn
    ) {
      return at + 1;
    }
  }
  return undefined;
}

function parseHead(text: string): Head {
  const [first = "", ...lines] = text.slice(0, -4).split("\r\n");
  const [, minor, status, statusText = ""] = statusLine.exec(first) ?? [];
  if (status === undefined || badInValue.test(statusText)) {
    throw broken("its first line is no status of HTTP/1.1");
  }
  const code = Number(status);
  if (code < 100 || code > 599) throw broken("its status is none of HTTP");
  return { status: code, statusText, headers: parseFields(lines), isPersistent: minor === "1" };
}

/** Reads header lines. Folded lines, spaces before the colon and control characters are refused. */
export function parseFields(lines: readonly string[]): Head["headers"] {
  if (lines.length > limits.httpHeadersMax) {
    throw new HttpError(
      "response_too_large",
      `Cannot read an answer of more than ${limits.httpHeadersMax} headers`,
    );
  }
  return lines.map((line) => {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0));
    const value = trimmed(line, colon + 1);
    if (!fieldName.test(name)) throw broken("one of its headers has no proper name");
    if (badInValue.test(value)) throw broken("one of its headers holds a control character");
    return [name.toLowerCase(), value] as const;
  });
}

/** Without spaces and tabs around it, in linear time. */
function trimmed(line: string, from: number): string {
  let start = from;
  let end = line.length;
  while (start < end && (line[start] === " " || line[start] === "\t")) start++;
  while (end > start && (line[end - 1] === " " || line[end - 1] === "\t")) end--;
  return line.slice(start, end);
}

/** One character for each byte, as headers hold them. `TextDecoder` would take it for Windows' code page. */
export function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8_192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  }
  return text;
}
