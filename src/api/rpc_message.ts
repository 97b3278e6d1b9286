/** One line of a pipe, read as a JSON-RPC request, or as the refusal that answers it. */
import { apiLimits } from "../../schemas/api_limits.ts";
import type { ApiError } from "../../schemas/api_error.ts";
import { rpcCodes, RpcId, RpcMeta, RpcRequest } from "../../schemas/api_rpc.ts";
import type { Json } from "../../schemas/json.ts";
import { BorderError, readJson } from "../border.ts";
import { ApiFailure } from "./api_failure.ts";

/** What a line says: a request, what is to be refused and to whom, or nothing that is ever answered. */
export type RpcLine =
  | { readonly request: RpcRequest }
  | { readonly refused: ApiFailure; readonly code: number; readonly id: RpcId | null }
  | undefined;

/** Reads a line. Never throws. */
export function readLine(line: Uint8Array): RpcLine {
  let value: Json;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(line);
    if (text.trim() === "") return undefined;
    value = readJson(text, { bytesMax: apiLimits.bodyBytesMax });
  } catch (error) {
    if (!(error instanceof BorderError)) return refuse("json_invalid", "The line is not UTF-8 text");
    return refuse(error.code, error.message);
  }
  const parsed = RpcRequest.safeParse(value);
  if (parsed.success) return { request: parsed.data };
  const fields: { readonly [key: string]: unknown } = typeof value === "object" ? { ...value } : {};
  // Answers and notifications are never answered, not even broken ones: two peers would go on for ever.
  const isAnswer = !("method" in fields) && ("result" in fields || "error" in fields);
  const isNotification = typeof fields["method"] === "string" && !("id" in fields);
  if (isAnswer || isNotification) return undefined;
  return {
    refused: new ApiFailure(
      "request_invalid",
      "The line is no JSON-RPC 2.0 request: send one a line, no batches, with params as an object",
    ),
    code: rpcCodes.invalid,
    id: RpcId.safeParse(fields["id"]).data ?? null,
  };
}

function refuse(code: string, message: string): RpcLine {
  return { refused: new ApiFailure(code, message), code: rpcCodes.parse, id: null };
}

/** The method's own params, and the key of the command. Throws `params_invalid`. */
export function readParams({ params = {} }: RpcRequest): {
  readonly params: unknown;
  readonly key: string | undefined;
} {
  const { _meta: meta = {}, ...own } = params;
  const parsed = RpcMeta.safeParse(meta);
  if (parsed.success) return { params: own, key: parsed.data.idempotency_key };
  throw new ApiFailure("params_invalid", "params._meta takes an idempotency_key, a text, and nothing else");
}

const paramsCodes: ReadonlySet<string> = new Set([
  "params_invalid",
  "idempotency_key_missing",
  "idempotency_key_invalid",
]);

/** An error as JSON-RPC carries it. */
export function rpcError(told: ApiError, code = codeOf(told.code)): {
  readonly code: number;
  readonly message: string;
  readonly data: ApiError;
} {
  return { code, message: told.message, data: told };
}

function codeOf(code: string): number {
  if (code === "method_unknown") return rpcCodes.method;
  if (code === "internal") return rpcCodes.internal;
  return paramsCodes.has(code) ? rpcCodes.params : rpcCodes.refused;
}
