/**
 * One command from its start to its real end, in the foreground or the background (DM-96): its outputs are drained, its
 * time is kept, and nothing that it started outlives it.
 */
import { limits } from "../../schemas/limits.ts";
import type { Clock } from "../seams.ts";
import { Drain, type OutputSink } from "./drain.ts";
import { ProcessGroup } from "./group.ts";
import { endLeftBehind } from "./left_behind.ts";
import { isOfSpawn } from "./owner_mark.ts";
import { openProcessTable } from "./process_table.ts";
import type { SpawnOptions } from "./spawn.ts";
import type { ReadStartMark } from "./start_mark.ts";

/** What the system makes known of a command that ran out of time (DM-90). */
const timedOutCode = 124;
/** How long a killed process may take to go, and the last bytes of a pipe that somebody else holds. Milliseconds. */
const patience = { killedMs: 2_000, lastBytesMs: 250 } as const;

/** Why a command ended: by itself, or who ended it; `stalled`: it wrote nothing for too long. The first reason counts. */
export type EndReason = "exited" | "timed_out" | "stalled" | "canceled" | "interrupted" | "output_lost";

/** How a command ended. */
export interface CommandEnd {
  readonly reason: EndReason;
  /** Null if a signal ended it; 124 if it ran out of time, or stood still. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly durationMs: number;
  /** Processes that it had left behind, ended as well. */
  readonly leftBehind: number;
  /** False if something of it could not be ended. */
  readonly isGone: boolean;
}

/** What runs, until when, and who hears of its output. */
export interface CommandOrder extends SpawnOptions {
  /** When it is ended, also if only what it started still writes (DM-106). Milliseconds since the epoch. */
  readonly deadlineAtMs: number;
  readonly stdout: OutputSink;
  readonly stderr: OutputSink;
}

/** A command that runs. */
export interface CommandRun {
  readonly pid: number;
  /** Resolves when nothing of it is left, and its outputs are drained. Never rejects. */
  readonly ended: Promise<CommandEnd>;
  /** True once it is known for certain which process it is (DM-97). */
  identify(): Promise<boolean>;
  /** Ends it and all that it started: TERM, 250 ms, KILL. One ladder for all callers (DM-104). */
  stop(reason: Exclude<EndReason, "exited">): Promise<CommandEnd>;
  /** The runtime stops. */
  close(): Promise<CommandEnd>;
  /** KILL at once. */
  kill(): void;
}

/** What a run is made of besides its order. */
export interface RunParts {
  readonly process: Deno.ChildProcess;
  readonly spawnId: string;
  readonly clock: Clock;
  readonly readStartMark?: ReadStartMark | undefined;
}

/** Goes on with a command that was just started. */
export function followCommand(order: CommandOrder, parts: RunParts): CommandRun {
  return new FollowedCommand(order, parts);
}

class FollowedCommand implements CommandRun {
  readonly ended: Promise<CommandEnd>;
  readonly #group: ProcessGroup;
  readonly #parts: RunParts;
  readonly #drains: readonly Drain[];
  readonly #status: Promise<Deno.CommandStatus>;
  /** Resolves when the command has ended by itself and its pipes too. */
  readonly #finished: Promise<unknown>;
  readonly #stopped = Promise.withResolvers<void>();
  readonly #startedAtMs: number;
  #reason: EndReason | undefined;
  #isOver = false;

  constructor({ deadlineAtMs, stdout, stderr }: CommandOrder, parts: RunParts) {
    const { process, clock, readStartMark } = parts;
    this.#parts = parts;
    this.#group = new ProcessGroup(process, readStartMark);
    this.#startedAtMs = clock.now();
    this.#status = process.status;
    this.#drains = [new Drain(process.stdout, stdout), new Drain(process.stderr, stderr)];
    for (const { over } of this.#drains) {
      over.then((isBroken) => {
        if (isBroken) this.stop("output_lost");
      });
    }
    this.#finished = Promise.all([this.#status, ...this.#drains.map(({ over }) => over)]);
    this.ended = this.#follow(deadlineAtMs);
  }

  get pid(): number {
    return this.#group.pid;
  }

  identify(): Promise<boolean> {
    return this.#group.identify(this.#parts.clock);
  }

  stop(reason: Exclude<EndReason, "exited">): Promise<CommandEnd> {
    if (this.#reason === undefined && !this.#isOver) {
      this.#reason = reason;
      this.#climb();
    }
    return this.ended;
  }

  close(): Promise<CommandEnd> {
    return this.stop("interrupted");
  }

  kill(): void {
    this.#group.signal("SIGKILL");
    this.stop("interrupted");
  }

  async #climb(): Promise<void> {
    this.#group.signal("SIGTERM");
    if (!await this.#comes(this.#finished, limits.commandTermGraceMs)) this.#group.signal("SIGKILL");
    this.#stopped.resolve();
  }

  async #follow(deadlineAtMs: number): Promise<CommandEnd> {
    const { clock } = this.#parts;
    const inTime = new AbortController();
    clock.sleepUntil(deadlineAtMs, inTime.signal)
      .then(() => inTime.signal.aborted ? undefined : this.stop("timed_out"));
    await Promise.race([this.#finished, this.#stopped.promise]);
    this.#isOver = true;
    inTime.abort();
    // By the mark in their environment, those that left its group too; then whoever wiped that off.
    const left = await this.#endLeft();
    const isEmpty = await this.#group.empty(clock);
    const isReaped = await this.#comes(this.#status, patience.killedMs);
    const durationMs = clock.now() - this.#startedAtMs;
    const drained = Promise.all(this.#drains.map(({ over }) => over));
    await this.#comes(drained, patience.lastBytesMs);
    await Promise.all(this.#drains.map((drain) => drain.cut()));
    if (isReaped) this.#group.close();
    const { code, signal } = isReaped ? await this.#status : { code: null, signal: null };
    const reason = this.#reason ?? "exited";
    return {
      reason,
      code: reason === "timed_out" || reason === "stalled" ? timedOutCode : signal === null ? code : null,
      signal,
      durationMs,
      leftBehind: reason === "exited" ? left.endedCount : 0,
      isGone: isReaped && isEmpty && left.restCount === 0,
    };
  }

  async #endLeft(): Promise<{ readonly endedCount: number; readonly restCount: number }> {
    const { spawnId, clock } = this.#parts;
    try {
      const table = await openProcessTable((entries) => isOfSpawn(entries, spawnId));
      if (table !== undefined) return await endLeftBehind(table, clock, limits.commandTermGraceMs);
    } catch {
      // Environments cannot be read: what left the group cannot be found.
    }
    return { endedCount: 0, restCount: 0 };
  }

  /** True if `event` comes within `ms`. */
  async #comes(event: Promise<unknown>, ms: number): Promise<boolean> {
    const stop = new AbortController();
    const { clock } = this.#parts;
    const late = clock.sleepUntil(clock.now() + ms, stop.signal).then(() => false);
    const inTime = await Promise.race([event.then(() => true), late]);
    stop.abort();
    return inTime;
  }
}
