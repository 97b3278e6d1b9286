/** One request to an MCP server by HTTP: the client's bounds, and redirects that stay where the operator pointed. */
import { limits } from "../../schemas/limits.ts";
import type { GuardedClient, HttpBounds } from "../net/guarded_client.ts";
import { HttpError } from "../net/http_error.ts";

const redirectsMax = 3;

/** How long a call may take is for the call to say: it hears of progress, which no single request does. */
const callBounds = {
  headersMs: limits.toolCallDurationMsMax,
  idleMs: limits.toolCallDurationMsMax,
  totalMs: limits.toolCallDurationMsMax,
  bodyBytesMax: limits.mcpStreamBytesMax,
};

/** Follows the server within its own origin only: what else it names, nobody has approved. Rejects as the client does. */
export async function requestWithin(
  { fetch, url }: { readonly fetch: GuardedClient["fetch"]; readonly url: string },
  init: RequestInit,
  bounds: Partial<HttpBounds> = {},
): Promise<Response> {
  let at = new URL(url);
  for (let hops = 0;; hops++) {
    const response = await fetch(at, { ...init, redirect: "manual" }, { ...callBounds, ...bounds });
    const { status } = response;
    if (status < 300 || status > 399) return response;
    await response.body?.cancel();
    const next = URL.parse(response.headers.get("location") ?? "", at);
    const keepsMethod = status === 307 || status === 308;
    if (next === null || !keepsMethod || next.origin !== at.origin || hops === redirectsMax) {
      const message = `The MCP server sent us elsewhere (status ${status}): give its new URL in the manifest`;
      // It did not take the request: it only named another that should.
      throw new HttpError("http_redirect_refused", message, { wasSent: !keepsMethod });
    }
    at = next;
  }
}
