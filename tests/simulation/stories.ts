/** Stories: every invocation of a run, put together from the journal and from the machines' own words. */
import { entryOf } from "../../actors/library.ts";
import { previewArguments } from "../../actors/preview.ts";
import { ruleKey } from "../../actors/policy/rule_key.ts";
import type { CatalogRef, EntryRef } from "../../schemas/catalog.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { InvocationResult } from "../../schemas/invocation.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { type Tool, toolNamed } from "./scenario.ts";

/** One intent of a call, where it stands, what it would do, and what an answer for the session must be about. */
export interface CallIntent {
  readonly id: string;
  readonly seq: number;
  readonly at: number;
  readonly epoch: number;
  readonly rule: string;
  readonly entry: string | undefined;
  /** As a person would be shown it. */
  readonly shown: string;
}

/** What a person decided, where that stands, and what had been shown. */
export interface Decided {
  readonly decision: string;
  readonly seq: number;
  readonly shown: string;
}

/** What a person allowed for the whole session: until the process ends, the tool changes, or 8 hours are over. */
export interface GivenGrant {
  readonly rule: string;
  readonly entry: string | undefined;
  readonly epoch: number;
  readonly at: number;
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
  /** What people allowed for the whole session. */
  readonly grants: readonly GivenGrant[];
  /** How it ended, as its turn saw it. */
  result: InvocationResult | undefined;
}

interface Subject {
  readonly kind: string;
  readonly invocation: string;
  readonly tool: string;
  readonly rule: string;
  readonly preview: string;
}

interface Question {
  readonly subject: Subject;
  readonly epoch: number;
  /** Hash of the entry of its tool, in the catalog of its turn. */
  readonly entry: string | undefined;
}

/** How the invocations of a session ended, by name, as its replay told. */
export type Results = ReadonlyMap<string, InvocationResult>;

/** Puts together the invocations of one session. */
export function tellStories(root: string, entries: readonly Entry[], results: Results): Story[] {
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
  readonly #grants: GivenGrant[] = [];
  /** The question that each invocation began, and those that wait for an answer to another's. */
  readonly #asked = new Map<string, string>();
  readonly #sharers = new Map<string, string[]>();
  #turn = 0;
  #catalog = "";

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
    if (entry.kind === "note" && entry.type === "approval.requested") this.#takeRequest(entry);
  }

  #takeRequest({ body }: Entry): void {
    const { turn, ordinal, question, shared } = body as unknown as {
      readonly turn: number;
      readonly ordinal: string;
      readonly question: string;
      readonly shared?: true;
    };
    const name = `turn/${turn}/${ordinal}`;
    if (shared === undefined) this.#asked.set(name, question);
    else this.#sharers.set(question, [...this.#sharers.get(question) ?? [], name]);
  }

  #takeIntent({ type, cause, seq, at, epoch, body }: Entry): void {
    const { n, args } = body as unknown as { readonly n: number; readonly args: JsonObject };
    const id = `${cause}.${n}`;
    // Turns of one session come one after another, so a call belongs to the turn that asked the model last.
    if (type === "model.generate") {
      this.#turn = Number(args["turn"]);
      this.#catalog = (args["catalog"] as unknown as CatalogRef).hash;
    }
    if (type === "question.ask") {
      const subject = args["subject"] as unknown as Subject;
      const entry = entryOf({ catalog: this.#catalog, name: subject.tool })?.hash;
      this.#questions.set(id, { subject, epoch, entry });
    }
    if (type !== "tool.call" && type !== "mcp.call") return;
    const ref = args["entry"] as unknown as EntryRef;
    const story = this.storyOf(`turn/${this.#turn}/${args["invocation"]}`);
    story.tool = toolNamed(ref.name);
    const entry = entryOf(ref);
    const given = args["arguments"] as JsonObject;
    const rule = entry === undefined ? "" : ruleKey(entry, given);
    const shown = previewArguments(given);
    story.intents.push({ id, seq, at, epoch, rule, entry: entry?.hash, shown });
  }

  #takeAnswer({ seq, at, epoch, body }: Entry): void {
    const { id, value } = body as { readonly id: string; readonly value?: { readonly decision: string } };
    const question = this.#questions.get(id);
    if (question === undefined || value === undefined) return;
    const { subject: { kind, invocation, rule, preview }, entry } = question;
    const { decision } = value;
    const sharers = kind === "approval" ? this.#sharers.get(this.#asked.get(invocation) ?? "") ?? [] : [];
    for (const name of [invocation, ...sharers]) {
      this.storyOf(name).decisions.push({ decision, seq, shown: preview });
    }
    if (decision === "always_allow_for_session" && question.epoch === epoch) {
      this.#grants.push({ rule, entry, epoch, at, seq });
    }
  }
}
