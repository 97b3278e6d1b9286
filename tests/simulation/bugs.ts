/** Planted bugs, a table from rule to bug: each breaks one rule from outside, so that the simulation can be seen to find it. */
import type { Runtime } from "../../src/runtime.ts";
import type { Bug, Canary } from "./bug.ts";
import { guardedTurn, misguidedTurn, wirePoisonous } from "./poisonous.ts";
import { ruleBugs } from "./rule_bugs.ts";
import { inTwoCommits, isOf, losingEvery, withCommit, without } from "./store_bugs.ts";

export type { Bug, Canary } from "./bug.ts";

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
    of: "R2",
    bug: { onStart: tellAtOnce },
    rules: ["R2", "K3", "K14", "K9", "I7"],
  },
  {
    name: "recovery takes what is not idempotent for harmless and asks again",
    of: "R6",
    from: 16,
    bug: forgettingEffects(),
    rules: ["I1", "K3"],
  },
  {
    name: "an inbox row is deleted in a commit after the one that takes its message",
    of: "K13",
    bug: inTwoCommits(isOf("inbox"), "deletes"),
    rules: ["I15"],
  },
  {
    name: "an inbox row is set in a commit after the one that sends its message",
    of: "K13",
    from: 13,
    bug: inTwoCommits(isOf("inbox"), "sets"),
    rules: ["I15"],
  },
  {
    name: "inbox rows are read in the wrong order",
    of: "K13",
    from: 10,
    bug: {
      store: (store) => ({
        ...withCommit(store, (commit) => store.commit(commit)),
        list: (range) => store.list(range.prefix[0] === "inbox" ? { ...range, reverse: true } : range),
      }),
    },
    rules: ["I15"],
    plan: (plan) => ({ ...plan, theme: "letters" }),
  },
  { name: "a command has no row", of: "K14", bug: without("cmd"), rules: ["K14"] },
  {
    name: "a reply's row is set in a commit after its entry",
    of: "K14",
    bug: inTwoCommits(isOf("reply"), "sets"),
    rules: ["K14", "I11"],
  },
  { name: "a root with open intents has no row", of: "K19", bug: without("open"), rules: ["I11", "K19"] },
  { name: "a timer has no row", of: "K19", from: 10, bug: without("due"), rules: ["I11", "K19"] },
  {
    name: "entries are written in a commit after the rows that go with them",
    of: "K1",
    bug: inTwoCommits((key) => key[0] === "log" || key[0] === "head", "sets"),
    rules: ["I6", "I7", "K12", "I15", "K14", "K20", "I11"],
  },
  {
    name: "the disk loses a commit that it acknowledged",
    of: "I7",
    bug: losingEvery(9),
    rules: ["I6", "I7", "K14", "K20"],
  },
  {
    name: "commits do not check who wrote last",
    of: "K16",
    bug: { store: (store) => withCommit(store, (commit) => store.commit({ ...commit, checks: [] })) },
    rules: ["I6", "I7", "K14", "K20", "R2", "K3", "I11"],
    plan: (plan) => ({ ...plan, crashes: plan.crashes.map((crash) => ({ ...crash, how: "ghost" })) }),
  },
  {
    name: "every attempt goes out under a key of its own",
    of: "K3",
    bug: {
      performers: (performers) => ({
        ...performers,
        "tool.call": (call) =>
          performers["tool.call"]({ ...call, key: `${call.root}#${call.id}.${call.attempt}` }),
      }),
    },
    rules: ["I1", "I2", "K3"],
  },
  {
    name: "attempts are not counted over restarts",
    of: "K7",
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
    of: "I5",
    bug: { wire: (desk) => guardedTurn(wirePoisonous(desk), "needsApproval", () => false) },
    rules: ["I5", "K25"],
  },
  {
    name: "whatever a person answers, the call is made",
    of: "I5",
    bug: { wire: (desk) => guardedTurn(wirePoisonous(desk), "isGranted", () => true) },
    rules: ["I5", "K25"],
  },
  {
    name: "a turn asks its model whatever its budget says",
    of: "I16",
    from: 9,
    bug: { wire: (desk) => misguidedTurn(wirePoisonous(desk), "isSpent", () => false) },
    rules: ["I16"],
  },
  {
    name: "a machine decides by what is not in the journal",
    of: "K25",
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
    of: "I8",
    bug: {
      onStart: ({ conversations }) => {
        const transcript = conversations.transcript.bind(conversations);
        conversations.transcript = async (root, intent) => (await transcript(root, intent)).slice(-3);
      },
    },
    rules: ["I8"],
  },
  ...ruleBugs,
];
