/** Which session a person means. */
import { RootAddress } from "../../schemas/ids.ts";
import type { RootRecord } from "../../schemas/entry.ts";
import type { Host } from "../host/host.ts";
import { UsageError } from "./exit.ts";

/**
 * The record that `name` means: an id (`ses_…`), an address (`session/ses_…`, also of another kind of root), an
 * unambiguous beginning or end of an id, or `last`, the newest session that is no child agent's.
 */
export async function findSession(host: Host, name: string): Promise<RootRecord> {
  const roots = await host.listRoots();
  const sessions = roots.filter((root) => root.kind === "session");
  if (name === "last") {
    const last = sessions.findLast(({ parent }) => parent === undefined);
    if (last !== undefined) return last;
    throw new UsageError("root_not_found", "There is no session yet: start one with troupe run");
  }
  const address = name.includes("/") ? name : `session/${name}`;
  const exact = RootAddress.safeParse(address).success
    ? roots.find((root) => root.address === address)
    : undefined;
  if (exact !== undefined) return exact;
  const near = name.includes("/") ? [] : sessions.filter((root) => isPartOf(name, root.address));
  if (near.length === 1 && near[0] !== undefined) return near[0];
  const why = near.length > 1 ? `${near.length} sessions fit` : "there is no such session";
  throw new UsageError("root_not_found", `Cannot find ${JSON.stringify(name)}: ${why}; see troupe sessions`);
}

/** At least four characters, so that a slip of the finger does not pick a session. */
function isPartOf(name: string, address: string): boolean {
  const id = address.slice("session/".length);
  return name.length >= 4 && (id.startsWith(name) || id.endsWith(name.toUpperCase()));
}
