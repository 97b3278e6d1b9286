/** Which roots a runtime may write: all of a store that it has alone, or those that it owns of one that it shares. */
import type { RootAddress } from "../../schemas/ids.ts";
import { keys } from "./keys.ts";
import { type Commit, type Store, StoreError, type StoreKey } from "./store.ts";

/** The roots that one commit writes, and those among them that must be new. */
export interface WrittenRoots {
  readonly roots: readonly RootAddress[];
  readonly fresh: readonly RootAddress[];
}

/** Roots of a commit that another runtime has taken over: nothing was written, and the rest may be sent again. */
export class RootsLost extends Error {
  override readonly name = "RootsLost";
  readonly roots: readonly RootAddress[];
  constructor(roots: readonly RootAddress[]) {
    super(`Cannot write ${roots.join(", ")}: another runtime took them over`);
    this.roots = roots;
  }
}

/** Who may write what. The writer asks it about every commit, the kernel about every root. */
export interface Ownership {
  /** True where several runtimes share the store, and each owns some of its roots. */
  readonly isShared: boolean;
  /** The row that each commit of this runtime checks and sets (K16). */
  readonly line: StoreKey;
  /** Checks of roots that fit into one commit. */
  readonly checksMax: number;
  /** Under which epoch this runtime writes a root; never falls. */
  epochOf(root: RootAddress): number;
  /** True if this runtime may write the root. */
  isOurs(root: RootAddress): boolean;
  /** The root is born here: its first commit makes it ours, under the first epoch unless it begins with older entries. */
  bear(root: RootAddress, epoch?: number): void;
  /** What a commit must check and set besides its own rows. */
  conditionsOf(written: WrittenRoots): Pick<Commit, "checks" | "sets">;
  /** A commit with these conditions took hold. */
  wrote(written: WrittenRoots, versionstamp: string): void;
  /** Why a commit was refused although its line stands where it stood. Throws what the writer must know of it. */
  explain(written: WrittenRoots, conditions: Pick<Commit, "checks">): Promise<void>;
  /** True while no other runtime can have taken the root over: before that an effect that could hurt may begin. */
  holds(root: RootAddress): boolean;
  /** Asks the store whether the root is still ours. */
  confirm(root: RootAddress): Promise<boolean>;
  /** The runtime ends in order: what it owned is free. */
  release(): Promise<void>;
}

/** A store that one runtime has alone, by the lock of its file: every root is ours, under one epoch (K16). */
export class WholeStore implements Ownership {
  readonly isShared = false;
  readonly line = keys.writer();
  readonly checksMax = Infinity;
  readonly #store: Store;
  readonly #epoch: number;

  constructor(store: Store, epoch: number) {
    this.#store = store;
    this.#epoch = epoch;
  }

  epochOf(): number {
    return this.#epoch;
  }

  isOurs(): boolean {
    return true;
  }

  bear(): void {}

  conditionsOf({ fresh }: WrittenRoots): Pick<Commit, "checks" | "sets"> {
    return { checks: fresh.map((root) => ({ key: keys.head(root), versionstamp: null })), sets: [] };
  }

  wrote(): void {}

  /** A group that was not written although nobody fenced us: a new stream may have met an old one of its name. */
  async explain({ fresh }: WrittenRoots): Promise<void> {
    for (const root of fresh) {
      if (await this.#store.get(keys.head(root)) === null) continue;
      throw new StoreError("journal_corrupt", `Cannot create ${root}: the store has a stream of this name`);
    }
  }

  holds(): boolean {
    return true;
  }

  confirm(): Promise<boolean> {
    return Promise.resolve(true);
  }

  release(): Promise<void> {
    return Promise.resolve();
  }
}
