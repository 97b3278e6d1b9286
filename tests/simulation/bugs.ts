/** Planted bugs: each breaks one rule from outside, so that the simulation can be seen to find it. */
import type { WiredMachines } from "../../actors/wiring.ts";
import type { PerformerResult } from "../../src/effects/performer.ts";
import type { Commit, Store, StoreKey } from "../../src/journal/store.ts";
import type { PortDesk } from "../../src/kernel/machines.ts";
import type { Runtime } from "../../src/runtime.ts";
import type { HostPerformers } from "../../src/host_services.ts";
import type { MemoryStore } from "../support/memory_store.ts";
import type { Plan } from "./plan.ts";
import { guardedTurn, misguidedTurn, wirePoisonous } from "./poisonous.ts";

/** Where a bug sits: between runtime and disk, in the performers, in the machines, in the running kernel. */
export interface Bug {
  readonly store?: (store: MemoryStore) => Store;
  readonly performers?: (performers: HostPerformers) => HostPerformers;
  readonly wire?: (desk: PortDesk) => WiredMachines;
  readonly onStart?: (runtime: Runtime) => void;
}

/** A bug, and the rules of which at least one must be seen broken. */
export interface Canary {
  readonly name: string;
  readonly bug: Bug;
  readonly rules: readonly string[];
  /** Brings forth what the bug needs to show. */
  readonly plan?: (plan: Plan) => Plan;
}

function withCommit(store: MemoryStore, commit: Store["commit"]): Store {
  return {
    get: (key) => store.get(key),
    list: (range) => store.list(range),
    commit,
    close: () => store.close(),
  };
}

function isOf(kind: string): (key: StoreKey) => boolean {
  return (key) => key[0] === kind;
}

/** A store that forgets to write rows of one kind. */
function without(kind: string): Bug {
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
function inTwoCommits(isLater: (key: StoreKey) => boolean, part: "sets" | "deletes"): Bug {
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
function losingEvery(n: number): Bug {
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

/** Performers whose result of a harmful tool is told in another word. */
function telling(word: (result: PerformerResult, isAborted: boolean) => PerformerResult): Bug {
  return {
    performers: (performers) => ({
      ...performers,
      "tool.call": async (performance) => {
        const result = await performers["tool.call"](performance);
        return performance.request.effect === "idempotent"
          ? result
          : word(result, performance.signal.aborted);
      },
    }),
  };
}

/** Ports that register while a life recovers pass for harmless. */
function forgettingEffects(): Bug {
  let isRecovering = true;
  return {
    wire: (desk) => {
      isRecovering = true;
      return wirePoisonous({
        book: (request) => desk.book(request),
        register: (id, request, ref, cancelAsked) => {
          const known = isRecovering ? { ...request, effect: "idempotent" as const } : request;
          desk.register(id, known, ref, cancelAsked);
        },
        cancel: (id) => desk.cancel(id),
        drop: (id, request) => desk.drop(id, request),
        post: (outgoing) => desk.post(outgoing),
      });
    },
    onStart: () => isRecovering = false,
  };
}

/** A writer that tells before the disk has it. */
function tellAtOnce({ journal }: Runtime): void {
  const { writer } = journal;
  const push = writer.push.bind(writer);
  writer.push = (unit, onDurable) => {
    push(unit);
    if (onDurable !== undefined) Promise.resolve().then(onDurable);
  };
}

/** Every canary of the gate. */
export const canaries: readonly Canary[] = [
  {
    name: "an effect starts, a question opens and a client is told before the unit is durable",
    bug: { onStart: tellAtOnce },
    rules: ["R2", "K3", "K14", "K9", "I7"],
  },
  {
    name: "recovery takes what is not idempotent for harmless and asks again",
    bug: forgettingEffects(),
    rules: ["I1"],
  },
  {
    name: "an inbox row is deleted in a commit after the one that takes its message",
    bug: inTwoCommits(isOf("inbox"), "deletes"),
    rules: ["K13"],
  },
  {
    name: "an inbox row is set in a commit after the one that sends its message",
    bug: inTwoCommits(isOf("inbox"), "sets"),
    rules: ["K13"],
  },
  {
    name: "inbox rows are read in the wrong order",
    bug: {
      store: (store) => ({
        ...withCommit(store, (commit) => store.commit(commit)),
        list: (range) => store.list(range.prefix[0] === "inbox" ? { ...range, reverse: true } : range),
      }),
    },
    rules: ["K13"],
    plan: (plan) => ({ ...plan, theme: "letters" }),
  },
  { name: "a command has no row", bug: without("cmd"), rules: ["K14"] },
  {
    name: "a reply's row is set in a commit after its entry",
    bug: inTwoCommits(isOf("reply"), "sets"),
    rules: ["K14", "I11"],
  },
  { name: "a root with open intents has no row", bug: without("open"), rules: ["I11", "K19"] },
  { name: "a timer has no row", bug: without("due"), rules: ["I11", "K19"] },
  {
    name: "entries are written in a commit after the rows that go with them",
    bug: inTwoCommits((key) => key[0] === "log" || key[0] === "head", "sets"),
    rules: ["I6", "I7", "K12", "K13", "K14", "K20", "I11"],
  },
  {
    name: "the disk loses a commit that it acknowledged",
    bug: losingEvery(9),
    rules: ["I6", "I7", "K14", "K20"],
  },
  {
    name: "commits do not check who wrote last",
    bug: { store: (store) => withCommit(store, (commit) => store.commit({ ...commit, checks: [] })) },
    rules: ["I6", "I7", "K14", "K20", "R2", "K3", "I11"],
    plan: (plan) => ({ ...plan, crashes: plan.crashes.map((crash) => ({ ...crash, how: "ghost" })) }),
  },
  {
    name: "a canceled call is reported as never made",
    bug: telling((result, isAborted) =>
      isAborted && result.status === "unknown" ? { ...result, status: "canceled" } : result
    ),
    rules: ["R3"],
    plan: (plan) => ({ ...plan, theme: "mixed" }),
  },
  {
    name: "a call that broke off is reported as failed",
    bug: telling((result) => result.status === "unknown" ? { ...result, status: "failed" } : result),
    rules: ["R3"],
  },
  {
    name: "every attempt goes out under a key of its own",
    bug: {
      performers: (performers) => ({
        ...performers,
        "tool.call": (call) =>
          performers["tool.call"]({ ...call, key: `${call.root}#${call.id}.${call.attempt}` }),
      }),
    },
    rules: ["I1", "K3"],
  },
  {
    name: "attempts are not counted over restarts",
    bug: {
      performers: (performers) => ({
        ...performers,
        "tool.call": (call) => performers["tool.call"]({ ...call, attempt: 1 }),
      }),
    },
    rules: ["K7"],
  },
  {
    name: "a tool that needs approval is called without",
    bug: { wire: (desk) => guardedTurn(wirePoisonous(desk), "needsApproval", () => false) },
    rules: ["I5", "K25"],
  },
  {
    name: "whatever a person answers, the call is made",
    bug: { wire: (desk) => guardedTurn(wirePoisonous(desk), "isGranted", () => true) },
    rules: ["I5", "K25"],
  },
  {
    name: "a turn asks its model whatever its budget says",
    bug: { wire: (desk) => misguidedTurn(wirePoisonous(desk), "isSpent", () => false) },
    rules: ["I16"],
  },
  {
    name: "a machine decides by what is not in the journal",
    bug: {
      wire: (desk) => {
        let asked = 0;
        return guardedTurn(wirePoisonous(desk), "returnedError", () => ++asked % 3 === 0);
      },
    },
    rules: ["K25", "K20"],
  },
  {
    name: "a model is not given the whole conversation",
    bug: {
      onStart: ({ conversations }) => {
        const transcript = conversations.transcript.bind(conversations);
        conversations.transcript = async (root, intent) => (await transcript(root, intent)).slice(-3);
      },
    },
    rules: ["I8"],
  },
];
