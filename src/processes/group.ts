/** A child that leads a process group, and signals to all of it: never to whoever has its number by now (DM-97). */
import { limits } from "../../schemas/limits.ts";
import type { Clock } from "../seams.ts";
import { type ReadStartMark, readStartMark } from "./start_mark.ts";

const isWindows = Deno.build.os === "windows";

/** How often a group is killed, and how long is waited in between for it to go. */
const patience = { killsMax: 100, pauseMs: 10 } as const;

/** The group of a child that was started detached: it has the child's number. */
export class ProcessGroup {
  readonly pid: number;
  readonly #process: Deno.ChildProcess;
  readonly #read: ReadStartMark;
  /** When the child began. Read before anything else can happen, so that nobody else has its number yet. */
  #startMark: string | undefined;
  /** True once the system was told that the child's end is known: from then on its number is free. */
  #isReaped = false;
  #isEmpty = false;

  constructor(process: Deno.ChildProcess, read: ReadStartMark = readStartMark) {
    this.pid = process.pid;
    this.#process = process;
    this.#read = read;
    this.#startMark = read(process.pid);
    process.status.then(() => this.#isReaped = true);
  }

  /** True once it is known when the child began. Asked a few times: a system under load may be slow to tell. */
  async identify(clock: Clock): Promise<boolean> {
    const { processMarkTriesMax, processMarkPauseMs } = limits;
    for (let tries = 1; this.#startMark === undefined && tries < processMarkTriesMax; tries++) {
      await clock.sleepUntil(clock.now() + processMarkPauseMs);
      this.#startMark = this.#isReaped ? undefined : this.#read(this.pid);
    }
    return this.#startMark !== undefined;
  }

  /** Nothing is left of it: its number is never used again. */
  close(): void {
    this.#isEmpty = true;
  }

  /** Sends a signal, if the number still means this group. One that is gone is no error. True if somebody got it. */
  signal(name: "SIGTERM" | "SIGKILL"): boolean {
    if (this.#isEmpty || !this.#isOurs()) return false;
    try {
      // Windows has no groups, so grandchildren live on there (no test runs on Windows).
      if (isWindows) this.#process.kill(name);
      // The child's own method would not do: after one signal it ignores every later one.
      else Deno.kill(-this.pid, name);
      return true;
    } catch {
      // Gone, or not ours to signal: whoever ends it goes on either way.
      return false;
    }
  }

  /** Kills whoever is in it until nobody lives there any more. False if somebody cannot be killed. */
  async empty(clock: Clock): Promise<boolean> {
    for (let kills = 0; kills < patience.killsMax; kills++) {
      if (!this.signal("SIGKILL") || !livesIn(this.pid)) return true;
      await clock.sleepUntil(clock.now() + patience.pauseMs);
    }
    return false;
  }

  /**
   * While its leader lives, or is dead and not yet reaped, its mark is the one that was read. Afterwards the number is
   * still the group's while anybody is in it, and then no process has it; if one has, the group is gone.
   */
  #isOurs(): boolean {
    const now = this.#read(this.pid);
    if (now === undefined || this.#startMark === undefined) {
      return this.#isReaped ? now === undefined : this.#startMark === undefined;
    }
    return now === this.#startMark;
  }
}

/**
 * True if anybody in a group lives. Who is dead and waits to be reaped by a process that does not can be signalled for
 * ever. Where the system does not tell, whoever can be signalled lives.
 */
function livesIn(group: number): boolean {
  if (Deno.build.os !== "linux") return true;
  try {
    return [...Deno.readDirSync("/proc")].some(({ name }) =>
      /^\d+$/.test(name) && isLivingMember(name, group)
    );
  } catch {
    return true;
  }
}

function isLivingMember(pid: string, group: number): boolean {
  try {
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    const [state, , of] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return of === String(group) && state !== "Z" && state !== "X";
  } catch {
    return false; // It has gone meanwhile.
  }
}
