/** What the bench asks its child processes, and what they answer: one JSON line each way. */
import type { TurnCase } from "./turn_case.ts";

/** What is counted over some turns; the same on every machine. */
export interface Counts {
  readonly turns: number;
  /** Commits of the store: one disk flush each. */
  readonly flushes: number;
  readonly entries: number;
  readonly cranks: number;
  /** Bytes of packed values, blobs and snapshots. */
  readonly bytes: number;
}

/** Some turns, one after another, each in a new session that was made before its time began. */
export interface TurnsRequest {
  readonly do: "turns";
  readonly asked: TurnCase;
  readonly turns: number;
}

/** Wall time of each turn and processor time of all, in milliseconds. Peers count nothing. */
export interface TurnsAnswer {
  readonly times: readonly number[];
  readonly cpuMs: number;
  readonly counts?: Counts;
}

/** What one turn allocates: the child needs `--expose-gc` and a young generation that outlasts the window. */
export interface AllocationRequest {
  readonly do: "allocation";
  readonly asked: TurnCase;
  readonly turns: number;
  /** Turns before the window: what is compiled and cached once is then there. */
  readonly warmUps: number;
}

/** Bytes of heap for one turn: the median over turns of what the heap grew by, so that a collection does not count. */
export interface AllocationAnswer {
  readonly bytes: number;
  /** Turns in which the heap shrank: a collection came in between. */
  readonly collected: number;
}

/** Many turns in one session, one after another. */
export interface SessionRequest {
  readonly do: "session";
  readonly asked: TurnCase;
  readonly turns: number;
  /** Turns of another session before, so that the code is compiled. */
  readonly warmUps: number;
}

/** What a process holds: memory of the process, heap in use after a collection, the whole store's files. In bytes. */
export interface Holdings {
  readonly rss: number;
  readonly heap: number;
  readonly files: number;
}

/** What a long session did to time, disk and memory. */
export interface SessionAnswer {
  readonly times: readonly number[];
  /** Processor time of each turn, in milliseconds: hardly depends on what else the machine does. */
  readonly cpu: readonly number[];
  readonly before: Holdings;
  readonly after: Holdings;
}

/** Replays one session of `turns` turns, `repeats` times in each way. */
export interface ReplayRequest {
  readonly do: "replay";
  readonly asked: TurnCase;
  readonly turns: number;
  readonly repeats: number;
}

/** Entries of the session, and how long each repeat took, in milliseconds. */
export interface ReplayAnswer {
  readonly entries: number;
  readonly cranks: number;
  /** Read from the store, verified and replayed. */
  readonly store: readonly number[];
  /** Read from the store and verified only. */
  readonly reading: readonly number[];
  /** Replayed from entries in memory. */
  readonly memory: readonly number[];
}

/** Where the time of a turn goes, by sampling the processor and by timing the store and the digests from outside. */
export interface SplitRequest {
  readonly do: "split";
  readonly asked: TurnCase;
  readonly turns: number;
  /** Turns before the profile begins, so that the code is compiled. */
  readonly warmUps: number;
}

/** One place and the main thread's own time in it, in microseconds a turn. */
export interface Share {
  readonly place: string;
  readonly microseconds: number;
}

/** Where one turn's time went. */
export interface SplitAnswer {
  readonly wallMicroseconds: number;
  readonly parts: readonly Share[];
  readonly functions: readonly Share[];
  readonly commits: { readonly perTurn: number; readonly medianMicroseconds: number };
  readonly digests: { readonly perTurn: number; readonly medianMicroseconds: number };
}

/** What governance costs a call, over `rounds` of a turn with all calls, a turn with one, and the handler alone. */
export interface GovernedRequest {
  readonly do: "governed";
  readonly asked: TurnCase;
  readonly rounds: number;
  readonly warmUps: number;
}

/** One round, in milliseconds a call. */
export interface GovernedPair {
  readonly governedMs: number;
  /** Processor time of the governed call: hardly depends on what else the machine does. */
  readonly governedCpuMs: number;
  readonly directMs: number;
}

/** One kind of entry: how many a turn has of it, and their bytes. */
export interface PartBytes {
  readonly part: string;
  readonly entries: number;
  readonly bytes: number;
}

/** What was measured of one case. */
export interface GovernedAnswer {
  readonly pairs: readonly GovernedPair[];
  readonly parts: readonly PartBytes[];
}

/** The disk's own speed: a flushed append of 512 bytes, and a commit of two small rows in a KV file. */
export interface FloorRequest {
  readonly do: "floor";
  readonly times: number;
}

/** Milliseconds of each. */
export interface FloorAnswer {
  readonly flushes: readonly number[];
  readonly commits: readonly number[];
}

/** Fills a store with sessions of at least so many entries each, the last turn of each under way if `isOpen`. */
export interface FillRequest {
  readonly do: "fill";
  readonly location: string;
  readonly sessions: number;
  readonly entries: number;
  readonly isOpen: boolean;
}

/** Starts a runtime on a store that a killed process left, and asks one session one thing. */
export interface RecoverRequest {
  readonly do: "recover";
  readonly location: string;
  readonly session: string;
  /** Forgets the session's snapshot before: it is replayed from its beginning. */
  readonly isBare: boolean;
}

/** Milliseconds from the opening of the store, in a process that has run nothing before. */
export interface RecoverAnswer {
  readonly readyMs: number;
  readonly answeredMs: number;
  /** Processor time until the answer: hardly depends on what else the machine does. */
  readonly cpuMs: number;
  /** Roots that had something open, all roots, and the entries of the session that was asked. */
  readonly open: number;
  readonly roots: number;
  readonly entries: number;
}

/** What each request is answered with. */
export interface Dialogue {
  readonly turns: readonly [TurnsRequest, TurnsAnswer];
  readonly allocation: readonly [AllocationRequest, AllocationAnswer];
  readonly session: readonly [SessionRequest, SessionAnswer];
  readonly replay: readonly [ReplayRequest, ReplayAnswer];
  readonly split: readonly [SplitRequest, SplitAnswer];
  readonly governed: readonly [GovernedRequest, GovernedAnswer];
  readonly floor: readonly [FloorRequest, FloorAnswer];
  /** Answered with the address of one of the sessions. */
  readonly fill: readonly [FillRequest, string];
  readonly recover: readonly [RecoverRequest, RecoverAnswer];
}

/** What a child does for each kind of request that it knows. */
export type Services = {
  readonly [K in keyof Dialogue]?: (request: Dialogue[K][0]) => Promise<Dialogue[K][1]>;
};
