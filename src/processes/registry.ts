/** Every child of one run: started only once it is noted beside the store, ended with the run, swept by the next one. */
import { isExhausted } from "../exhaustion.ts";
import { realStorePath } from "../journal/store_file.ts";
import type { Clock, Seams } from "../seams.ts";
import { type Child, startChild } from "./child.ts";
import { ChildrenFile } from "./children_file.ts";
import { startError } from "./command.ts";
import { type CommandOrder, type CommandRun, followCommand } from "./command_run.ts";
import { endLeftBehind } from "./left_behind.ts";
import {
  createMark,
  isMarked,
  markText,
  type OwnerMark,
  ownerVariable,
  type RunChoice,
  spawnVariable,
} from "./owner_mark.ts";
import { errorCode, ProcessError, quoted } from "./process_error.ts";
import { openProcessTable } from "./process_table.ts";
import { spawnLeader, type SpawnOptions } from "./spawn.ts";
import type { ReadStartMark } from "./start_mark.ts";

/** Options of {@linkcode ProcessRegistry}. */
export interface ProcessRegistryOptions {
  /** Path of the store that this process owns, or `:memory:`. */
  readonly store: string;
  /** Names this run among all runs of the store. Letters, digits, `_`, `-`, at most 64. */
  readonly runId: string;
  readonly clock: Clock;
  readonly digest: Seams["digest"];
  readonly log: Seams["log"];
  /** How it is told which process a number means; as the system does by default. */
  readonly readStartMark?: ReadStartMark;
}

/** What the registry needs of everything that it started. */
interface Owned {
  readonly pid: number;
  readonly ended: Promise<unknown>;
  identify(): Promise<boolean>;
  close(): Promise<unknown>;
  kill(): void;
}

/** How one start goes on: from the environment that it carries to what runs. */
type Begin<T extends Owned> = (env: SpawnOptions["env"], spawnId: string) => T;

/** What a registry knows about its store. */
interface Ground {
  readonly mark: OwnerMark;
  /** Absent where the store is not a file: then nothing outlives the run that a later one could find. */
  readonly file: ChildrenFile | undefined;
}

/**
 * The children of one run of a runtime. Each carries `TROUPE_OWNER` in its environment, and so does everything that it
 * starts: that is how the next run finds what this one could not end. The file `<store>.children` tells that there may
 * be something to find.
 */
export class ProcessRegistry {
  readonly #options: ProcessRegistryOptions;
  readonly #children = new Set<Owned>();
  readonly #commands = new Set<CommandRun>();
  #ground: Promise<Ground> | undefined;
  #sweeping: Promise<number> | undefined;
  #closing: Promise<void> | undefined;
  #isClosed = false;
  #takesCommands = true;
  #hasStarted = false;
  #spawns = 0;

  constructor(options: ProcessRegistryOptions) {
    if (!/^[\w-]{1,64}$/.test(options.runId)) {
      throw new TypeError(`Cannot mark processes with run id ${quoted(options.runId)}`);
    }
    this.#options = options;
  }

  /** Children that live. */
  get size(): number {
    return this.#children.size;
  }

  /**
   * Ends what earlier runs of this store left behind, and tells how many processes that were. Called by the owner of
   * the store, before anything is started. Never throws: what cannot be ended is logged, and the next run tries again.
   */
  sweep(): Promise<number> {
    return this.#sweeping ??= this.#sweep();
  }

  /**
   * Starts a child once it is noted on the disk. Rejects with {@linkcode ProcessError}, `process_registry_closed` after
   * `closeAll` or `killAll`.
   */
  start(options: SpawnOptions): Promise<Child> {
    const { clock, readStartMark } = this.#options;
    return this.#begin(options, (env) => startChild({ ...options, env, clock, readStartMark }));
  }

  /** Starts a command in the same way (DM-96). It ends by itself, at its deadline, or when it is stopped. */
  async run(order: CommandOrder): Promise<CommandRun> {
    const { clock, readStartMark } = this.#options;
    return await this.#begin(order, (env, spawnId) => {
      this.#checkOpen(order.command, !this.#takesCommands);
      const process = spawnLeader({ ...order, env }, { stdin: "null" });
      const run = followCommand(order, { process, spawnId, clock, readStartMark });
      this.#commands.add(run);
      run.ended.then(() => this.#commands.delete(run));
      return run;
    });
  }

  /**
   * Ends every command, so that what became of it can still be written down, and starts none any more: a turn that goes
   * on would (DM-105). Servers go on.
   */
  async endCommands(): Promise<void> {
    this.#takesCommands = false;
    await Promise.all([...this.#commands].map((run) => run.close()));
  }

  async #begin<T extends Owned>(options: SpawnOptions, begin: Begin<T>): Promise<T> {
    const { command } = options;
    await this.#sweeping;
    const { mark, file } = await this.#onGround();
    // A note that comes after the file was taken away would make it again.
    this.#checkOpen(command);
    const place = file === undefined ? undefined : await this.#note(file, command);
    // Nothing is waited for between this look and the moment when the child is counted.
    this.#checkOpen(command);
    const spawnId = `${this.#options.runId}.${++this.#spawns}`;
    const marks = { [ownerVariable]: markText(mark), [spawnVariable]: spawnId };
    const child = begin({ ...options.env, ...marks }, spawnId);
    this.#children.add(child);
    this.#hasStarted = true;
    child.ended.then(() => this.#children.delete(child));
    if (!await child.identify()) {
      child.kill();
      await child.close();
      throw new ProcessError(
        "process_unidentified",
        `Ended ${
          quoted(command)
        } right after its start: the system does not say which process it is; look at /proc, or ps`,
      );
    }
    // For people only: a child that runs is worth more than its note.
    if (file !== undefined && place !== undefined) {
      await file.setPid(place, child.pid).catch(() => {});
    }
    return child;
  }

  /**
   * Closes every child at once, ends what left their groups, and takes the note away when the last has ended. Nothing
   * starts any more.
   */
  closeAll(): Promise<void> {
    this.#isClosed = true;
    return this.#closing ??= this.#closeAll();
  }

  /** KILL to every child at once. Nothing starts any more. */
  killAll(): void {
    this.#isClosed = true;
    for (const child of this.#children) child.kill();
  }

  async #closeAll(): Promise<void> {
    // The store may have another owner soon, whose children a sweep of ours would take for left behind.
    await this.#sweeping;
    await Promise.all([...this.#children].map((child) => child.close()));
    const { mark, file } = await (this.#ground ?? { mark: undefined, file: undefined });
    if (mark !== undefined && this.#hasStarted) await this.#endEscaped(mark);
    await file?.removeOurs().catch((error) => this.#warn("process.note_kept", error));
  }

  /** What a child started and what left its group is of this run as well. */
  async #endEscaped(mark: OwnerMark): Promise<void> {
    try {
      const table = await tableOf(mark, "this run");
      if (table !== undefined) await endLeftBehind(table, this.#options.clock);
    } catch (error) {
      this.#warn("process.sweep_failed", error);
    }
  }

  async #sweep(): Promise<number> {
    const { clock, log } = this.#options;
    try {
      const { mark, file } = await this.#onGround();
      if (file === undefined || !await file.exists()) return 0;
      const table = await tableOf(mark, "other runs");
      const { endedCount, restCount } = table === undefined
        ? { endedCount: 0, restCount: 0 }
        : await endLeftBehind(table, clock);
      if (endedCount + restCount > 0) {
        log({ level: "warning", event: "process.swept", detail: { ended: endedCount, rest: restCount } });
      }
      if (restCount === 0) await file.removeInherited();
      return endedCount;
    } catch (error) {
      this.#warn("process.sweep_failed", error);
      return 0;
    }
  }

  async #note(file: ChildrenFile, command: string): Promise<number> {
    try {
      return await file.add({ atMs: this.#options.clock.now(), command });
    } catch (error) {
      if (isExhausted(error)) throw startError(command, error);
      throw new ProcessError(
        "process_start_failed",
        `Cannot start ${quoted(command)}: it cannot be noted beside the store (${
          errorCode(error)
        }); make room, or make the folder writable`,
        { cause: error },
      );
    }
  }

  #onGround(): Promise<Ground> {
    return this.#ground ??= this.#findGround();
  }

  async #findGround(): Promise<Ground> {
    const { store, runId, digest } = this.#options;
    const isFile = store !== ":memory:" && !/^https?:/.test(store);
    const path = isFile ? await realStorePath(store) : store;
    return {
      mark: await createMark(path, runId, digest),
      file: isFile ? new ChildrenFile(`${path}.children`) : undefined,
    };
  }

  #checkOpen(command: string, isClosed = this.#isClosed): void {
    if (!isClosed) return;
    throw new ProcessError(
      "process_registry_closed",
      `Cannot start ${quoted(command)}: the runtime is stopping; start the runtime again first`,
    );
  }

  #warn(event: string, error: unknown): void {
    this.#options.log({ level: "warning", event, detail: { error: errorCode(error) } });
  }
}

function tableOf(mark: OwnerMark, which: RunChoice) {
  return openProcessTable((entries) => isMarked(entries, mark, which));
}
