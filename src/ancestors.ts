/** The sessions above a child agent's, as the records of roots tell. */
import type { RootRecord } from "../schemas/entry.ts";
import { type RootAddress, sessionOf } from "../schemas/ids.ts";
import { limits } from "../schemas/limits.ts";

/** Records of roots by address. */
export type RootRecords = Pick<ReadonlyMap<RootAddress, RootRecord>, "get">;

/** The session that a root belongs to, then the session of its parent, and so on up to the one that has none. */
export function sessionsAbove(records: RootRecords, root: RootAddress): readonly RootAddress[] {
  const found: RootAddress[] = [];
  let session = sessionOf(root);
  // The bound keeps an unreadable store from making a circle of it.
  while (session !== undefined && found.length <= limits.agentDepthMax && !found.includes(session)) {
    found.push(session);
    const task = records.get(session)?.parent;
    session = task === undefined ? undefined : sessionOf(task);
  }
  return found;
}

/** Titles from the topmost session down to the root's own; undefined for a root of a session that is no child's. */
export function pathOf(records: RootRecords, root: RootAddress): readonly string[] | undefined {
  const sessions = sessionsAbove(records, root);
  if (sessions.length < 2) return undefined;
  return sessions.map((session) => records.get(session)?.title ?? session).reverse();
}

/** A session and all below it, as they were begun. */
export function familyOf(roots: readonly RootRecord[], session: RootAddress): readonly RootRecord[] {
  const records = new Map(roots.map((root) => [root.address, root]));
  return roots.filter(({ kind, address }) =>
    kind === "session" && sessionsAbove(records, address).includes(session)
  ).sort((one, other) => one.createdAt - other.createdAt);
}
