/** What all requests to a server have in common: the SDK does the protocol, the project's clock keeps the time. */
import { z } from "zod";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { Clock } from "../seams.ts";
import { oneLine } from "./plain_text.ts";
import { type Client, McpError } from "./sdk_v1.ts";
import type { Wire } from "./wire.ts";

/** An open connection, as requests use it. */
export interface Connection {
  readonly sdk: Client;
  readonly transport: Wire;
  readonly clock: Clock;
}

/** A failure of a connection, thrown. */
export class McpFault extends Error {
  override readonly name = "McpFault";
  readonly failure: Failure;
  constructor(reason: Failure) {
    super(reason.message);
    this.failure = reason;
  }
}

/** Takes any result: what is in it is judged piece by piece, later. */
export const anyResult = z.looseObject({});

/** The longest that a timer can wait: the SDK starts one for every request, and ends it with the request. */
export const foreverMs = 2_147_483_647;

/** What a server is told when we give a request up: always the same, since our reasons are none of its business. */
export const cancelReason = "The client no longer waits for this request";

const messageCharactersMax = 1_000;

/** The failure for a JSON-RPC error that a server answered with. `subject` is what it refused, as in `the call`. */
export function refusal(subject: string, error: unknown): Failure {
  const code = error instanceof McpError ? error.code : 0;
  const message = error instanceof Error ? error.message : "";
  // The SDK puts its own words in front.
  const words = oneLine(message.replace(`MCP error ${code}: `, ""), messageCharactersMax);
  const said = words === "" ? "" : `: ${words}`;
  const why = failure("mcp_protocol_error", `The MCP server refused ${subject} with error ${code}${said}`);
  return Number.isSafeInteger(code) ? { ...why, details: { rpc_code: code } } : why;
}
