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

/** The first words of a client of 2025, which some servers answer to anybody. */
const greeting = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "troupe", version } },
};

/** A question that only who is logged in may ask where anybody is wanted to be; as clients of 2026 ask it. */
const question = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/list",
  params: {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "troupe", version },
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
};

interface Asking {
  readonly fetch: GuardedFetch;
  readonly endpoint: string;
  readonly signal: AbortSignal;
}

/** What a server asks for; undefined if it asks for nothing, or does not say what. A session that it opens is ended. */
export async function probe(
  fetch: GuardedFetch,
  endpoint: string,
  signal: AbortSignal,
): Promise<Challenge | undefined> {
  const asking = { fetch, endpoint, signal };
  try {
    const greeted = await ask(asking, greeting);
    if (greeted.status === 401 || greeted.status === 403) return readChallenge(greeted.headers);
    const session = greeted.headers.get("mcp-session-id");
    try {
      return readChallenge((await ask(asking, question, headersOf(greeted.status, session))).headers);
    } finally {
      if (session !== null) await end(asking, session);
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (!(error instanceof HttpError)) throw error;
    const why = `Cannot reach the server: ${error.message} (${error.code})`;
    throw error.retryable ? authUnavailable(why, error) : authFailed(why);
  }
}

/** Who was greeted goes on as it began; who knows no greeting is asked as one of 2026. */
function headersOf(status: number, session: string | null): { readonly [name: string]: string } {
  if (session !== null) return { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
  return status < 300 ? {} : { "mcp-protocol-version": "2026-07-28", "mcp-method": question.method };
}

async function ask(
  { fetch, endpoint, signal }: Asking,
  message: object,
  more: { readonly [name: string]: string } = {},
): Promise<Response> {
  const init = {
    method: "POST",
    redirect: "manual",
    signal,
    headers: { accept, "content-type": "application/json", ...more },
    body: JSON.stringify(message),
  } as const;
  const response = await fetch(endpoint, init, bounds);
  await response.body?.cancel();
  return response;
}

async function end({ fetch, endpoint, signal }: Asking, session: string): Promise<void> {
  const init = { method: "DELETE", signal, headers: { "mcp-session-id": session } };
  await (await fetch(endpoint, init, bounds)).body?.cancel();
}
