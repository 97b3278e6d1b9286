/** What a redirect makes of a request: pure, so that each rule can be read and tested alone. */
import { broken, type Head, valuesOf } from "./head.ts";
import { HttpError } from "./http_error.ts";
import type { Outgoing } from "./outgoing.ts";

const redirects = new Set([301, 302, 303, 307, 308]);

/** Headers that another origin may see: they say what we can read, never who we are. */
const harmless = new Set(["accept", "accept-language", "user-agent"]);

/** Where an answer sends us, or nothing if it is no redirect. */
export function locationOf(head: Head): string | undefined {
  if (!redirects.has(head.status)) return undefined;
  const locations = valuesOf(head, "location");
  if (locations.length > 1) throw broken("it redirects to two places");
  return locations[0];
}

/** The place that `location` names, seen from `base`. */
export function resolveLocation(location: string, base: URL): string {
  // deno-lint-ignore no-control-regex
  const url = /[\u0000-\u0020\u007f\\]/.test(location) ? null : URL.parse(location, base);
  if (!url) throw refusedRedirect("it names no proper URL");
  url.hash = "";
  return url.href;
}

/** The request at the next hop, and how many headers it lost. */
export interface Redirected {
  readonly request: Outgoing;
  readonly headersStripped: number;
}

/**
 * The request for the next hop. A body goes again only to the same origin and only if it is known; another origin gets
 * nothing that could be a credential.
 */
export function redirectRequest(
  request: Outgoing,
  status: number,
  isSameOrigin: boolean,
): Redirected {
  const becomesGet = status === 303 && request.method !== "HEAD" ||
    (status === 301 || status === 302) && request.method === "POST";
  const method = becomesGet ? "GET" : request.method;
  const body = becomesGet ? undefined : request.body;
  if (body && !(body instanceof Uint8Array)) throw refusedRedirect("the request's body cannot be sent twice");
  if (!isSameOrigin && method !== "GET" && method !== "HEAD") {
    throw refusedRedirect(`it would send a ${method} to another origin`);
  }
  const kept = [...request.headers].filter(([name]) => {
    if (!body && name.startsWith("content-")) return false;
    return isSameOrigin || harmless.has(name);
  });
  const headers = new Headers(kept);
  const headersStripped = isSameOrigin ? 0 : [...request.headers].length - kept.length;
  return { request: { method, headers, ...(body ? { body } : {}) }, headersStripped };
}

/** A redirect that is not followed. */
export function refusedRedirect(what: string): HttpError {
  return new HttpError("http_redirect_refused", `Cannot follow a redirect: ${what}`);
}
