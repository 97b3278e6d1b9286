/**
 * What a session may read of the past: itself, or, where the host lets it and its call says so, all sessions of the same
 * owner (DM-130). The owner is compared while a stream is read: what belongs to nobody known, or to somebody else, is
 * never handed out (DM-129). There is no index: streams are read, newest first, within bounds.
 */
import type { RootRecord } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { JournalDamage } from "../journal/packed_value.ts";
import type { JournalReader } from "../journal/journal.ts";
import type { Clock } from "../seams.ts";
import type { ArchiveEnd, ArchiveWish, PastSession, SessionArchive } from "../tools/tool.ts";
import { HistoryFold } from "./history_fold.ts";

/** What an archive is made of. */
export interface ArchiveParts {
  readonly journal: Pick<JournalReader, "listRoots" | "readPages">;
  readonly clock: Clock;
  /** The session that asks. */
  readonly root: RootAddress;
  /** True if the host lets sessions read what else belongs to their owner. */
  readonly isOperators: boolean;
  /** Which call asks, for the record of what was read. */
  readonly ordinal: string;
  readonly note: (type: string, body: Json) => void;
}

/** Streams are left alone so long before the deadline of a call: what was found by then is still told. Milliseconds. */
const marginMs = 2_000;

/** What was read so far. */
interface Count {
  sessions: number;
  entries: number;
  unreadable: number;
}

/** Makes the archive of one call. Every use of it leaves a note that says what was read, and for whom. */
export function createSessionArchive(parts: ArchiveParts): SessionArchive {
  return {
    mayReadAll: parts.isOperators,
    read: (wish) => read(parts, wish),
  };
}

async function* read(parts: ArchiveParts, wish: ArchiveWish): AsyncGenerator<PastSession, ArchiveEnd> {
  const { root, isOperators, ordinal, note } = parts;
  const scope = wish.all && isOperators ? "operator" : "session";
  const count: Count = { sessions: 0, entries: 0, unreadable: 0 };
  let owner: string | undefined;
  try {
    owner = await ownerOf(parts, count);
    const records = scope === "session" || owner === undefined
      ? await recordsOf(parts, (address) => address === root)
      : await recordsOf(parts, (_, kind) => kind === "session");
    for (const record of records) {
      if (wish.only !== undefined && record.address !== wish.only) continue;
      const cut = cutBy(parts, wish, count);
      if (cut !== undefined) return { cut, unreadable: count.unreadable };
      const past = await pastOf(parts, record, { owner, count, wish });
      if (past !== undefined) yield past;
    }
    return { unreadable: count.unreadable };
  } finally {
    const who = owner === undefined ? {} : { owner };
    note("history.read", { ordinal, scope, ...who, sessions: count.sessions, entries: count.entries });
  }
}

/** Whom the asking session belongs to. Without an owner it sees itself alone. */
async function ownerOf({ journal, root }: ArchiveParts, count: Count): Promise<string | undefined> {
  const fold = new HistoryFold();
  for await (const [first] of journal.readPages(root)) {
    if (first !== undefined) fold.take(first);
    break;
  }
  count.entries += fold.entries;
  return fold.owner;
}

/** Newest first. */
async function recordsOf(
  { journal }: ArchiveParts,
  isWanted: (address: RootAddress, kind: string) => boolean,
): Promise<readonly RootRecord[]> {
  const records: RootRecord[] = [];
  for await (const record of journal.listRoots()) {
    if (isWanted(record.address, record.kind)) records.push(record);
  }
  return records.sort((left, right) =>
    right.createdAt - left.createdAt || (left.address < right.address ? 1 : -1)
  );
}

/** Why no further session is read; undefined if another one may be. */
function cutBy({ clock }: ArchiveParts, { signal, deadlineAtMs }: ArchiveWish, count: Count) {
  if (count.sessions >= limits.historySessionsMax) return `${limits.historySessionsMax} sessions were read`;
  if (count.entries >= limits.historyEntriesMax) return `${limits.historyEntriesMax} entries were read`;
  if (signal.aborted || clock.now() >= deadlineAtMs - marginMs) return "the time was over";
  return undefined;
}

/** One session, if it belongs to the owner. Between the pages of a stream others get their turn. */
async function pastOf(
  parts: ArchiveParts,
  { address, title }: RootRecord,
  { owner, count, wish }: {
    readonly owner: string | undefined;
    readonly count: Count;
    readonly wish: ArchiveWish;
  },
): Promise<PastSession | undefined> {
  const { journal, clock, root } = parts;
  const fold = new HistoryFold();
  let isCut = false;
  try {
    for await (const page of journal.readPages(address)) {
      for (const entry of page) fold.take(entry);
      const isOwned = address === root || (fold.owner !== undefined && fold.owner === owner);
      if (!isOwned) {
        count.entries += fold.entries;
        return undefined;
      }
      isCut = cutBy(parts, wish, { ...count, entries: count.entries + fold.entries }) !== undefined;
      if (isCut) break;
      await new Promise<void>((resolve) => clock.defer(resolve));
    }
  } catch (error) {
    if (!(error instanceof JournalDamage)) throw error;
    count.unreadable += 1;
    return undefined;
  }
  count.sessions += 1;
  count.entries += fold.entries;
  const { turns, beganAtMs, lastAtMs } = fold;
  return { address, title, turns, beganAtMs, lastAtMs, messages: fold.messages, isCut };
}
