/**
 * The actor API as JSON-RPC 2.0 over a pipe: one message a line. A request's method and params are those of
 * `schemas/api.ts`; what is not the method's own stands in `params._meta`, where every JSON-RPC library lets it through.
 */
import { z } from "zod";
import { JsonObject } from "./json.ts";

/** Name of a request among those that are open on its pipe. */
export const RpcId = z.union([z.string().max(128), z.int()]);
/** Name of a request. */
export type RpcId = z.infer<typeof RpcId>;

/** A request, or, without an id, a notification: that is never answered. */
export const RpcRequest = z.strictObject({
  jsonrpc: z.literal("2.0"),
  id: RpcId.exactOptional(),
  method: z.string().max(100),
  params: JsonObject.exactOptional(),
});
/** A request. */
export type RpcRequest = z.infer<typeof RpcRequest>;

/** `params._meta`: what a carrier needs, whatever the method. */
export const RpcMeta = z.strictObject({
  /** Every command needs one: the same key again is the same command. */
  idempotency_key: z.string().exactOptional(),
});

/** The notification by which a caller gives a request up: it is answered all the same, with what there is. */
export const rpcCancel = "request/cancel";

/** Params of {@linkcode rpcCancel}. */
export const RpcCancel = z.strictObject({ id: RpcId });

/** Params of `watch/event` and `export/event`: one piece of the answer to the request of this id. */
export const RpcPiece = z.strictObject({ id: RpcId, event: JsonObject });

/** Codes of JSON-RPC. Our own error is in `error.data`, and says more. */
export const rpcCodes = {
  parse: -32_700,
  invalid: -32_600,
  method: -32_601,
  params: -32_602,
  internal: -32_603,
  refused: -32_000,
} as const;

/** An answer that says why not. */
export const RpcError = z.looseObject({
  code: z.number(),
  message: z.string(),
  data: z.unknown().optional(),
});
