/** A store that a process dies on: at a commit that a test chooses, before it takes hold or after, nothing answers any more. */
import type { Entry } from "../../schemas/entry.ts";
import type { Commit, CommitResult, ListRange, Row, Store, StoreKey } from "../../src/journal/store.ts";

/** Where a process is cut off: a commit that `at` knows, before it takes hold or after that. */
export interface Cut {
  readonly at: (entries: readonly Entry[], commit: Commit) => boolean;
  readonly when: "before" | "after";
}

const decoder = new TextDecoder();

/** Entries in the packed values of a commit: a header line, then a line each. */
export function entriesIn({ sets }: Commit): Entry[] {
  return sets.filter(({ key }) => key[0] === "log").flatMap(({ value }) =>
    decoder.decode(value as Uint8Array).trimEnd().split("\n").slice(1).map((line) => JSON.parse(line))
  );
}

/** A cut at the commit that holds an entry of this kind and type. */
export function cutAt(kind: Entry["kind"], type: string, when: Cut["when"]): Cut {
  return { when, at: (entries) => entries.some((entry) => entry.kind === kind && entry.type === type) };
}

/** The way of one process to a store. */
export class CuttingStore implements Store {
  /** The cut that is to come; a test may change it at any time. */
  cut: Cut | undefined;
  /** True once it was reached: from then on nothing answers. */
  isCut = false;
  readonly #inner: Store;
  #held: (() => void)[] = [];
  #isHolding = false;
  #isDead = false;

  constructor(inner: Store) {
    this.#inner = inner;
  }

  /** From now on commits wait; they go on, in their order, with {@linkcode release}. */
  hold(): void {
    this.#isHolding = true;
  }

  release(): void {
    this.#isHolding = false;
    for (const go of this.#held.splice(0)) go();
  }

  /** True while a commit waits. */
  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  /** The process is gone: nothing more is read, written, or answered. */
  die(): void {
    this.#isDead = true;
  }

  async get(key: StoreKey): Promise<Row | null> {
    if (this.#isDead) return await never();
    return await this.#inner.get(key);
  }

  async *list(range: ListRange): AsyncIterable<Row> {
    if (this.#isDead) await never();
    yield* this.#inner.list(range);
  }

  async commit(commit: Commit): Promise<CommitResult> {
    if (this.#isHolding) await new Promise<void>((go) => this.#held.push(go));
    if (this.#isDead || this.isCut) return await never();
    if (this.cut?.at(entriesIn(commit), commit) !== true) return await this.#inner.commit(commit);
    const { when } = this.cut;
    if (when === "after") await this.#inner.commit(commit);
    this.isCut = true;
    return await never();
  }

  close(): void {
    this.#inner.close();
  }
}

function never<Result>(): Promise<Result> {
  return new Promise(() => {});
}
