/** What the journal keeps of the checks of a call: one note, with the rules that decided and no argument (DM-31). */
import type { InvocationRequest } from "../schemas/invocation.ts";
import type { JsonObject } from "../schemas/json.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { Authorization, Check, Verdict } from "./policy/authorize.ts";

/** Longest words of a note, in characters. */
const textCharactersMax = 300;
const nameCharactersMax = 256;

/** Arguments that do not fit. What is wrong with them is told to the model; it may be their values. */
export const schemaDenial: Check = {
  check: "schema",
  verdict: "deny",
  by: "schema",
  why: "The arguments do not fit",
};

/** A name that the turn's catalog does not have. */
export const nameDenial: Check = {
  check: "enabled",
  verdict: "deny",
  by: "catalog",
  why: "No tool of the turn has this name",
};

/**
 * The note of one call, written once, with the unit that decided. Checks come in their order, which is fixed, so those
 * that passed because nothing had to decide are left out; of the others that passed only the rule is told.
 */
export function judgedNote(
  request: InvocationRequest,
  verdict: Verdict,
  checks: readonly Check[],
): Outgoing {
  const told = checks.filter(({ verdict, by }) => verdict !== "allow" || by !== "").map(noteOf);
  const body: JsonObject = {
    ordinal: request.ordinal,
    tool: (request.entry?.name ?? request.name).slice(0, nameCharactersMax),
    ...(request.bindingAttempt === undefined || request.bindingAttempt === 1
      ? {}
      : { attempt: request.bindingAttempt }),
    verdict,
    ...(told.length === 0 ? {} : { checks: told }),
  };
  return { kind: "note", type: "invocation.judged", body };
}

/**
 * The note of a call that an approval policy decides about without asking anybody now: an earlier answer covers it
 * (`cached`), or a rule answers in a person's place (`automatic`). Undefined if nobody had to approve anything (DM-40).
 */
export function approvalNote(request: InvocationRequest, judged: Authorization): Outgoing | undefined {
  const { grant, isAutomatic = false, checks, failure } = judged;
  const denial = checks.find(({ check, verdict }) =>
    verdict === "deny" && (check === "approval" || check === "shown")
  );
  if (grant === undefined && !isAutomatic && denial === undefined) return undefined;
  const body: JsonObject = {
    ordinal: request.ordinal,
    tool: (request.entry?.name ?? request.name).slice(0, nameCharactersMax),
    decision: denial === undefined ? "allow" : "deny",
    cached: grant !== undefined,
    automatic: grant === undefined,
    ...(grant === undefined ? {} : { by: { ...grant.by } }),
    ...(denial === undefined || failure === undefined ? {} : { code: failure.code }),
  };
  return { kind: "note", type: denial === undefined ? "approval.decided" : "approval.denied", body };
}

function noteOf({ check, verdict, by, why }: Check): JsonObject {
  return {
    check,
    ...(by === "" ? {} : { by: by.slice(0, textCharactersMax) }),
    ...(verdict === "allow" ? {} : { verdict, why: why.slice(0, textCharactersMax) }),
  };
}
