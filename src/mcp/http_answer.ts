/** What an answer by HTTP says of the request that it answers, before any message in it is looked at. */
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { HttpError } from "../net/http_error.ts";
import { LineTooLongError } from "../processes/lines.ts";
import { EventFloodError } from "./event_stream.ts";
import { type Incoming, messageOf } from "./message.ts";
import { oneLine } from "./plain_text.ts";

/** Bytes of the body of a refusal that are looked at. */
const refusalBytesMax = 64 * 1_024;
const wordsMax = 300;

/** What a refusal by HTTP means. */
export type Refusal =
  /** The server does not know our session: certainly it did nothing. */
  | { readonly type: "session_lost"; readonly failure: Failure }
  /** It wants to know first who we are: certainly it did nothing. */
  | { readonly type: "unauthorized"; readonly failure: Failure }
  /** It put an answer of the protocol into its body. */
  | { readonly type: "answered"; readonly incoming: Incoming }
  /** What it did before it refused, nobody knows. */
  | { readonly type: "doubtful"; readonly failure: Failure };

/** Reads an answer whose status is no success. `request` is the number of what was asked, if it was a request. */
export async function readRefusal(
  response: Response,
  { request, hadSession }: { readonly request: number | undefined; readonly hadSession: boolean },
): Promise<Refusal> {
  const { status } = response;
  const text = await readText(response, refusalBytesMax).catch(() => "");
  const namesSession = status === 400 && /session/i.test(text);
  if (hadSession && (status === 404 || namesSession)) {
    const message =
      `The MCP server does not know its session any more (status ${status}); the next call begins a new one`;
    return {
      type: "session_lost",
      failure: withStatus(retryableFailure("session_not_found", message), status),
    };
  }
  if (status === 401) {
    const message = "The MCP server wants a login (status 401): name one in the headers of its manifest";
    return { type: "unauthorized", failure: withStatus(failure("mcp_login_required", message), status) };
  }
  const incoming = answerIn(text);
  if (request !== undefined && incoming?.answers === request) return { type: "answered", incoming };
  return { type: "doubtful", failure: statusFailure(response, text) };
}

function answerIn(text: string): Incoming | undefined {
  try {
    return messageOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function withStatus(why: Failure, status: number): Failure {
  return { ...why, details: { http_status: status } };
}

/** The failure that a status stands for. Servers that are overloaded, broken or in repair may be asked again. */
function statusFailure({ status, headers }: Response, text: string): Failure {
  const words = oneLine(text, wordsMax);
  const message = `The MCP server answered with status ${status}${words === "" ? "" : `: ${words}`}`;
  if (status !== 429 && status < 500) return withStatus(failure("mcp_protocol_error", message), status);
  const seconds = headers.get("retry-after") ?? "";
  const retryAfterMs = /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1_000 : undefined;
  const why = withStatus(retryableFailure("mcp_unavailable", message), status);
  if (retryAfterMs === undefined) return why;
  return { ...why, retryAfterMs: Math.min(retryAfterMs, limits.retryAfterToldMsMax) };
}

/** A body as text. Throws {@linkcode EventFloodError} if it is too long, and `TypeError` if it is no UTF-8. */
export async function readText({ body }: Response, bytesMax: number): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const pieces: string[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new EventFloodError(`more than ${bytesMax} bytes`);
    pieces.push(decoder.decode(chunk, { stream: true }));
  }
  pieces.push(decoder.decode());
  return pieces.join("");
}

/** Why an answer did not come to its end, from what reading it threw. */
export function brokenAnswer(error: unknown): Failure {
  if (error instanceof HttpError && error.code === "response_too_large") {
    const message =
      `The MCP server answered with more than ${limits.mcpStreamBytesMax} bytes, which is too much`;
    return failure("mcp_message_too_large", message);
  }
  if (error instanceof HttpError) {
    return {
      ...error.failure,
      message: `The answer of the MCP server broke off: ${error.message}`.slice(0, 2_000),
    };
  }
  if (error instanceof EventFloodError) {
    return failure(
      "mcp_message_too_large",
      `The MCP server answered with ${error.message}, which is too much`,
    );
  }
  if (error instanceof LineTooLongError) {
    const message = `The MCP server sent a message of more than ${limits.mcpMessageBytesMax} bytes`;
    return failure("mcp_message_too_large", message);
  }
  if (error instanceof TypeError || error instanceof SyntaxError) {
    return failure("mcp_protocol_error", "The MCP server answered with something that is no JSON in UTF-8");
  }
  return retryableFailure("mcp_connection_lost", "The answer of the MCP server broke off");
}

/** The type of a body, without its parameters. */
export function mediaTypeOf({ headers }: Response): string {
  return (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}
