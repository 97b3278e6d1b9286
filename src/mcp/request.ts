/** What all requests to a server have in common: the SDK does the protocol, the project's clock keeps the time. */
import { z } from "zod";
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import type { Clock } from "../seams.ts";
import { isRecord } from "./json_bounds.ts";
import { oneLine } from "./plain_text.ts";
import { type McpProtocol, rpcCodes, RpcError } from "./protocol.ts";
import type { Wire } from "./wire.ts";

/** An open connection, as requests use it. */
export interface Connection {
  readonly protocol: McpProtocol;
  readonly transport: Wire;
  readonly clock: Clock;
  /** True if the server is no process of ours. */
  readonly isRemote: boolean;
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

/** What a server is told when we give a request up: always the same, since our reasons are none of its business. */
export const cancelReason = "The client no longer waits for this request";

const messageCharactersMax = 1_000;
const namesMax = 20;

/** The failure for a JSON-RPC error that a server answered with. `subject` is what it refused, as in `the call`. */
export function refusal(subject: string, error: unknown): Failure {
  const code = error instanceof RpcError ? error.code : 0;
  const words = oneLine(error instanceof Error ? error.message : "", messageCharactersMax);
  const said = words === "" ? "" : `: ${words}`;
  const message = `The MCP server refused ${subject} with error ${code}${said}`;
  return { ...failureOf(code, message, error), details: { rpc_code: code } };
}

/** Three errors of the modern era say what is wrong, so that somebody can do something about it. */
function failureOf(code: number, message: string, error: unknown): Failure {
  switch (code) {
    case rpcCodes.headerMismatch:
      return failure("mcp_header_mismatch", `${message}; its tools are asked for again`);
    case rpcCodes.capabilityMissing:
      return failure(
        "mcp_capability_missing",
        `${message}; it wants of its client: ${named(error, "requiredCapabilities")}`,
      );
    case rpcCodes.versionUnsupported:
      return retryableFailure(
        "mcp_version_unsupported",
        `${message}; it speaks: ${named(error, "supported")}`,
      );
    default:
      return failure("mcp_protocol_error", message);
  }
}

/** Names that an error of the protocol gives. */
function named(error: unknown, field: string): string {
  const data = error instanceof RpcError && isRecord(error.data) ? error.data[field] : undefined;
  const names = Array.isArray(data) ? data : isRecord(data) ? Object.keys(data) : [];
  const shown = names.filter((one) => typeof one === "string").slice(0, namesMax);
  return oneLine(shown.join(", "), messageCharactersMax) || "it does not say what";
}
