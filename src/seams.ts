/** The only door to time, chance, identity, hashing and the log. Passed from `main.ts` down, never imported as values. */
import type { Json } from "../schemas/json.ts";

/** Time, in milliseconds since the epoch. */
export interface Clock {
  now(): number;
  /** Resolves at or after `atMs`, or as soon as `signal` aborts. Never rejects. */
  sleepUntil(atMs: number, signal?: AbortSignal): Promise<void>;
  /** Runs `task` when the work at hand has let go of the event loop: how the writer gathers a group without a timer. */
  defer(task: () => void): void;
}

/** One line of the runtime's own log. Never carries content of a conversation. */
export interface LogEvent {
  readonly level: "debug" | "info" | "warning" | "error";
  readonly event: string;
  readonly detail?: { readonly [key: string]: Json };
}

/** What a test replaces, and production gives once. */
export interface Seams {
  readonly clock: Clock;
  /** A new id: `prefix`, `_`, ULID. Sorts by creation. */
  readonly nextId: (prefix: string) => string;
  /** In [0, 1). */
  readonly random: () => number;
  /** SHA-256 of `bytes` as `sha256:` and 64 hexadecimal digits. */
  readonly digest: (bytes: Uint8Array) => Promise<string>;
  readonly log: (event: LogEvent) => void;
}
