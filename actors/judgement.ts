/** What the journal keeps of the checks of a call: one note, with the rules that decided and no argument (DM-31). */
import type { InvocationRequest } from "../schemas/invocation.ts";
import type { JsonObject } from "../schemas/json.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { Check, Verdict } from "./policy/authorize.ts";

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

function noteOf({ check, verdict, by, why }: Check): JsonObject {
  return {
    check,
    ...(by === "" ? {} : { by: by.slice(0, textCharactersMax) }),
    ...(verdict === "allow" ? {} : { verdict, why: why.slice(0, textCharactersMax) }),
  };
}
