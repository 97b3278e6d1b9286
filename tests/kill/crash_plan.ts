/**
 * Where a runtime kills itself: a plan names a point of the crash table, and the process ends there by SIGKILL, without
 * any last word. Only the test's own entry (`owner.ts`) brings it in, around the store and the performers.
 */
import { z } from "zod";
import type { Performer, PerformerResult } from "../../src/effects/performer.ts";
import type { HostPerformers } from "../../src/host_services.ts";
import type { Commit, CommitResult, ListRange, Row, Store, StoreKey } from "../../src/journal/store.ts";
import { appendLine, linesOfFile } from "./outside.ts";
import { pause } from "./pause.ts";

/** The points of the crash table, and twice those that have two sides. */
export const points = [
  "P0",
  "P1",
  "P2",
  "P3",
  "P4",
  "P5",
  "P6",
  "P7",
  "P8",
  "P9",
  "P10",
  "P11",
  "P12",
  "P12b",
  "P13",
  "P14",
] as const;
/** A point of the crash table. */
export type Point = (typeof points)[number];

/** What a runtime is told by the variable {@linkcode planVariable}. */
export const CrashPlan = z.strictObject({
  point: z.enum(points),
  /** The port of the call that is meant. */
  port: z.enum(["mcp.call", "tool.call"]),
  /** The how-manieth time that the point is reached. */
  nth: z.int().min(1),
  /** The outside ledger. */
  ledger: z.string(),
  /** A file that gets one line right before the end. */
  reached: z.string(),
});
/** A plan. */
export type CrashPlan = z.infer<typeof CrashPlan>;

/** The variable that holds a plan as JSON. */
export const planVariable = "TROUPE_KILL_PLAN";

/** An entry on its way to the disk. */
interface Passing {
  readonly root: string;
  readonly kind: string;
  readonly type: string;
  readonly body?: { readonly value?: { readonly decision?: string } };
}

/** One commit, as points look at it. */
interface Look {
  readonly entries: readonly Passing[];
  readonly keys: readonly StoreKey[];
  /** What happened before: an outcome of the port was committed; its performer has returned. */
  readonly isRecorded: boolean;
  readonly hasReturned: boolean;
  readonly port: string;
}

type Test = (look: Look) => boolean;

/** Before a commit there is time for what should wait for it: if it does not wait, it is seen. */
const tooEarlyMs = 50;

const doubts = ["run_again", "mark_applied", "mark_not_applied", "abandon"];

function has(kind: string, type: string): Test {
  return ({ entries }) =>
    entries.some((one) => one.root.startsWith("session/") && one.kind === kind && one.type === type);
}

function answers(isDoubt: boolean): Test {
  return ({ entries }) =>
    entries.some(({ root, kind, type, body }) => {
      const { decision } = body?.value ?? {};
      const isAnswer = root.startsWith("session/") && kind === "outcome" && type === "question.ask";
      return isAnswer && decision !== undefined && doubts.includes(decision) === isDoubt;
    });
}

function isAsked(look: Look): boolean {
  return has("intent", look.port)(look);
}

function isOutcome(look: Look): boolean {
  return has("outcome", look.port)(look);
}

function isChunk({ keys }: Look): boolean {
  return keys.some(([kind]) => kind === "blob" || kind === "blobc");
}

/** On which side of which commit a point lies; those that lie in a performer are not here. */
const commits: { readonly [K in Point]?: readonly ["before" | "after", Test] } = {
  P0: ["before", has("input", "session.prompt")],
  P1: ["after", has("outcome", "model.generate")],
  P2: ["after", has("intent", "question.ask")],
  P3: ["before", answers(false)],
  P4: ["after", answers(false)],
  P5: ["after", isAsked],
  P9: ["after", isOutcome],
  P10: ["before", ({ isRecorded, entries }) => isRecorded && entries.length > 0],
  P12: ["before", answers(true)],
  P12b: ["after", answers(true)],
  P13: ["after", (look) => look.hasReturned && !look.isRecorded && isChunk(look) && !isOutcome(look)],
  P14: ["after", has("input", "session.cancel")],
};

/** Goes around what a runtime reaches the disk and the world with, and ends it where its plan says. */
export class Saboteur {
  readonly #plan: CrashPlan;
  #left: number;
  #isRecorded = false;
  #hasReturned = false;

  constructor(plan: CrashPlan) {
    this.#plan = plan;
    this.#left = plan.nth;
  }

  store(store: Store): Store {
    return {
      get: (key: StoreKey): Promise<Row | null> => store.get(key),
      list: (range: ListRange): AsyncIterable<Row> => store.list(range),
      commit: (commit: Commit): Promise<CommitResult> => this.#commit(store, commit),
      close: () => store.close(),
    };
  }

  performers(performers: HostPerformers): HostPerformers {
    const { port } = this.#plan;
    const perform = performers[port] as Performer;
    return { ...performers, [port]: (call: Parameters<Performer>[0]) => this.#perform(perform, call) };
  }

  async #commit(store: Store, commit: Commit): Promise<CommitResult> {
    const { port } = this.#plan;
    const look = {
      entries: commit.sets.flatMap(entriesIn),
      keys: commit.sets.map(({ key }) => key),
      isRecorded: this.#isRecorded,
      hasReturned: this.#hasReturned,
      port,
    };
    const [side, test] = commits[this.#plan.point] ?? [];
    if (side === "before" && test?.(look) === true) {
      await pause(tooEarlyMs);
      this.#reach();
    }
    const result = await store.commit(commit);
    if (side === "after" && test?.(look) === true) this.#reach();
    this.#isRecorded ||= isOutcome(look);
    return result;
  }

  async #perform(perform: Performer, call: Parameters<Performer>[0]): Promise<PerformerResult> {
    const { point, ledger } = this.#plan;
    const awaited = { P6: "arrived", P7: "applied" }[point as string];
    // The target holds its answer back meanwhile, so there is no hurry.
    const watch = awaited === undefined ? undefined : setInterval(() => {
      if (linesOfFile(ledger).some(({ what }) => what === awaited)) this.#reach();
    }, 5);
    try {
      const result = await perform(call);
      this.#hasReturned = true;
      if (point === "P8") this.#reach();
      return result;
    } finally {
      clearInterval(watch);
    }
  }

  /** Ends this process if it is time. */
  #reach(): void {
    this.#left -= 1;
    if (this.#left > 0) return;
    const { point, reached } = this.#plan;
    appendLine(reached, { point, pid: Deno.pid });
    Deno.kill(Deno.pid, "SIGKILL");
    // Nothing more happens here, whatever other threads are at.
    for (;;);
  }
}

/** The entries of one packed value: lines behind its header. */
function entriesIn({ key, value }: { readonly key: StoreKey; readonly value: unknown }): Passing[] {
  if (key[0] !== "log" || !(value instanceof Uint8Array)) return [];
  const [, ...lines] = new TextDecoder().decode(value).trimEnd().split("\n");
  return lines.map((line) => ({ ...JSON.parse(line), root: String(key[1]) }));
}
