/** Whether the turn of a session waits since its model failed: read off the end of its journal, so that it costs little. */
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { TurnWait } from "../../schemas/recovery.ts";
import type { Records } from "../host/host.ts";

/** Entries that are looked at: while a turn waits, not much more than prompts that queue up behind it is written. */
const entriesMax = 64;

/** What the turn of a session waits for, as far as the last entries tell; undefined if it does not wait. */
export async function readStandingWait(
  records: Pick<Records, "readHead" | "readPages">,
  session: RootAddress,
): Promise<TurnWait | undefined> {
  const { seq } = await records.readHead(session);
  let wait: TurnWait | undefined;
  if (seq === 0) return undefined;
  for await (const page of records.readPages(session, Math.max(1, seq - entriesMax + 1))) {
    for (const entry of page) wait = waitAfter(wait, entry);
  }
  return wait;
}

function waitAfter(wait: TurnWait | undefined, { kind, type, body }: Entry): TurnWait | undefined {
  if (kind !== "note") return wait;
  if (type === "turn.waiting") return TurnWait.safeParse(body).data ?? wait;
  return type === "turn.wait_ended" ? undefined : wait;
}
