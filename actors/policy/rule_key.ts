/** The rule that "always allow for this session" would add for a call. */
import type { CatalogEntry } from "../../schemas/catalog.ts";
import type { CommandReview } from "../../schemas/command_review.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { canonicalJson } from "../../schemas/json.ts";
import { bindsSecrets, identityOf } from "./command_check.ts";
import { holdsCommand, runsAnything } from "./offer.ts";

/** Longest rule, in characters: what a question can show. */
const ruleCharactersMax = 600;

/**
 * The rule of a call. For a tool without side effects its canonical name, so that one answer allows all its calls; for
 * every other, and for every command, the name and the exact arguments, since one mutation never authorises another
 * (DM-38). Empty if that is longer than 600 characters, and for interpreters and wrappers, where it would not say what
 * is run (B20): no rule can then be added, so "always" is not offered. A rule is compared whole; it is never a hash,
 * which two sets of arguments might share; where arguments do not say what is run, the hash of all that decides it is
 * added (DM-95).
 */
export function ruleKey(entry: CatalogEntry, callArguments: JsonObject, review?: CommandReview): string {
  if (runsAnything(entry, callArguments)) return "";
  const isForAll = !entry.definition.sideEffects && !holdsCommand(callArguments);
  return isForAll ? entry.canonicalName : exactKey(entry, callArguments, review);
}

/**
 * Name and exact arguments of a call: what makes another one identical (DM-37). Empty if longer than 600 characters, and
 * for a command that is given secrets: each is approved for itself.
 */
export function exactKey(entry: CatalogEntry, callArguments: JsonObject, review?: CommandReview): string {
  if (bindsSecrets(entry, callArguments)) return "";
  const key = `${entry.canonicalName} ${canonicalJson(callArguments)}${identityOf(review)}`;
  return key.length <= ruleCharactersMax ? key : "";
}
