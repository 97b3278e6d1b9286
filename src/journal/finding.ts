/** What can be found in a store: how much it weighs, and what to do about it. */

/**
 * How much a finding weighs. `damage`: something that was written cannot be trusted (exit code 3). `attention`: nothing
 * is lost, and nobody sets it right by himself (exit code 1). `note`: good to know, the next start takes care of it.
 */
export type FindingWeight = "damage" | "attention" | "note";

interface FindingKind {
  readonly weight: FindingWeight;
  /** What to do, in a few words. */
  readonly advice: string;
}

const salvage = "copy what is sound: troupe doctor --salvage NEW";
const byItself = "nothing to do";

/** Every kind of finding. A snapshot is a cache, so that one that does not fit costs only time (K20). */
export const findingKinds = {
  file_damaged: { weight: "damage", advice: salvage },
  rows_unreadable: { weight: "damage", advice: salvage },
  value_damaged: { weight: "damage", advice: salvage },
  blob_damaged: { weight: "damage", advice: salvage },
  head_damaged: { weight: "damage", advice: salvage },
  record_damaged: { weight: "damage", advice: salvage },
  snapshot_unfit: { weight: "note", advice: `${byItself}: the stream is replayed instead` },

  open_row_missing: {
    weight: "attention",
    advice: "the next message to it wakes it: send one, or troupe cancel it",
  },
  open_row_idle: { weight: "note", advice: `${byItself}: a start looks at it in vain` },
  due_row_missing: { weight: "attention", advice: "its timer never fires: troupe cancel it" },
  due_row_idle: { weight: "note", advice: `${byItself}: a start fires it at nobody` },
  question_missing: { weight: "attention", advice: "nobody is shown it: troupe cancel the session" },
  question_orphaned: { weight: "note", advice: `${byItself}: nobody waits for an answer` },
  task_orphaned: { weight: "attention", advice: "it ends by itself; troupe tasks shows it" },
  scope_orphaned: { weight: "attention", advice: "salvage the store: nothing else frees what it holds" },
  child_orphaned: { weight: "attention", advice: "its parent is not there: troupe cancel it" },
  command_orphaned: { weight: "attention", advice: "a repeat is answered; what it did is in no entry" },
  reply_orphaned: { weight: "note", advice: `${byItself}: nobody can ask for it` },
  name_orphaned: { weight: "attention", advice: "who asks for this name gets nobody: use another name" },
  letter_lost: { weight: "note", advice: "nothing to do: the next start forgets it" },
  root_quarantined: { weight: "attention", advice: "troupe log shows what it did; begin another session" },
  root_cut: { weight: "note", advice: "its turn was stopped; look at what it did last before it goes on" },
  recovery_repeated: {
    weight: "attention",
    advice: "its recovery ended the process; after the third time it is quarantined",
  },
  blobs_orphaned: {
    weight: "note",
    advice: "they take space only: troupe doctor --sweep, twice a day apart",
  },
  lease_lapsed: { weight: "note", advice: "nothing to do: the next runtime takes it over" },
  lease_held: { weight: "note", advice: byItself },

  file_mode: { weight: "attention", advice: "others can read it: chmod 600; a start does it as well" },
  disk_low: { weight: "attention", advice: "free some space: a full disk refuses every write" },
  log_large: { weight: "note", advice: "a stop of its owner writes it back; doctor and backups read it too" },
  owner_gone: { weight: "note", advice: "nothing to do: the next start takes the store over" },
  process_left: { weight: "note", advice: "the next start of this store ends it" },
} as const satisfies { readonly [code: string]: FindingKind };

/** What was found. */
export type FindingCode = keyof typeof findingKinds;

/** One thing that was found: where, and at which entries. */
export interface Finding {
  /** A root, or what else of the store is meant. */
  readonly root: string;
  /** The entries that are meant; 0 if none are. */
  readonly first: number;
  readonly last: number;
  readonly code: FindingCode;
  readonly message: string;
}

/** A finding that concerns no entries. */
export function findingAt(root: string, code: FindingCode, message: string): Finding {
  return { root, first: 0, last: 0, code, message };
}

/** How much the worst of these weighs; undefined if there are none. */
export function worstOf(findings: readonly Pick<Finding, "code">[]): FindingWeight | undefined {
  const weights = new Set(findings.map(({ code }) => findingKinds[code].weight));
  return (["damage", "attention", "note"] as const).find((weight) => weights.has(weight));
}
