/** The chain of commits of one epoch: each checks and sets the row `writer`, and an unknown one is read back (K16). */
import type { Seams } from "../seams.ts";
import { type Ownership, RootsLost } from "./ownership.ts";
import type { SealedGroup } from "./seal.ts";
import { type Commit, type CommitResult, type Row, type Store, StoreError } from "./store.ts";

/** The row `writer`: who wrote last, and which group. */
export interface WriterRow {
  readonly epoch: number;
  readonly group: number;
  /** Tells two runtimes apart that take the same epoch at the same moment. */
  readonly runtime: string;
  /** When it was written, where each runtime of a shared store has a line of its own. */
  readonly at?: number;
}

/** Where the chain of groups stands: the row `writer` as this runtime last wrote it. */
export interface WriterPosition extends WriterRow {
  readonly versionstamp: string;
}

/** Options of {@linkcode CommitLine}. */
export interface CommitLineOptions {
  readonly store: Store;
  readonly seams: Seams;
  readonly position: WriterPosition;
  readonly ownership: Ownership;
  /** Ends the waiting between two tries. */
  readonly signal: AbortSignal;
}

const backoffMs = { first: 20, max: 2_000 } as const;
/** Errors after which sending the same group again cannot help. All others are tried for ever (K15). */
const brokenForGood: ReadonlySet<string> = new Set([
  "store_fenced",
  "store_corrupt",
  "store_unusable",
  "journal_corrupt",
  "value_too_large",
  "id_too_long",
]);

/** True if two rows `writer` are the same write. */
export function isSameWrite(row: unknown, expected: WriterRow): boolean {
  if (typeof row !== "object" || row === null) return false;
  const { epoch, group, runtime } = row as Partial<WriterRow>;
  return epoch === expected.epoch && group === expected.group && runtime === expected.runtime;
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Commits groups one after another until each is known to be written, or nothing will ever be. */
export class CommitLine {
  /** True from a commit's first failure until it took hold. */
  isFailing = false;
  /** What the store said last, while that lasts. */
  trouble: StoreError | undefined;
  readonly #options: CommitLineOptions;
  #position: WriterPosition;
  /** True while it is not known whether the group at hand was written. */
  #isUnknown = false;

  constructor(options: CommitLineOptions) {
    this.#options = options;
    this.#position = options.position;
  }

  /**
   * Resolves once the group is durable, or the signal aborted. Throws a StoreError if it never will be, and
   * {@linkcode RootsLost} if it will be without those roots.
   */
  async commit(sealed: SealedGroup): Promise<void> {
    const { epoch, group, runtime, versionstamp } = this.#position;
    const { ownership } = this.#options;
    const next: WriterRow = { epoch, group: group + 1, runtime, ...this.#time() };
    const conditions = ownership.conditionsOf(sealed);
    const commit: Commit = {
      checks: [{ key: ownership.line, versionstamp }, ...conditions.checks],
      sets: [...sealed.sets, ...conditions.sets, { key: ownership.line, value: next }],
      deletes: sealed.deletes,
    };
    for (let tries = 1;; tries++) {
      const written = await this.#try(commit, next, () => ownership.explain(sealed, commit));
      if (this.#options.signal.aborted) return;
      if (written !== undefined) {
        this.#recovered(tries);
        this.#position = { ...next, versionstamp: written };
        ownership.wrote(sealed, written);
        return;
      }
      await this.#backOff(tries);
      if (this.#options.signal.aborted) return;
    }
  }

  #time(): Pick<WriterRow, "at"> {
    const { ownership, seams } = this.#options;
    return ownership.isShared ? { at: seams.clock.now() } : {};
  }

  /** The versionstamp of the commit if it is written, undefined if it is to be tried again. */
  async #try(
    commit: Commit,
    next: WriterRow,
    explain: () => Promise<void>,
  ): Promise<string | undefined> {
    let result: CommitResult = { ok: false };
    if (!this.#isUnknown) {
      try {
        result = await this.#options.store.commit(commit);
        if (result.ok) return result.versionstamp;
        this.#failed(new Error("a check of the commit failed"));
      } catch (error) {
        this.#failed(error);
      }
    }
    // Thrown or refused, it is unknown until the row `writer` says what happened (K16).
    this.#isUnknown = true;
    let row: Row | null;
    try {
      row = await this.#options.store.get(this.#options.ownership.line);
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
    this.#isUnknown = false;
    if (isSameWrite(row?.value, next)) return row?.versionstamp;
    if (!isSameWrite(row?.value, this.#position) || row?.versionstamp !== this.#position.versionstamp) {
      throw fenced(row?.value, this.#position);
    }
    // A group that was not written although nobody fenced us: its roots may say why.
    try {
      await explain();
    } catch (error) {
      if (error instanceof RootsLost) throw error;
      this.#failed(error);
    }
    return undefined;
  }

  #failed(error: unknown): void {
    if (this.#options.signal.aborted) return;
    if (error instanceof StoreError && brokenForGood.has(error.code)) throw error;
    if (error instanceof StoreError) this.trouble = error;
    if (this.isFailing) return;
    this.isFailing = true;
    const code = error instanceof StoreError ? error.code : "unknown";
    const detail = { code, message: describe(error) };
    this.#options.seams.log({ level: "warning", event: "writer.failing", detail });
  }

  #recovered(tries: number): void {
    if (!this.isFailing) return;
    this.isFailing = false;
    this.trouble = undefined;
    this.#options.seams.log({ level: "info", event: "writer.recovered", detail: { tries } });
  }

  async #backOff(tries: number): Promise<void> {
    const { clock } = this.#options.seams;
    const wait = Math.min(backoffMs.first * 2 ** Math.min(tries - 1, 16), backoffMs.max);
    await clock.sleepUntil(clock.now() + wait, this.#options.signal);
  }
}

function fenced(found: unknown, ours: WriterRow): StoreError {
  const epoch = typeof found === "object" && found !== null ? (found as Partial<WriterRow>).epoch : undefined;
  return new StoreError(
    "store_fenced",
    `Cannot write: another runtime took the store over (its epoch is ${
      epoch ?? "unknown"
    }, ours ${ours.epoch}); ` +
      "this one has stopped",
  );
}
