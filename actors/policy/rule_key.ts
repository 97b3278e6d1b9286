/** The rule that "always allow for this session" would add for a call. */
import type { CatalogEntry } from "../../schemas/catalog.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { canonicalJson } from "../../schemas/json.ts";

/** Longest rule, in characters: what a question can show. */
const ruleCharactersMax = 600;

/**
 * The rule of a call. For a tool without side effects its canonical name, so that one answer allows all its calls; for
 * every other the name and the exact arguments, since one mutation never authorises another (DM-38). Empty if that is
 * longer than 600 characters: no rule can then be added, and "always" allows this one call only. A rule is compared
 * whole; it is never a hash, which two sets of arguments might share.
 */
export function ruleKey(entry: CatalogEntry, callArguments: JsonObject): string {
  if (!entry.definition.sideEffects) return entry.canonicalName;
  const rule = `${entry.canonicalName} ${canonicalJson(callArguments)}`;
  return rule.length <= ruleCharactersMax ? rule : "";
}
