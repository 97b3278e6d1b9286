/**
 * What is asked of a request before anything else of it counts: that it was meant for this server, and not sent by a
 * web page that somebody looks at (B01 to B05). Works on the headers as they came: what a URL says is not what was sent.
 */
import { ApiFailure } from "../api_failure.ts";

/** What came over the wire. */
export interface RawHead {
  readonly target: string;
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
}

/** Which names of this server count. */
export interface HeadGuard {
  /** As in `Host`, with the port. */
  readonly hosts: ReadonlySet<string>;
}

/** The names by which a server is reached that listens at a host and port. */
export function hostsOf(hostname: string, port: number): ReadonlySet<string> {
  const names = ["127.0.0.1", "localhost", "[::1]", hostname.includes(":") ? `[${hostname}]` : hostname];
  return new Set(names.flatMap((name) => [`${name}:${port}`, ...(port === 80 ? [name] : [])]));
}

/** The path and query of a request that may go on. Throws ApiFailure. */
export function checkHead({ target, rawHeaders }: RawHead, { hosts }: HeadGuard): string {
  const host = only(rawHeaders, "host");
  if (host === undefined || host === "") {
    throw new ApiFailure("host_missing", "A request needs exactly one header Host");
  }
  const path = pathOf(target, host);
  if (!hosts.has(host.toLowerCase())) {
    throw new ApiFailure("host_not_allowed", "This server does not go by that name: use its own address");
  }
  const origins = valuesOf(rawHeaders, "origin");
  if (origins.some((origin) => !origin.startsWith("http://") || !hosts.has(origin.slice("http://".length)))) {
    throw new ApiFailure("origin_not_allowed", "Web pages of other origins have no access");
  }
  const sites = valuesOf(rawHeaders, "sec-fetch-site");
  if (sites.some((site) => site !== "same-origin" && site !== "none")) {
    throw new ApiFailure("origin_not_allowed", "Web pages of other origins have no access");
  }
  return path;
}

/** The value of a header that came exactly once. */
export function only(rawHeaders: readonly string[], name: string): string | undefined {
  const [value, ...more] = valuesOf(rawHeaders, name);
  return more.length > 0 ? undefined : value;
}

function valuesOf(rawHeaders: readonly string[], name: string): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}

function pathOf(target: string, host: string): string {
  if (target.startsWith("/")) return target;
  const url = URL.parse(target);
  if (url === null || url.protocol !== "http:") {
    throw new ApiFailure("target_invalid", "What is asked for must be a path: /v1/...");
  }
  if (target.slice("http://".length).split(/[/?#]/)[0]?.toLowerCase() !== host.toLowerCase()) {
    throw new ApiFailure("host_mismatch", "The address and the header Host name different servers");
  }
  return `${url.pathname}${url.search}`;
}
