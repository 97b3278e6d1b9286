/** Entries of the kernel's own: no machine hears of them, and replay skips them. */
import type { Entry } from "../../schemas/entry.ts";
import type { StoreKey } from "../journal/store.ts";
import type { Unit } from "../journal/unit.ts";
import type { EntryDraft } from "./compose.ts";
import { type Kernel, observe, tell } from "./kernel.ts";
import type { LiveRoot } from "./live_root.ts";
import { schedule } from "./pump.ts";

/** Writes a unit that begins with a note or a checkpoint of the kernel's own. */
export function writeNote(kernel: Kernel, root: LiveRoot, draft: EntryDraft, extra?: NoteExtra): void {
  const seq = root.seq + 1;
  const drafts = [draft, ...(extra?.drafts ?? [])];
  const at = kernel.seams.clock.now();
  const epoch = kernel.journal.ownership.epochOf(root.address);
  const entries: Entry[] = drafts.map((draft, index) => ({
    v: 1,
    seq: seq + index,
    at,
    ...draft,
    cause: seq,
    epoch,
  }));
  root.seq += entries.length;
  root.unwritten += 1;
  observe(kernel, root.address, entries);
  const unit: Unit = { root: root.address, entries, sets: extra?.sets ?? [], deletes: extra?.deletes ?? [] };
  kernel.journal.writer.push(unit, () => {
    root.unwritten -= 1;
    tell(kernel, { type: "entries", root: root.address, entries });
    extra?.onDurable?.();
    schedule(kernel);
  });
  if (extra?.onDurable !== undefined) kernel.journal.writer.urge();
}

/** What goes into a note's unit besides the note. */
export interface NoteExtra {
  readonly drafts?: readonly EntryDraft[];
  readonly sets?: readonly { readonly key: StoreKey; readonly value: unknown }[];
  readonly deletes?: readonly StoreKey[];
  readonly onDurable?: () => void;
}
