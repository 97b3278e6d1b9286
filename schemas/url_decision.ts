/** What was decided about a URL before anything was sent to it, in the words of the audit: no path, no query, no user. */
import { z } from "zod";

/** Why a URL was refused, or that it was allowed (DM-78). */
export const UrlReason = z.enum([
  "allowed",
  "invalid_url",
  "unsupported_scheme",
  "unsupported_port",
  "missing_hostname",
  "metadata_hostname",
  "private_hostname",
  "dns_failure",
  "dns_no_addresses",
  "dns_invalid_address",
  "metadata_address",
  "private_address",
  "non_routable_address",
]);
/** Why a URL was refused, or that it was allowed. */
export type UrlReason = z.infer<typeof UrlReason>;

/** What kind of address this is; `local_name` and `metadata` are kinds of names too. */
export const HostKind = z.enum([
  "public",
  "loopback",
  "private",
  "shared",
  "unique_local",
  "link_local",
  "metadata",
  "unspecified",
  "multicast",
  "reserved",
  "documentation",
  "special_use",
  "local_name",
]);
/** What kind of address or name this is. */
export type HostKind = z.infer<typeof HostKind>;

/** One decision about one hop of a request. Carries no user info, path, query or fragment (DM-77). */
export const UrlDecision = z.strictObject({
  /** `redirect` for every hop after the first. */
  phase: z.enum(["request", "redirect"]),
  reason: UrlReason,
  kind: HostKind.optional(),
  /** `https` or another scheme; absent where the text is no URL. */
  scheme: z.string().max(64).optional(),
  host: z.string().max(256).optional(),
  port: z.int().min(0).max(65_535).optional(),
  /** Headers that were not carried over to this hop, because it lies elsewhere (B80). */
  headersStripped: z.int().min(0).default(0),
});
/** One decision about one hop of a request. */
export type UrlDecision = z.infer<typeof UrlDecision>;
