/** Reads what a server sent as a JSON-RPC message: a cheap look at its shape, since a result may have megabytes. */
import { type Fields, isRecord } from "./json_bounds.ts";
import { rpcCodes } from "./protocol.ts";
import type { JSONRPCMessage } from "./sdk_v1.ts";

/** A field of `_meta` that the SDK of the legacy era reads strictly. */
const relatedTaskKey = "io.modelcontextprotocol/related-task";

/** A message of a server. `answers` is the number of our request that it answers. */
export interface Incoming {
  readonly message: JSONRPCMessage;
  readonly answers: number | undefined;
}

const decoder = new TextDecoder();

/**
 * The message that a line holds; undefined for anything else: a banner, a blank line, JSON of other kinds. Only the
 * fields of the protocol are taken over, since the SDK refuses a message that has one more, and a request whose answer
 * is refused waits for ever. Ids become numbers again, results stay what they were.
 */
export function readMessage(line: Uint8Array): Incoming | undefined {
  try {
    return messageOf(JSON.parse(decoder.decode(line)));
  } catch {
    return undefined;
  }
}

/** The message that a JSON value is; undefined for anything else. */
export function messageOf(fields: unknown): Incoming | undefined {
  if (!isRecord(fields) || fields["jsonrpc"] !== "2.0") return undefined;
  return typeof fields["method"] === "string" ? readCall(fields) : readAnswer(fields);
}

/** A request or a notification. What is malformed inside is for the SDK to refuse. */
function readCall({ id, method, params }: Fields): Incoming {
  const message = {
    jsonrpc: "2.0",
    method,
    ...(params === undefined || params === null ? {} : { params }),
    ...(id === undefined || id === null ? {} : { id }),
  };
  return { message: message as JSONRPCMessage, answers: undefined };
}

function readAnswer(fields: Fields): Incoming | undefined {
  const { id, error } = fields;
  const answers = requestNumber(id);
  if (answers === undefined) return undefined;
  const outcome = isRecord(error)
    ? { error: readError(error) }
    : "result" in fields
    ? { result: readResult(fields["result"]) }
    : undefined;
  if (outcome === undefined) return undefined;
  return { message: { jsonrpc: "2.0", id: answers, ...outcome } as unknown as JSONRPCMessage, answers };
}

/** The number of a request of ours. Some servers give it back as text. */
function requestNumber(id: unknown): number | undefined {
  if (Number.isSafeInteger(id)) return Number(id);
  return typeof id === "string" && /^(?:0|[1-9]\d{0,14})$/.test(id) ? Number(id) : undefined;
}

function readError({ code, message, data }: Fields): Fields {
  return {
    code: Number.isSafeInteger(code) ? Number(code) : rpcCodes.internalError,
    message: typeof message === "string" ? message : "",
    ...(data === undefined ? {} : { data }),
  };
}

/** The result as it is, but for a `_meta` that is none, and what is no object: that becomes one without content. */
function readResult(result: unknown): Fields {
  if (!isRecord(result)) return {};
  const meta = result["_meta"];
  if (
    meta === undefined || (isRecord(meta) && !("progressToken" in meta) && !(relatedTaskKey in meta))
  ) {
    return result;
  }
  const { _meta: _, ...rest } = result;
  return rest;
}
