/** Which agents a caller can see: his own with their children, or all. Of others he cannot even ask. */
import type { RootRecord } from "../../schemas/entry.ts";
import { type RootAddress, rootKindOf, sessionOf } from "../../schemas/ids.ts";
import { localOperator, principalText } from "../../schemas/principal.ts";
import { type RootRecords, sessionsAbove } from "../ancestors.ts";
import { notFound } from "./api_failure.ts";
import type { ApiCallContext } from "./api_parts.ts";
import { type Caller, seesAll } from "./caller.ts";

/** Who an agent belongs to: whoever began the session at the top of its family. */
export function ownerOf(records: RootRecords, root: RootAddress): string | undefined {
  const top = sessionsAbove(records, root).at(-1);
  const record = top === undefined ? undefined : records.get(top);
  return record === undefined ? undefined : record.owner ?? principalText(localOperator);
}

/** True if a caller may know that a root is there. */
export function isVisible(records: RootRecords, caller: Caller, root: RootAddress): boolean {
  const owner = ownerOf(records, root);
  return owner !== undefined && (seesAll(caller) || owner === principalText(caller.principal));
}

/** The record of a session that the caller can see. Whatever else is asked for is not there. */
export function sessionFor({ parts, caller }: ApiCallContext, address: RootAddress): RootRecord {
  const { records } = parts.runtime.kernel;
  const record = rootKindOf(address) === "session" ? records.get(address) : undefined;
  if (record === undefined || !isVisible(records, caller, address)) throw notFound();
  return record;
}

/** The session of the parent, if it is a child agent's. */
export function parentSession({ parent }: RootRecord): RootAddress | undefined {
  return parent === undefined ? undefined : sessionOf(parent);
}
