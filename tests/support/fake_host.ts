/** A host of a test: one session, whose turn ends when the test says so. */
import type { CancelReport } from "../../schemas/cancel.ts";
import type { CancelOrder } from "../../src/host/canceling.ts";
import type { Entry, RootRecord } from "../../schemas/entry.ts";
import type { Principal } from "../../schemas/principal.ts";
import type { OpenQuestion } from "../../src/effects/question_ask.ts";
import type { ActingHost, HostEvent, PromptOrder, SessionOrder } from "../../src/host/host.ts";
import type { TurnReport } from "../../src/turn_report.ts";

/** Address of the one session. */
export const fakeRoot = "session/ses_00000000000000000000000001";

/** How a turn ends unless a test says otherwise. */
export const fakeReport: TurnReport = {
  turn: 1,
  outcome: "completed",
  steps: 2,
  text: "done",
  failure: undefined,
};

/** An entry of the one session. */
export function fakeEntry(seq: number, body: Entry["body"] = { seq }): Entry {
  return { v: 1, seq, at: 1_800_000_000_000 + seq, kind: "note", type: "test", cause: seq, epoch: 1, body };
}

/** A question of the one session. */
export function fakeQuestion(n: number): OpenQuestion {
  return {
    id: `${fakeRoot}#5.${n}`,
    root: fakeRoot,
    subject: {
      kind: "approval",
      invocation: `call/0.${n}`,
      tool: "tool",
      title: "Tool",
      risk: "low",
      reason: "because",
      preview: "{}",
      rule: "tool",
    },
    shown: `sha256:${"a".repeat(64)}`,
    deadlineAtMs: Infinity,
  };
}

/** What a test holds of its host. */
export interface FakeHost extends ActingHost {
  readonly prompts: PromptOrder[];
  /** Sessions that were asked for. */
  readonly orders: SessionOrder[];
  /** Tells the giver of the last prompt. */
  say(event: HostEvent): void;
  /** Ends the turn of the last prompt. */
  end(report?: TurnReport): void;
  fail(error: unknown): void;
  readonly canceled: CancelOrder[];
  readonly answered: { readonly id: string; readonly decision: string; readonly by: Principal }[];
}

/** What the host answers to every cancel. */
export const fakeCancelReport: CancelReport = {
  result: "stopped",
  scope: "subtree",
  stopped: [{ kind: "turn", address: "turn/1", ended: "canceled" }],
  undecided: [],
  goesOn: [],
  notFound: [],
};

/** Makes a host whose stream is `entries`, and whose blobs are all `blob`. */
export function createFakeHost(
  { entries = [], blob = new Uint8Array() }: {
    readonly entries?: readonly Entry[];
    readonly blob?: Uint8Array;
  } = {},
): FakeHost {
  const record: RootRecord = {
    v: 1,
    address: fakeRoot,
    kind: "session",
    createdAt: 1_800_000_000_000,
    status: "active",
    title: "fake",
  };
  let current:
    | { readonly hear: (event: HostEvent) => void; readonly turn: PromiseWithResolvers<TurnReport> }
    | undefined;
  const host: FakeHost = {
    owner: undefined,
    prompts: [],
    canceled: [],
    answered: [],
    listTokens: () => Promise.resolve([]),
    issueToken: () => Promise.reject(new Error("no tokens here")),
    rotateToken: () => Promise.reject(new Error("no tokens here")),
    revokeToken: () => Promise.reject(new Error("no tokens here")),
    refreshServers: () => Promise.resolve([{ server: "docs", result: "ready" }]),
    declareServers: () => Promise.resolve(),
    say: (event) => current?.hear(event),
    end: (report = fakeReport) => current?.turn.resolve(report),
    fail: (error) => current?.turn.reject(error),
    listRoots: () => Promise.resolve([record]),
    readHead: () => Promise.resolve({ seq: entries.length, hash: `sha256:${"0".repeat(64)}` }),
    async *readPages(_root, fromSeq = 1) {
      yield entries.filter((entry) => entry.seq >= fromSeq);
    },
    readBlob: () => Promise.resolve(blob),
    readActors: () => Promise.resolve(undefined),
    async *follow(_root, fromSeq, signal) {
      yield entries.filter((entry) => entry.seq >= fromSeq);
      if (signal.aborted) return;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    },
    orders: [],
    createSession: (order) => {
      host.orders.push(order);
      return Promise.resolve(fakeRoot);
    },
    forkSession: ({ session, at }) =>
      Promise.resolve({
        session: `${session.slice(0, -1)}2`,
        origin: { address: session, seq: at, hash: `sha256:${"0".repeat(64)}` },
        settled: [],
        closed: [],
      }),
    prompt: (order, hear) => {
      host.prompts.push(order);
      current = { hear, turn: Promise.withResolvers() };
      return current.turn.promise;
    },
    cancel: (_session, order) => {
      host.canceled.push(order);
      return Promise.resolve(fakeCancelReport);
    },
    listTasks: () => Promise.resolve([]),
    cancelTask: () => Promise.resolve(undefined),
    untilTaskEnded: () => Promise.resolve(undefined),
    async *followTask() {},
    deleteSchedule: () => Promise.resolve("deleted"),
    listQuestions: () => Promise.resolve([fakeQuestion(0)]),
    answer: (id, { decision, by }) => {
      host.answered.push({ id, decision, by });
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  };
  return host;
}
