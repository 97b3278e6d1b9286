/** Stories: every invocation of a run, put together from the journal and from the machines' own words. */
import { entryOf } from "../../actors/library.ts";
import { ruleKey } from "../../actors/policy/rule_key.ts";
import type { EntryRef } from "../../schemas/catalog.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { InvocationResult } from "../../schemas/invocation.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { loadShelved } from "../../src/effects/shelved.ts";
import type { JournalReader } from "../../src/journal/journal.ts";
import { CrankDesk } from "../../src/kernel/desk.ts";
import { CrankReader, feed } from "../../src/kernel/feed.ts";
import { LiveRoot } from "../../src/kernel/live_root.ts";
import { loadShelvedIn } from "../../src/kernel/wake.ts";
import { wireTelling } from "./poisonous.ts";
import { type Tool, toolNamed } from "./scenario.ts";

/** One intent of a call, where it stands, and the rule that would allow it for the session. */
export interface CallIntent {
  readonly id: string;
  readonly seq: number;
  readonly rule: string;
}

/** What a person decided, and where that stands. */
export interface Decided {
  readonly decision: string;
  readonly seq: number;
}

/** One invocation. */
export interface Story {
  readonly root: string;
  /** `turn/<n>/call/<step>.<i>`. */
  readonly name: string;
  /** Undefined if no effect was ever asked for. */
  tool: Tool | undefined;
  readonly intents: CallIntent[];
  /** Decisions of people about it, in order. */
  readonly decisions: Decided[];
  /** Rules that people allowed for the whole session, and where. */
  readonly grants: ReadonlyMap<string, number>;
  /** How it ended, as its turn saw it. */
  result: InvocationResult | undefined;
}

interface Question {
  readonly subject: { readonly kind: string; readonly invocation: string; readonly rule: string };
}

/** Puts together the invocations of one session. Replays it with machines that tell how each ended. */
export async function tellStories(
  reader: JournalReader,
  root: string,
  entries: readonly Entry[],
): Promise<Story[]> {
  const results = new Map<string, InvocationResult>();
  const desk = new CrankDesk();
  const wired = wireTelling(desk, (turn, result) => results.set(`turn/${turn}/${result.ordinal}`, result));
  const live = new LiveRoot(root, "session", wired.session, desk);
  const cranks = new CrankReader();
  const loader = { loadShelved: (hash: string) => loadShelved(reader, hash) };
  for (const entry of entries) {
    await loadShelvedIn(loader, entry);
    const crank = cranks.take(entry);
    if (crank !== undefined) feed(live, crank);
  }
  const rest = cranks.rest();
  if (rest !== undefined) feed(live, rest);
  const book = new Book(root);
  for (const entry of entries) book.take(entry);
  for (const [name, result] of results) book.storyOf(name).result = result;
  return [...book.stories.values()];
}

/** Reads one stream: calls with their intents, questions with their answers. */
class Book {
  readonly stories = new Map<string, Story>();
  readonly #root: string;
  readonly #questions = new Map<string, Question>();
  readonly #grants = new Map<string, number>();
  #turn = 0;

  constructor(root: string) {
    this.#root = root;
  }

  storyOf(name: string): Story {
    const found = this.stories.get(name);
    if (found !== undefined) return found;
    const [root, grants] = [this.#root, this.#grants];
    const story = { root, name, tool: undefined, intents: [], decisions: [], grants, result: undefined };
    this.stories.set(name, story);
    return story;
  }

  take(entry: Entry): void {
    if (entry.kind === "intent") this.#takeIntent(entry);
    if (entry.kind === "outcome" && entry.type === "question.ask") this.#takeAnswer(entry);
  }

  #takeIntent({ type, cause, seq, body }: Entry): void {
    const { n, args } = body as unknown as { readonly n: number; readonly args: JsonObject };
    const id = `${cause}.${n}`;
    // Turns of one session come one after another, so a call belongs to the turn that asked the model last.
    if (type === "model.generate") this.#turn = Number(args["turn"]);
    if (type === "question.ask") this.#questions.set(id, args as unknown as Question);
    if (type !== "tool.call") return;
    const ref = args["entry"] as unknown as EntryRef;
    const story = this.storyOf(`turn/${this.#turn}/${args["invocation"]}`);
    story.tool = toolNamed(ref.name);
    const entry = entryOf(ref);
    const rule = entry === undefined ? "" : ruleKey(entry, args["arguments"] as JsonObject);
    story.intents.push({ id, seq, rule });
  }

  #takeAnswer({ seq, body }: Entry): void {
    const { id, value } = body as { readonly id: string; readonly value?: { readonly decision: string } };
    const subject = this.#questions.get(id)?.subject;
    if (subject === undefined || value === undefined) return;
    this.storyOf(subject.invocation).decisions.push({ decision: value.decision, seq });
    const isGrant = value.decision === "always_allow_for_session" && !this.#grants.has(subject.rule);
    if (isGrant) this.#grants.set(subject.rule, seq);
  }
}
