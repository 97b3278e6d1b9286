/** Calls that a person refused: for the rest of their turn nobody is asked about the same call again (AR-22..24). */
import type { CatalogEntry } from "../../schemas/catalog.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { InvocationRequest } from "../../schemas/invocation.ts";
import { canonicalJson, type JsonObject } from "../../schemas/json.ts";
import { entryOf } from "../library.ts";
import type { Check } from "./authorize.ts";

/**
 * Names a call by its tool and its exact arguments, in short: arguments may be long, and are kept nowhere but in the
 * journal. Two sums of 32 bits and the length; if two calls ever shared a name, the second would be refused unasked,
 * never allowed.
 */
export function refusalKey(entry: CatalogEntry, callArguments: JsonObject): string {
  const text = canonicalJson(callArguments);
  let [first, second] = [0x811c9dc5, 0x9747b28c];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    first = Math.imul(first ^ unit, 0x01000193);
    second = Math.imul(second ^ unit, 0x5bd1e995) ^ (second >>> 15);
  }
  return `${entry.canonicalName} ${text.length} ${hex(first)}${hex(second)}`;
}

/** The same for a request; undefined for one that has no entry, or no arguments. */
export function requestKey({ entry, arguments: given }: InvocationRequest): string | undefined {
  const found = entry === undefined ? undefined : entryOf(entry);
  return found === undefined || given === undefined ? undefined : refusalKey(found, given);
}

function hex(sum: number): string {
  return (sum >>> 0).toString(16).padStart(8, "0");
}

/** What is on record of a call that was refused before. */
export const refusedCheck: Check = {
  check: "refusal",
  verdict: "deny",
  by: "refused before",
  why: "A person refused this very call in this turn",
};

/** Why a call that was refused before is not made. */
export function refusedBefore(): Failure {
  return failure(
    "refused_before",
    "This call was refused before in this turn and is not asked about again. Do not repeat it",
  );
}
