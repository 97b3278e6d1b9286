/** Keeps the conversations of awake sessions, and rebuilds one from the journal when it is asked for. */
import type { Entry } from "../../schemas/entry.ts";
import type { IntentId, RootAddress } from "../../schemas/ids.ts";
import { ToolReturn } from "../../schemas/invocation.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { ModelMessage } from "../../schemas/model.ts";
import type { TraceId } from "../../schemas/trace.ts";
import { Continuation } from "../../schemas/recovery.ts";
import { peek, peekText } from "../peek.ts";
import type { JournalReader } from "../journal/journal.ts";
import type { EntryObserver } from "../kernel/kernel.ts";
import type { Dropped } from "./compaction.ts";
import { ConversationFold } from "./conversation_fold.ts";
import type { ExposureFold } from "./exposure_fold.ts";

interface Kept {
  readonly fold: ConversationFold;
  /** Entries that came before the journal was read; undefined once it was. */
  tail: Entry[] | undefined;
  loading: Promise<void> | undefined;
}

/** The conversations of one runtime. */
export class Conversations implements EntryObserver {
  readonly #journal: JournalReader;
  readonly #kept = new Map<RootAddress, Kept>();

  constructor(journal: JournalReader) {
    this.#journal = journal;
  }

  observe(root: RootAddress, entries: readonly Entry[]): void {
    if (!root.startsWith("session/")) return;
    const kept = this.#keep(root, entries[0]?.seq === 1);
    if (kept.tail !== undefined) kept.tail.push(...entries);
    else for (const entry of entries) kept.fold.take(entry);
  }

  forget(root: RootAddress): void {
    this.#kept.delete(root);
  }

  /** The conversation up to an intent that is being carried out: everything that was written so far. */
  async transcript(root: RootAddress, _intent: IntentId): Promise<readonly ModelMessage[]> {
    return (await this.#loaded(root)).fold.messages.slice();
  }

  /** What a session's tools keep together, as it is after the last stage. The session was loaded before. */
  stateOf(root: RootAddress): JsonObject {
    const kept = this.#kept.get(root);
    if (kept === undefined || kept.tail !== undefined) throw new Error(`Cannot read the state of "${root}"`);
    return kept.fold.state;
  }

  /** The trace of a session's turn; undefined if it has none, or its conversation is not in memory. */
  traceOf(root: RootAddress): TraceId | undefined {
    return this.#kept.get(root)?.fold.trace;
  }

  /** Resolves once a session's journal was read; undefined if that is not needed. */
  load(root: RootAddress): Promise<unknown> | undefined {
    return this.#keep(root, false).tail === undefined ? undefined : this.#loaded(root);
  }

  /** What a session's exposure depends on; undefined if its conversation is not in memory. */
  exposureOf(root: RootAddress): ExposureFold | undefined {
    const kept = this.#kept.get(root);
    return kept === undefined || kept.tail !== undefined ? undefined : kept.fold.exposure;
  }

  /** The form that a session's answers must have; undefined also if its conversation is not in memory. */
  outputOf(root: RootAddress): JsonObject | undefined {
    const kept = this.#kept.get(root);
    return kept === undefined || kept.tail !== undefined ? undefined : kept.fold.output;
  }

  /** What the latest request of a session was made shorter by; empty if its conversation is not in memory. */
  droppedOf(root: RootAddress): readonly Dropped[] {
    const kept = this.#kept.get(root);
    return kept === undefined || kept.tail !== undefined ? [] : kept.fold.dropped;
  }

  /** True if a tool's whole result of this digest came back in the session. */
  async hasResult(root: RootAddress, digest: string): Promise<boolean> {
    return (await this.#loaded(root)).fold.results.has(digest);
  }

  /** The text that answered an intent, from memory if it is the latest, otherwise from the journal. */
  async answerText(root: RootAddress, intent: IntentId): Promise<string> {
    const last = this.#kept.get(root)?.fold.lastAnswer;
    if (last?.id === intent) return last.text;
    const { text, parts } = await this.#answerIn(root, intent);
    const before: string[] = [];
    for (const one of parts) before.push((await this.#answerIn(root, one)).text);
    return [...before, text].join("");
  }

  /** What answered one intent, and the answers that it goes on with, since they were cut off. */
  async #answerIn(
    root: RootAddress,
    intent: IntentId,
  ): Promise<{ readonly text: string; readonly parts: readonly IntentId[] }> {
    let parts: readonly IntentId[] = [];
    const from = Number(intent.split(".")[0]);
    for await (const { kind, cause, body } of this.#journal.readEntries(root, from)) {
      if (kind === "intent" && `${cause}.${peekText(body, "n")}` === intent) {
        parts = Continuation.safeParse(peek(body, "args", "continuation")).data?.parts ?? [];
      }
      if (kind === "outcome" && peekText(body, "id") === intent) {
        return { text: peekText(body, "value", "text"), parts };
      }
    }
    return { text: "", parts };
  }

  /** What a tool call yielded, by the intent of its effect; undefined if it yielded nothing. */
  async returnOf(root: RootAddress, intent: IntentId): Promise<ToolReturn | undefined> {
    const from = Number(intent.split(".")[0]);
    for await (const { kind, body } of this.#journal.readEntries(root, from)) {
      const outcome = body as { readonly id?: string; readonly value?: unknown } | undefined;
      if (kind === "outcome" && outcome?.id === intent) return ToolReturn.safeParse(outcome.value).data;
    }
    return undefined;
  }

  #keep(root: RootAddress, isNew: boolean): Kept {
    let kept = this.#kept.get(root);
    if (kept === undefined) {
      kept = {
        fold: new ConversationFold(),
        tail: isNew ? undefined : [],
        loading: undefined,
      };
      this.#kept.set(root, kept);
    }
    return kept;
  }

  async #loaded(root: RootAddress): Promise<Kept> {
    const kept = this.#keep(root, false);
    if (kept.tail === undefined) return kept;
    // Forgotten when it is over: a store that could not be read once may be read the next time.
    kept.loading ??= this.#load(root, kept).finally(() => kept.loading = undefined);
    await kept.loading;
    return kept;
  }

  async #load(root: RootAddress, kept: Kept): Promise<void> {
    for await (const page of this.#journal.readPages(root)) for (const entry of page) kept.fold.take(entry);
    for (const entry of kept.tail ?? []) kept.fold.take(entry);
    kept.tail = undefined;
  }
}
