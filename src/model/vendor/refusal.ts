/** What a vendor's refusal means: a code of ours, by its status and its words (AR-25). Knows no vendor by name. */
import type { ModelErrorCode } from "../../../schemas/script.ts";

/** What is known of a refusal. A stream that is broken off by its vendor has no status of its own. */
export interface Refusal {
  readonly status?: number | undefined;
  /** The vendor's own words: the message with the type and the code of the error. */
  readonly text: string;
}

/** One way to tell a kind by its words. The first that fits counts. */
interface Sign {
  readonly code: ModelErrorCode;
  readonly words: RegExp;
  /** Statuses at which the words mean this; every one if absent. */
  readonly statuses?: readonly number[];
}

const contextWords = new RegExp(
  [
    "context_length_exceeded",
    "model_context_window_exceeded",
    "exceed_context_size",
    "maximum context length",
    "max(imum)? context window",
    "exceeds? (the )?(available |model'?s? )?(maximum )?context",
    "exceed context limit",
    "(prompt|input|request) (is|was) too long",
    "too many (input )?tokens for",
    "input token count .{0,80}exceeds",
    "input length .{0,80}exceeds",
    "requested tokens? .{0,40}exceeds?",
    "reduce the length of the (messages|input|prompt)",
    "request_too_large",
  ].join("|"),
  "i",
);

const signs: readonly Sign[] = [
  {
    code: "model_quota_exceeded",
    words:
      /insufficient_quota|insufficient[ _](credits?|funds|balance)|credit balance|billing_(hard_limit|not_active|error)|requires more credits|payment required/i,
  },
  { code: "model_rate_limited", words: /./s, statuses: [429] },
  {
    code: "model_login_failed",
    words: /api[_ ]key[_ ](not valid|invalid)|invalid[_ ]api[_ ]key|incorrect api key/i,
  },
  { code: "model_context_exceeded", words: contextWords },
  {
    code: "model_refused",
    words:
      /content[_ ](policy|filter|management policy)|flagged|moderation|responsible ?ai|safety (system|reasons)/i,
  },
  { code: "model_quota_exceeded", words: /(?:)/, statuses: [402] },
  { code: "model_login_failed", words: /(?:)/, statuses: [401, 403] },
  {
    code: "model_unknown",
    words: /model_not_found|(model|deployment) .{0,200}(does not exist|not found|is not available)/i,
  },
  { code: "model_unknown", words: /(?:)/, statuses: [404] },
  { code: "model_context_exceeded", words: /(?:)/, statuses: [413] },
  {
    code: "model_schema_unsupported",
    words:
      /function_?declarations?|input_schema|(invalid|unsupported|malformed).{0,40}schema|schema.{0,60}(invalid|not supported|unsupported)|tools?(\.|\[)\d+/i,
    statuses: [400, 422],
  },
  { code: "model_server_failed", words: /(?:)/, statuses: [408, 409, 425] },
  { code: "model_rate_limited", words: /rate[_ ]?limit|too many requests|resource_exhausted/i },
  {
    code: "model_server_failed",
    words: /overloaded|server_error|api_error|internal|unavailable|timeout|try again/i,
  },
  { code: "model_login_failed", words: /authentication_error|permission_(error|denied)|unauthenticated/i },
];

/** The code of a refusal. */
export function codeOf({ status, text }: Refusal): ModelErrorCode {
  for (const { code, words, statuses } of signs) {
    const isMeant = statuses === undefined || (status !== undefined && statuses.includes(status));
    // Words that tell how a server feels say nothing where a status says that the request is wrong.
    if (
      isMeant && words.test(text) && !(isOfServers(code) && isClientError(status) && statuses === undefined)
    ) {
      return code;
    }
  }
  if (status === undefined || status >= 500) return "model_server_failed";
  return "model_failed";
}

function isOfServers(code: ModelErrorCode): boolean {
  return code === "model_server_failed" || code === "model_rate_limited";
}

function isClientError(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500;
}

/** What the vendor says, in one line: the message with its type and code, from the JSON of its body. */
export function wordsOf(body: string): string {
  if (/^\s*<(!doctype|html)/i.test(body)) return "an HTML page";
  try {
    const found: string[] = [];
    gather(JSON.parse(body), found, 0);
    if (found.length > 0) return [...new Set(found)].join("; ");
  } catch {
    // No JSON: its text says what there is to say.
  }
  return body;
}

const told = new Set(["message", "type", "code", "status", "reason", "raw", "detail", "error"]);

/** Texts of the fields in which vendors say what is wrong, outermost first. */
function gather(value: unknown, found: string[], depth: number): void {
  if (depth > 6 || found.length > 20) return;
  if (Array.isArray(value)) {
    for (const one of value) gather(one, found, depth + 1);
  } else if (typeof value === "object" && value !== null) {
    for (const [name, one] of Object.entries(value)) {
      if (typeof one === "string" && told.has(name) && one.trim() !== "") found.push(one.trim());
      else if (typeof one === "object") gather(one, found, depth + 1);
    }
  }
}
