/** One question to a server of a login: bounded, by the guarded client, and never answered by another origin. */
import { limits } from "../../../schemas/limits.ts";
import { HttpError } from "../../net/http_error.ts";
import type { GuardedClient } from "../../net/guarded_client.ts";
import { authFailed, authUnavailable } from "./auth_error.ts";

/** A request under the host's URL policy. */
export type GuardedFetch = GuardedClient["fetch"];

/** What is asked. */
export interface Question {
  readonly fetch: GuardedFetch;
  readonly url: string;
  /** What it is, for messages: `the metadata of "docs"`. */
  readonly what: string;
  readonly method?: "GET" | "POST";
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

/** What came back. */
export interface JsonAnswer {
  readonly status: number;
  /** Undefined if it is no JSON. */
  readonly body: unknown;
}

const bounds = {
  totalMs: limits.oauthRequestMs,
  headersMs: limits.oauthRequestMs,
  idleMs: limits.oauthRequestMs,
  bodyBytesMax: limits.oauthAnswerBytesMax,
} as const;

/** What time alone may mend. */
const passing = new Set([
  ...[
    "http_timed_out",
    "http_connect_failed",
    "http_connection_lost",
    "http_busy",
    "url_unresolved",
    "resource_exhausted",
  ],
]);

/** Asks, and reads the whole answer. Throws `AuthError`: where there is none, or where it comes from elsewhere. */
export async function askJson(question: Question): Promise<JsonAnswer> {
  const { what, signal } = question;
  try {
    const response = await follow(question);
    const text = await response.text();
    return { status: response.status, body: parse(text) };
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (!(error instanceof HttpError)) throw error;
    const why = `Cannot read ${what}: ${error.message} (${error.code})`;
    throw passing.has(error.code) ? authUnavailable(why, error) : authFailed(why);
  }
}

/** A question that changes nothing is asked again where the same origin sends it to; no other is. */
async function follow({ fetch, url: first, what, method = "GET", headers, body, signal }: Question) {
  let url = first;
  for (let hops = 0;; hops++) {
    const init = {
      method,
      headers: { accept: "application/json", ...headers },
      redirect: "manual",
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    } as const;
    const response = await fetch(url, init, bounds);
    if (response.status < 300 || response.status > 399) return response;
    await response.body?.cancel();
    const next = URL.parse(response.headers.get("location") ?? "", url);
    if (method !== "GET") {
      throw authFailed(`Cannot read ${what}: its server redirects what must not be redirected`);
    }
    if (next === null || next.origin !== new URL(url).origin) {
      throw authFailed(`Cannot read ${what}: its server redirects to another origin`);
    }
    if (hops >= limits.oauthRedirectsMax) {
      throw authFailed(`Cannot read ${what}: its server redirects too often`);
    }
    url = next.href;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
