/** Why a connection was not opened, in words for people: each names its server. */
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import type { McpDeclaration } from "../../schemas/manifest.ts";
import { ProcessError } from "../processes/child.ts";
import type { McpFault } from "./client.ts";
import { HomeError } from "./private_homes.ts";
import { cleanFailure } from "./redacting_client.ts";

/** A server whose manifest names what is not set. */
export function missingVariables(server: string, missing: readonly string[]): Failure {
  const names = missing.join(", ");
  return failure(
    "mcp_variable_missing",
    `The server "${server}" is left out: its manifest names ${names}, which is not set; set it and try again`,
  );
}

/** Nobody wants the connection any more. */
export function closedEarly({ server }: McpDeclaration): Failure {
  return retryableFailure(
    "mcp_connection_closed",
    `The connection to "${server}" was closed before it was ready`,
  );
}

/** What is asked of a server that this runtime did not start. */
export function gone(): Failure {
  return failure("interrupted", "The server ended with the runtime that had started it");
}

/** A failure that says of which server it is. */
export function named(server: string, why: Failure): Failure {
  return { ...why, message: `${server}: ${why.message}`.slice(0, 2_000) };
}

/** Why a server cannot be used. What is no expected ending is thrown on. */
export function whyNot(server: string, error: unknown, secrets: readonly string[]): Failure {
  if (error instanceof HomeError) return error.failure;
  if (isMcpFault(error)) return named(server, cleanFailure(error.failure, secrets));
  if (error instanceof ProcessError) {
    const why = error.code === "process_resources_exhausted"
      ? retryableFailure("resource_exhausted", error.message)
      : failure("mcp_connect_failed", error.message);
    return named(server, cleanFailure(why, secrets));
  }
  throw error;
}

/** By its name: its class comes with the SDK, which may not be loaded. */
function isMcpFault(error: unknown): error is McpFault {
  return error instanceof Error && error.name === "McpFault";
}
