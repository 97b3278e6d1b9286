/** Bugs of a store: it forgets, splits, or loses what it was given. */
import type { Commit, Store, StoreKey } from "../../src/journal/store.ts";
import type { MemoryStore } from "../support/memory_store.ts";
import type { Bug } from "./bug.ts";

/** The store with another way to commit. */
export function withCommit(store: MemoryStore, commit: Store["commit"]): Store {
  return {
    get: (key) => store.get(key),
    list: (range) => store.list(range),
    commit,
    close: () => store.close(),
  };
}

/** True for keys of a kind. */
export function isOf(kind: string): (key: StoreKey) => boolean {
  return (key) => key[0] === kind;
}

/** A store that forgets to write rows of one kind. */
export function without(kind: string): Bug {
  const has = isOf(kind);
  return {
    store: (store) =>
      withCommit(
        store,
        (commit) => store.commit({ ...commit, sets: commit.sets.filter(({ key }) => !has(key)) }),
      ),
  };
}

/** A store that writes a part of each commit in a second commit, right after the first. */
export function inTwoCommits(isLater: (key: StoreKey) => boolean, part: "sets" | "deletes"): Bug {
  return {
    store: (store) =>
      withCommit(store, async (commit) => {
        const [now, later] = split(commit, isLater, part);
        const result = await store.commit(now);
        if (result.ok && later.sets.length + later.deletes.length > 0) await store.commit(later);
        return result;
      }),
  };
}

function split(
  commit: Commit,
  isLater: (key: StoreKey) => boolean,
  part: "sets" | "deletes",
): [Commit, Commit] {
  const { checks, sets, deletes } = commit;
  if (part === "sets") {
    const later = sets.filter(({ key }) => isLater(key));
    return [{ ...commit, sets: sets.filter(({ key }) => !isLater(key)) }, {
      checks: [],
      sets: later,
      deletes: [],
    }];
  }
  const later = deletes.filter(isLater);
  return [{ checks, sets, deletes: deletes.filter((key) => !isLater(key)) }, {
    checks: [],
    sets: [],
    deletes: later,
  }];
}

/** A disk that keeps nothing of every n-th commit but the row by which it is read back. */
export function losingEvery(n: number): Bug {
  return {
    store: (store) => {
      let commits = 0;
      return withCommit(store, (commit) => {
        commits += 1;
        if (commits % n !== 0) return store.commit(commit);
        return store.commit({
          ...commit,
          sets: commit.sets.filter(({ key }) => key[0] === "writer"),
          deletes: [],
        });
      });
    },
  };
}
