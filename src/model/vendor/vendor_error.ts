/** What went wrong with a vendor's answer, as an error of ours: with a code, in one line, without the key. */
import { limits } from "../../../schemas/limits.ts";
import type { ModelErrorCode } from "../../../schemas/script.ts";
import { HttpError } from "../../net/http_error.ts";
import { ModelError } from "../provider.ts";
import { VendorRefusalError } from "./guarded_send.ts";
import { codeOf, wordsOf } from "./refusal.ts";
import { retryHintMs } from "./retry_hint.ts";

/** Of whom an error is told, and what must not be told. */
export interface ErrorScene {
  /** The provider's name in the configuration. */
  readonly provider: string;
  readonly model: string;
  /** Values that stand in no text. */
  readonly secrets: readonly string[];
  readonly nowMs: number;
  /** The tools of the request in their order: our names, and the vendor's. */
  readonly tools?: readonly { readonly name: string; readonly vendors: string }[];
}

/** What a failure on the way means. Every other one of the client's own is the operator's to mend. */
const onTheWay: { readonly [code: string]: ModelErrorCode } = {
  http_connect_failed: "model_unreachable",
  http_connection_lost: "model_unreachable",
  http_timed_out: "model_unreachable",
  http_busy: "model_unreachable",
  url_unresolved: "model_unreachable",
};

/** Makes our error of whatever a vendor package threw, or put into its stream. */
export function modelErrorOf(error: unknown, scene: ErrorScene): ModelError {
  const chain = [...causes(error)];
  const known = chain.find((one) => one instanceof ModelError);
  if (known !== undefined) return known;
  const http = chain.find((one) => one instanceof HttpError);
  if (http !== undefined) return ofConnection(http, scene);
  const refused = chain.find((one) => one instanceof VendorRefusalError);
  if (refused !== undefined) return ofRefusal(refused, scene);
  const words = wordsOf(textOf(error));
  if (isBroken(chain)) {
    return made("model_unreachable", `its answer is broken: ${shown(words, scene)}`, scene);
  }
  const status = statusOf(error);
  const code = codeOf({ status, text: words });
  const retryAfterMs = retryHintMs(new Headers(), words, scene.nowMs);
  return made(code, `it broke off its answer: ${shown(words, scene)}`, scene, { retryAfterMs });
}

function ofConnection(error: HttpError, scene: ErrorScene): ModelError {
  const code = onTheWay[error.code] ?? "model_failed";
  const hint = error.code === "url_blocked"
    ? `; set allow_private: true at the provider if it is meant`
    : error.code === "http_redirect_refused"
    ? "; set base_url to where it leads"
    : "";
  return made(code, `${error.message}${hint}`, scene);
}

function ofRefusal({ status, headers, body }: VendorRefusalError, scene: ErrorScene): ModelError {
  const words = wordsOf(body);
  // A server may say what is wrong in an answer that it calls well.
  const hasError = status !== 200 || /"error"\s*:\s*["{]/.test(body);
  if (!hasError) {
    return made(
      "model_failed",
      "it answers with something that is no stream of a model: correct base_url",
      scene,
    );
  }
  const told = Number(/"(?:code|status)"\s*:\s*(\d{3})\b/.exec(body)?.[1] ?? NaN);
  const meant = status === 200 && !Number.isNaN(told) ? told : status === 200 ? undefined : status;
  const code = codeOf({ status: meant, text: words });
  const text = `it answers ${meant ?? status}: ${shown(words, scene)}${hints[code] ?? ""}`;
  const retryAfterMs = retryHintMs(headers, body, scene.nowMs);
  return made(code, text, scene, {
    retryAfterMs,
    tool: code === "model_schema_unsupported" ? toolIn(words, scene) : undefined,
  });
}

/** The tool of which a vendor speaks: by its place in the request, or by its name. */
function toolIn(words: string, { tools = [] }: ErrorScene): string | undefined {
  const place = /function_?declarations\[(\d+)\]/i.exec(words) ?? /\btools?[.[](\d+)/.exec(words);
  if (place !== null) return tools[Number(place[1])]?.name;
  const named = tools.filter(({ vendors }) => new RegExp(`(?<![\\w-])${vendors}(?![\\w-])`).test(words));
  return named.length === 1 ? named[0]?.name : undefined;
}

const hints: { readonly [C in ModelErrorCode]?: string } = {
  model_unknown: "; correct base_url, or the name of the model",
  model_login_failed: "; correct its api_key",
};

function made(
  code: ModelErrorCode,
  what: string,
  scene: ErrorScene,
  more: { readonly retryAfterMs?: number | undefined; readonly tool?: string | undefined } = {},
): ModelError {
  const text = `The provider "${scene.provider}" did not answer for "${scene.model}": ${what}`;
  return new ModelError(code, withoutSecrets(text, scene), more);
}

/** One line of the vendor's words, without what must not be told. */
function shown(words: string, scene: ErrorScene): string {
  const line = withoutSecrets(words.replace(/\s+/g, " ").trim(), scene);
  return line.slice(0, limits.vendorErrorCharactersMax) || "without a word";
}

function withoutSecrets(text: string, { secrets }: ErrorScene): string {
  return secrets.reduce(
    (clean, secret) => secret === "" ? clean : clean.replaceAll(secret, "[redacted]"),
    text,
  );
}

function* causes(error: unknown): Iterable<Error> {
  let next = error;
  for (let depth = 0; depth < 8 && next instanceof Error; depth++) {
    yield next;
    next = next.cause;
  }
}

/** True if the stream ended, or said what is no event, before the answer was whole. */
function isBroken(chain: readonly Error[]): boolean {
  return chain.some(({ name, message }) =>
    /JSONParseError|TypeValidationError|InvalidResponseDataError|NoContentGenerated|EmptyResponseBody/.test(
      name,
    ) ||
    /without a finish reason/.test(message)
  );
}

/** The words of an error: those of an `Error`, or those of a vendor's own form of one. */
function textOf(error: unknown): string {
  if (typeof error === "string") return error;
  if (!(error instanceof Error)) return safeJson(error);
  const body = Reflect.get(error, "responseBody");
  return typeof body === "string" && body !== "" ? body : error.message;
}

function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

/** The status that the vendor gives an error in its stream: some write one as its code. */
function statusOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  for (const name of ["statusCode", "status", "code"]) {
    const value = Number(Reflect.get(error, name));
    if (Number.isInteger(value) && value >= 400 && value < 600) return value;
  }
  return undefined;
}
