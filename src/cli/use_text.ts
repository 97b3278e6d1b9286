/** Notes of what a call used while it ran, in one line for people. */
import { peekText } from "../peek.ts";

/** One use of a door by an authored tool. */
export function usedText(body: unknown): string {
  const what = ["ordinal", "door", "target"].map((key) => peekText(body, key)).join(" ");
  return `${what}: ${peekText(body, "outcome")}`;
}

/** One look into the past. */
export function historyText(body: unknown): string {
  const [ordinal, sessions, entries, scope, owner] = ["ordinal", "sessions", "entries", "scope", "owner"]
    .map((key) => peekText(body, key));
  return `${ordinal} ${sessions} sessions, ${entries} entries, scope ${scope}, of ${owner || "nobody known"}`;
}
