/** Settles what a call yields that has been begun and has not ended: without secrets, or not at all. */
import type { CallPause, PausedCall, ServerRequest } from "../../schemas/call_pause.ts";
import { failure } from "../../schemas/failure.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { EffectClass } from "../../schemas/tool.ts";
import type { Redactor } from "../redact/redactor.ts";
import { head } from "../tools/visible.ts";
import { cleanFailure, cleanText, mayBeSecret } from "./clean.ts";
import type { PerformerResult } from "./performer.ts";
import { statusOfLost } from "./task_patience.ts";

const unkept = failure(
  "mcp_protocol_error",
  "The server goes on with the call, but names it by what looks like a secret, which is not written down: the call may " +
    "have been carried out, so check before repeating it",
);

/** The outcome of a call that goes on. One that could not be found again is in doubt. */
export function settlePause(
  pause: CallPause,
  { effect, redactor }: { readonly effect: EffectClass; readonly redactor: Redactor },
): PerformerResult {
  if (pause.type === "input_required") {
    const requests = pause.requests.map((request) => settleRequest(request, redactor));
    const value: PausedCall = { pause: { ...pause, requests } };
    return { status: "ok", value: value as unknown as Json };
  }
  const { message, ...handle } = pause;
  if (mayBeSecret(redactor, handle.id)) return { status: statusOfLost(effect, unkept), failure: unkept };
  const told = message === undefined ? undefined : cleanText(redactor, message, "operator");
  const kept = told === undefined ? {} : { message: told.slice(0, limits.mcpTaskMessageCharactersMax) };
  const value: PausedCall = { pause: { ...handle, ...kept } };
  return { status: "ok", value: value as unknown as Json };
}

/**
 * A request of a server or a tool: its words are shown without secrets. One whose fields hold what looks like a secret is refused
 * as a whole, since they must go back to the server as they came.
 */
function settleRequest(request: ServerRequest, redactor: Redactor): ServerRequest {
  if (request.kind === "refused") {
    return { ...request, why: cleanFailure(redactor, request.why) };
  }
  const { message: words, ...rest } = { message: "", ...request };
  const { findings, isWithheld } = redactor.json(rest, "durable");
  if (findings.length > 0 || isWithheld) {
    const why = "what is asked for holds what looks like a secret, so nobody is shown it";
    return { kind: "refused", key: request.key, why: failure("mcp_input_refused", why) };
  }
  if (request.kind === "sampling") return request;
  return {
    ...request,
    message: head(cleanText(redactor, words, "operator"), limits.formMessageCharactersMax),
  };
}
