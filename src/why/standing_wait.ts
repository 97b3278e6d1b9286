/** Whether the turn of a session waits since its model failed: read off the end of its journal, so that it costs little. */
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { TurnWait } from "../../schemas/recovery.ts";
import type { Records } from "../host/host.ts";

/** Entries that are looked at first: what follows a wait is mostly short. Each look after that goes four times as far back. */
const entriesFirst = 64;

/** What the turn of a session waits for; undefined if it does not wait. Reads back until an entry tells. */
export async function readStandingWait(
  records: Pick<Records, "readHead" | "readPages">,
  session: RootAddress,
): Promise<TurnWait | undefined> {
  const { seq } = await records.readHead(session);
  if (seq === 0) return undefined;
  for (let entries = entriesFirst;; entries *= 4) {
    const from = Math.max(1, seq - entries + 1);
    let told: Told | undefined;
    for await (const page of records.readPages(session, from)) {
      for (const entry of page) told = toldBy(entry) ?? told;
    }
    if (told !== undefined || from === 1) return told?.wait;
  }
}

/** What is known from an entry on. */
interface Told {
  readonly wait: TurnWait | undefined;
}

/** Whether a turn waits from this entry on; undefined for entries that are written during a wait too, and beside one. */
function toldBy({ kind, type, body }: Entry): Told | undefined {
  if (kind === "note" && type === "turn.waiting") {
    const wait = TurnWait.safeParse(body).data;
    return wait === undefined ? undefined : { wait };
  }
  // A turn that has just begun, or asks its model, waits for no person and no time.
  const isUnderWay = kind === "note" ? works.has(type) : kind === "intent" && type === "model.generate";
  return isUnderWay ? { wait: undefined } : undefined;
}

const works: ReadonlySet<string> = new Set(["turn.wait_ended", "tools.bound"]);
