/** `heartbeat`: a program that has no connection of its own says that it is there. */
import type { ApiGiven, ApiResult } from "../../schemas/api.ts";
import { ApiFailure } from "./api_failure.ts";
import type { ApiCallContext } from "./api_parts.ts";
import { connectionOf } from "./fates.ts";

/** Renews what the program promised; resolves once a new promise is durable. */
export async function heartbeat(
  { parts: { fates }, caller }: ApiCallContext,
  { every_ms: everyMs }: ApiGiven<"heartbeat">,
): Promise<ApiResult<"heartbeat">> {
  if (caller.connection !== undefined) {
    throw new ApiFailure(
      "heartbeat_unneeded",
      "The connection itself tells that you are there: send no heartbeats",
    );
  }
  return { lapses_at: await fates.beat(connectionOf(caller), everyMs) };
}
