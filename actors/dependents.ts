/** Which roots of a session depend on which: what crashes is set right together with what depends on it, and no other. */
import { type RootAddress, type RootKind, rootKindOf, sessionOf } from "../schemas/ids.ts";

/** The kind that depends on each, in the same session. Leave one out and this does not compile. */
const dependents: { readonly [K in RootKind]: RootKind | undefined } = {
  connection: "catalog",
  catalog: "session",
  session: undefined,
  schedule: undefined,
  supervisor: undefined,
  task: undefined,
  audit: undefined,
};

/**
 * Whoever depends on a root: it is told when the root was restarted, or is out of service, and sets right what it has of
 * that one alone. It is never stopped for it: a catalog goes on for its other servers.
 */
export function dependentsOf(child: RootAddress): readonly RootAddress[] {
  const kind = rootKindOf(child);
  const dependent = kind === undefined ? undefined : dependents[kind];
  const session = sessionOf(child);
  if (dependent === undefined || session === undefined) return [];
  return [session.replace(/^session/, dependent)];
}
