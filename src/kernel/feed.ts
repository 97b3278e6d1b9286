/** Feeds recorded cranks to a machine and compares what it asks with what was recorded: recovery and replay in one. */
import { migrateState, type StateFormats, stateFormats } from "../../actors/migrate.ts";
import type { CheckpointBody, Entry } from "../../schemas/entry.ts";
import type { IntentId } from "../../schemas/ids.ts";
import { messageTypes } from "../../schemas/message.ts";
import type { Json } from "../../schemas/json.ts";
import { isSameJson } from "../canonical.ts";
import { compose, type EntryDraft } from "./compose.ts";
import type { Beginning, LiveRoot } from "./live_root.ts";

/** The first place where a machine did something else than the journal says. */
export interface Divergence {
  readonly address: string;
  readonly seq: number;
  readonly what: string;
  readonly expected: Json;
  readonly got: Json;
}

/** One recorded crank: the entry that began it and those that it caused. */
export interface RecordedCrank {
  readonly first: Entry;
  readonly rest: readonly Entry[];
}

/** Groups entries into cranks by their cause, as they come; a crank is complete when the next one begins. */
export class CrankReader {
  #open: Entry[] = [];

  /** Takes the next entry; returns the crank that it completes, if it begins another. */
  take(entry: Entry): RecordedCrank | undefined {
    if (entry.cause !== entry.seq) {
      this.#open.push(entry);
      return undefined;
    }
    const done = this.rest();
    this.#open = [entry];
    return done;
  }

  /** The crank that is still open, at the end of the entries. */
  rest(): RecordedCrank | undefined {
    const [first, ...rest] = this.#open;
    this.#open = [];
    return first === undefined ? undefined : { first, rest };
  }
}

/**
 * Runs one recorded crank through the root's machine. Nothing is performed and nothing written. Returns the first
 * divergence, or undefined if the machine did exactly what was recorded. Notes and checkpoints of the kernel are
 * skipped, but for what they say of attempts. `known`: types of messages that the machine takes; null for any.
 */
export function feed(
  root: LiveRoot,
  crank: RecordedCrank,
  known: ReadonlySet<string> | null = messageTypes[root.kind],
): Divergence | undefined {
  const { first, rest } = crank;
  root.seq = (rest.at(-1) ?? first).seq;
  // A machine leaves alone what it does not know, and would go on in another state than the one that wrote this (B128).
  if (first.kind === "input" && known?.has(first.type) === false) {
    return diverged(
      root,
      first.seq,
      `a message of the type "${first.type}" (entry version ${first.v}) is known`,
      [
        first.type,
        "this release has no such message",
      ],
    );
  }
  if (first.kind === "note" || first.kind === "checkpoint") {
    noteAttempt(root, first);
    return undefined;
  }
  if (first.kind !== "created" && first.kind !== "input" && first.kind !== "outcome") {
    return diverged(root, first.seq, "a crank begins with this kind of entry", [
      "created, input or outcome",
      first.kind,
    ]);
  }
  if (first.kind === "outcome") {
    const id = (first.body as { readonly id?: IntentId }).id ?? "";
    if (!root.ports.has(id)) {
      return diverged(root, first.seq, "the machine waits for this outcome", [id, waitingFor(root)]);
    }
  }
  const { kind, seq, at, epoch, body = null } = first;
  const beginning: Beginning = { kind, seq, at, epoch, body };
  const record = root.deliver(beginning);
  if (record.fault !== undefined) {
    return diverged(root, first.seq, "the machine takes the message", ["no fault", record.fault.message]);
  }
  return compare(root, compose(record), rest);
}

function waitingFor(root: LiveRoot): string {
  return `only ${[...root.ports.keys()].join(", ") || "nothing"} is waited for`;
}

function compare(
  root: LiveRoot,
  drafts: readonly EntryDraft[],
  rest: readonly Entry[],
): Divergence | undefined {
  const length = Math.max(drafts.length, rest.length);
  for (let index = 0; index < length; index++) {
    const draft = drafts[index];
    const entry = rest[index];
    if (entry === undefined) {
      const seq = (rest.at(-1)?.seq ?? root.seq) + 1;
      return diverged(root, seq, "the machine asks no more than was recorded", [null, shown(draft)]);
    }
    if (draft === undefined) {
      return diverged(root, entry.seq, "the machine asks what was recorded", [shown(entry), null]);
    }
    if (draft.kind !== entry.kind || draft.type !== entry.type || !isSameJson(draft.body, entry.body)) {
      return diverged(root, entry.seq, `the machine's ${entry.kind} is the recorded one`, [
        shown(entry),
        shown(draft),
      ]);
    }
  }
  return undefined;
}

function shown(draft: EntryDraft | Entry | undefined): Json {
  return draft === undefined ? null : { kind: draft.kind, type: draft.type, body: draft.body ?? null };
}

function diverged(
  root: LiveRoot,
  seq: number,
  what: string,
  sides: readonly [expected: Json, got: Json],
): Divergence {
  return { address: root.address, seq, what, expected: sides[0], got: sides[1] };
}

/** A note `attempt` raises the count of its intent, so that a crash loop cannot buy new attempts (K7). */
export function noteAttempt(root: LiveRoot, entry: Entry): void {
  if (entry.kind !== "note" || entry.type !== "attempt") return;
  const { id, attempt } = entry.body as { readonly id: IntentId; readonly attempt: number };
  if (root.ports.has(id)) root.attempts.set(id, attempt);
}

/** Restores a root from a checkpoint entry: truth, not cache (K21). */
export function feedCheckpoint(
  root: LiveRoot,
  entry: Entry,
  formats: StateFormats = stateFormats,
): Divergence | undefined {
  const body = entry.body as unknown as CheckpointBody;
  root.seq = entry.seq;
  let state: Json;
  try {
    state = migrateState(body.state, body.stateVersion, formats[root.kind]);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return diverged(root, entry.seq, "the checkpoint's state is one that this release knows", [
      "no fault",
      why,
    ]);
  }
  const record = root.restore(state);
  if (record.fault !== undefined) {
    return diverged(root, entry.seq, "the checkpoint fits the machine", ["no fault", record.fault.message]);
  }
  const open = root.shape().open;
  if (isSameJson([...open].sort(), [...body.open].sort())) return undefined;
  return diverged(root, entry.seq, "the checkpoint's open intents", [body.open, open]);
}
