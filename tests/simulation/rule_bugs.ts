/** More planted bugs: in what targets are said to have answered, in what models are told, in rights, bounds and sleep. */
import type { AgentDefinition } from "../../schemas/agent.ts";
import type { IntentId } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { narrow } from "../../actors/child_rights.ts";
import { readLineage } from "../../src/agents/lineage.ts";
import { createChildSession } from "../../src/births.ts";
import { createDoorRedactor } from "../../src/effects/clean.ts";
import type { PerformerResult, Performers } from "../../src/effects/performer.ts";
import type { StoreKey } from "../../src/journal/store.ts";
import type { Runtime } from "../../src/runtime.ts";
import type { Bug, Canary } from "./bug.ts";
import type { Bounds, Plan } from "./plan.ts";
import { misguidedTurn, wirePoisonous } from "./poisonous.ts";
import { withCommit } from "./store_bugs.ts";

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

function saidNo(result: PerformerResult): boolean {
  return result.status === "ok" && (result.value as { readonly isError?: boolean }).isError === true;
}

const no = { code: "tool_failed", message: "The tool said no", retryable: false } as const;

/** Everything that was refused is taken for the last thing that went well. */
function takingForWell(): Bug {
  let well: PerformerResult | undefined;
  return telling((result) => {
    if (result.status === "ok" && !saidNo(result)) well = result;
    return result.status === "failed" ? well ?? result : result;
  });
}

/** Performers that throw away what comes after the end. */
function deafToWhatIsLate(): Bug {
  return {
    performers: (performers) => ({
      ...performers,
      "tool.call": (performance) => performers["tool.call"]({ ...performance, late: () => {} }),
    }),
  };
}

function rewording({ conversations }: Runtime): void {
  const transcript = conversations.transcript.bind(conversations);
  conversations.transcript = async (root, intent) => {
    const messages = await transcript(root, intent);
    return messages.map((one) => ({
      ...one,
      text: one.text.replace("The outcome of this call is unknown. Do not repeat it", "failed: it broke off"),
    }));
  };
}

/** Children begin with whatever their agent may do, and more. */
function begettingFreely({ kernel }: Runtime): void {
  const performers = kernel.performers as { -readonly [K in keyof Performers]: Performers[K] };
  performers["agent.open"] = async ({ root, request: { args: { owner, work, budget } } }) => {
    const lineage = await readLineage(kernel, owner);
    if (lineage === undefined) throw new Error("The parent cannot be read");
    const own = narrow(lineage, work.rights);
    const agent: AgentDefinition = { ...own.agent, capabilities: [...own.agent.capabilities, "fs.write"] };
    await createChildSession(kernel, {
      address: work.child,
      lineage,
      holder: { ...own, agent },
      parent: { task: root, session: owner, path: work.path },
      budget,
    });
    return { status: "ok", value: { child: work.child } };
  };
}

/** Ports that come back after a restart stand one place further on. */
function misplacing(): Bug {
  let isRecovering = true;
  const shifted = (id: IntentId): IntentId => id.replace(/\d+$/, (n) => String(Number(n) + 1));
  return {
    wire: (desk) => {
      isRecovering = true;
      return wirePoisonous({
        book: (request) => isRecovering ? shifted(desk.book(request)) : desk.book(request),
        register: (id, request, ref, cancelAsked) => desk.register(id, request, ref, cancelAsked),
        cancel: (id) => desk.cancel(id),
        drop: (id, request) => desk.drop(id, request),
        post: (outgoing) => desk.post(outgoing),
      });
    },
    onStart: () => isRecovering = false,
  };
}

/** A store that brings blobs to the disk one commit late. */
function laggingBlobs(): Bug {
  const isBlob = ([kind]: StoreKey) => kind === "blob" || kind === "blobc";
  return {
    store: (store) => {
      let late: { readonly key: StoreKey; readonly value: unknown }[] = [];
      return withCommit(store, (commit) => {
        const sets = [...late, ...commit.sets.filter(({ key }) => !isBlob(key))];
        late = commit.sets.filter(({ key }) => isBlob(key));
        return store.commit({ ...commit, sets });
      });
    },
  };
}

/** Roots may sleep although what they wrote is still on its way. */
function sleepingEarly({ kernel: { roots } }: Runtime): void {
  const set = roots.set.bind(roots);
  roots.set = (address, root) => {
    Object.defineProperty(root, "unwritten", { get: () => 0, set: () => {} });
    return set(address, root);
  };
}

/** A root is woken from a snapshot that is said to be one entry younger than it is. */
function misdating({ journal }: Runtime): void {
  const readSnapshot = journal.readSnapshot.bind(journal);
  journal.readSnapshot = async (address) => {
    const found = await readSnapshot(address);
    return found === undefined ? undefined : { ...found, seq: found.seq + 1 };
  };
}

/** Every fifth piece of news is lost on its way to whoever watches. */
function losingNews(runtime: Runtime): void {
  const watch = runtime.watch.bind(runtime);
  let news = 0;
  runtime.watch = (listener) => watch((event) => void (++news % 5 > 0 && listener(event)));
}

/** Bounds of the process that somebody lifted. */
function lifting(bounds: Bounds): Bug {
  return {
    wire: (desk) => {
      Object.assign(limits, bounds);
      return wirePoisonous(desk);
    },
  };
}

function asMixed(plan: Plan): Plan {
  return { ...plan, theme: "mixed" };
}

/** The second half of the table. */
export const ruleBugs: readonly Canary[] = [
  {
    name: "a call that ran out of time is reported as certainly not made",
    of: "R3",
    bug: telling((result, isAborted) =>
      !isAborted && result.status === "unknown" ? { ...result, status: "timed_out" } : result
    ),
    rules: ["I3"],
  },
  {
    name: "a tool that says no is reported as not called",
    of: "R4",
    from: 11,
    bug: telling((result) => saidNo(result) ? { status: "failed", failure: no } : result),
    rules: ["R4"],
    plan: asMixed,
  },
  {
    name: "a call that broke off is reported as failed",
    of: "R5",
    bug: telling((result) => result.status === "unknown" ? { ...result, status: "failed" } : result),
    rules: ["I3"],
  },
  {
    name: "what a target answers late is thrown away",
    of: "R7",
    from: 8,
    bug: deafToWhatIsLate(),
    rules: ["R7"],
    plan: (plan) => ({ ...asMixed(plan), crashes: [] }),
  },
  {
    name: "a canceled call is reported as never made",
    of: "R8",
    bug: telling((result, isAborted) =>
      isAborted && result.status === "unknown" ? { ...result, status: "canceled" } : result
    ),
    rules: ["I3"],
    plan: asMixed,
  },
  {
    name: "a model is told that an unknown call failed",
    of: "R9",
    bug: { onStart: rewording },
    rules: ["R9"],
    plan: asMixed,
  },
  {
    name: "a call that was refused is taken for one that went well",
    of: "I4",
    from: 8,
    bug: takingForWell(),
    rules: ["I4"],
    plan: asMixed,
  },
  {
    name: "secrets are not looked for",
    of: "I9",
    bug: { redactor: () => createDoorRedactor() },
    rules: ["I9"],
    plan: (plan) => ({ ...plan, sites: ["secret_told"] }),
  },
  {
    name: "a child agent may do more than its parent",
    of: "I10",
    bug: { onStart: begettingFreely },
    rules: ["I10"],
    plan: (plan) => ({ ...plan, theme: "family" }),
  },
  {
    name: "a mailbox takes whatever comes",
    of: "I12",
    from: 6,
    bug: lifting({ mailboxMessagesMax: 1_000 }),
    rules: ["I12"],
    plan: (plan) => ({
      ...plan,
      theme: "letters",
      isUnruly: true,
      sites: ["wake_slow"],
      weights: { task: 3, store: 1, effect: 1, client: 8, time: 0.3 },
      bounds: { mailboxMessagesMax: 1 },
    }),
  },
  {
    name: "ports come back from a restart under other positions",
    of: "K2",
    bug: misplacing(),
    rules: ["K2", "K20", "I11", "K14", "K19"],
    plan: (plan) => ({ ...plan, stepsMax: 1_500 }),
  },
  {
    name: "a canceled turn ends without waiting for its calls",
    of: "K11",
    bug: {
      wire: (desk) =>
        misguidedTurn(
          wirePoisonous(desk),
          "isCanceledStage",
          ({ context }) => (context as { readonly cancelAsked: boolean }).cancelAsked,
        ),
    },
    rules: ["I14", "K11", "K20", "K25", "I11"],
    plan: (plan) => ({ ...asMixed(plan), stepsMax: 1_500 }),
  },
  {
    name: "a watcher misses news",
    of: "K12",
    bug: { onStart: losingNews },
    rules: ["K12"],
  },
  {
    name: "blobs reach the disk after the entries that name them",
    of: "K18",
    bug: laggingBlobs(),
    rules: ["I6", "K20", "K25", "I11", "I8"],
    plan: (plan) => ({ ...plan, stepsMax: 1_500, bounds: { entryBodyBytesMax: 200 } }),
  },
  {
    name: "a snapshot is taken for younger than it is",
    of: "K20",
    bug: { onStart: misdating },
    rules: ["K20", "K25", "I11", "I8"],
    plan: (plan) => ({ ...plan, isUnruly: true, stepsMax: 1_500, bounds: { snapshotEveryEntries: 2 } }),
  },
  {
    name: "a root sleeps while its entries are on their way",
    of: "K22",
    bug: { onStart: sleepingEarly },
    rules: ["I6", "K20", "K2", "K12", "K25", "I11", "K3", "K14", "K19", "DM-122"],
    plan: (plan) => ({
      ...asMixed(plan),
      isUnruly: true,
      sites: ["commit_slow"],
      weights: { task: 3, store: 0.3, effect: 3, client: 8, time: 1 },
      stepsMax: 1_500,
    }),
  },
];
