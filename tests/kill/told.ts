/** What a client ordered, and was told: the ledger of acknowledgements in memory. */
import type { Entry } from "../../schemas/entry.ts";
import { canonicalJson } from "../../schemas/json.ts";
import type { Decision } from "../../schemas/question.ts";
import { throughJson } from "../../src/canonical.ts";

/** One turn that was ordered. */
export interface Ticket {
  readonly part: string;
  readonly key: string;
  readonly text: string;
  isAccepted: boolean;
  /** The report of its end, as canonical JSON. */
  reply: string | undefined;
}

/** An answer that was given to a doubt. */
export interface Settled {
  readonly id: string;
  readonly decision: Decision;
}

/** Where an entry stands. */
export function placeOf(root: string, seq: number): string {
  return `${root} ${seq}`;
}

/** An entry as it is compared: what a journal must hold for ever. The hash of its state is the writer's own. */
export function entryText(entry: Entry): string {
  return canonicalJson(throughJson({ ...entry, blob: undefined, state: undefined }) as never);
}
