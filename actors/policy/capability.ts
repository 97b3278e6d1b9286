/** What an agent may do: which of its capabilities, if any, grants what a tool needs (DM-26, DM-27, DM-29). */

/** Bound by exact name only: no wildcard ever hands out a secret (DM-27). */
const exactOnly = "secret.bind:";

/**
 * The capability that grants `wanted`: the same one, or else the wildcard behind its colon, `mcp.call:*` for
 * `mcp.call:docs`. Undefined if none does: what is only declared by a tool or server grants nothing (DM-29).
 * `secret.bind:<NAME>` is granted by exactly itself.
 */
export function matchCapability(granted: readonly string[], wanted: string): string | undefined {
  if (wanted.endsWith(":*")) return undefined; // Nothing may need everything.
  if (granted.includes(wanted)) return wanted;
  const colon = wanted.indexOf(":");
  if (colon < 0 || wanted.startsWith(exactOnly)) return undefined;
  const wildcard = `${wanted.slice(0, colon)}:*`;
  return granted.includes(wildcard) ? wildcard : undefined;
}
