/** Asks a server, without proof of who we are, whether it wants any. */
import { limits } from "../../../schemas/limits.ts";
import { HttpError } from "../../net/http_error.ts";
import { version } from "../../version.ts";
import { authFailed, authUnavailable } from "./auth_error.ts";
import { type Challenge, readChallenge } from "./challenge.ts";
import type { GuardedFetch } from "./json_answer.ts";

const bounds = {
  totalMs: limits.oauthRequestMs,
  headersMs: limits.oauthRequestMs,
  idleMs: limits.oauthRequestMs,
  bodyBytesMax: limits.oauthAnswerBytesMax,
} as const;

const accept = "application/json, text/event-stream";

const greeting = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "troupe", version } },
};

/** What a server asks for; undefined if it asks for nothing, or does not say what. A session that it opens is ended. */
export async function probe(
  fetch: GuardedFetch,
  endpoint: string,
  signal: AbortSignal,
): Promise<Challenge | undefined> {
  try {
    const headers = { accept, "content-type": "application/json" };
    const init = {
      method: "POST",
      redirect: "manual",
      signal,
      headers,
      body: JSON.stringify(greeting),
    } as const;
    const response = await fetch(endpoint, init, bounds);
    await response.body?.cancel();
    const session = response.headers.get("mcp-session-id");
    if (session !== null) {
      const ended = await fetch(endpoint, {
        method: "DELETE",
        signal,
        headers: { "mcp-session-id": session },
      }, bounds);
      await ended.body?.cancel();
    }
    return readChallenge(response.headers);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (!(error instanceof HttpError)) throw error;
    const why = `Cannot reach the server: ${error.message} (${error.code})`;
    throw error.retryable ? authUnavailable(why, error) : authFailed(why);
  }
}
