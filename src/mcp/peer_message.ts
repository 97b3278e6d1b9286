/** A JSON-RPC message of a client, as its envelope says: what is inside is for the protocol to check. */
import { z } from "zod";
import { rpcCodes } from "../../schemas/api_rpc.ts";
import type { JSONRPCMessage } from "./sdk_v1.ts";

/** What names a request. */
export const PeerRequestId = z.union([z.string(), z.int()]);
/** What names a request. */
export type PeerRequestId = z.infer<typeof PeerRequestId>;

const jsonrpc = z.literal("2.0");
const params = z.looseObject({}).optional();

const PeerMessage = z.union([
  z.strictObject({ jsonrpc, id: PeerRequestId, method: z.string(), params }),
  z.strictObject({ jsonrpc, method: z.string(), params }),
  z.strictObject({ jsonrpc, id: PeerRequestId, result: z.looseObject({}) }),
  z.strictObject({
    jsonrpc,
    id: PeerRequestId.optional(),
    error: z.looseObject({ code: z.int(), message: z.string() }),
  }),
]);

/** The message that a JSON value is; undefined if it is none. */
export function readPeerMessage(value: unknown): JSONRPCMessage | undefined {
  return PeerMessage.safeParse(value).data as JSONRPCMessage | undefined;
}

/** Codes by which a message is refused that never reaches the protocol. */
export const peerRefusals = { parse: rpcCodes.parse, invalid: rpcCodes.invalid } as const;
