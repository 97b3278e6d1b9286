/** Settles what a call yields that has been begun and has not ended: without secrets, or not at all. */
import type { CallPause, PausedCall } from "../../schemas/call_pause.ts";
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import type { EffectClass } from "../../schemas/tool.ts";
import type { Redactor } from "../redact/redactor.ts";
import { cleanText, mayBeSecret } from "./clean.ts";
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
  const { message, ...handle } = pause;
  if (mayBeSecret(redactor, handle.id)) return { status: statusOfLost(effect, unkept), failure: unkept };
  const told = message === undefined ? undefined : cleanText(redactor, message, "operator");
  const kept = told === undefined ? {} : { message: told.slice(0, limits.mcpTaskMessageCharactersMax) };
  const value: PausedCall = { pause: { ...handle, ...kept } };
  return { status: "ok", value };
}
