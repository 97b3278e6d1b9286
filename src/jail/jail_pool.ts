/** Jails that are started before they are needed: a call waits for none, and no two calls share one. */
import type { JailJob } from "../../schemas/authored.ts";
import { Jail, type JailOptions, type JobEnd, type JobTerms } from "./jail.ts";

/** Options of {@linkcode JailPool}. */
export interface JailPoolOptions extends JailOptions {
  /** False: no jail is started before it is needed. Default true. */
  readonly keepsOne?: boolean;
}

/** Keeps one jail ready. */
export class JailPool {
  readonly #options: JailPoolOptions;
  #spare: Promise<Jail> | undefined;
  /** Jails that were killed, until they are gone. */
  readonly #ending = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: JailPoolOptions) {
    this.#options = options;
  }

  /** Starts the next jail now, so that the call that comes need not wait for it. */
  warm(): void {
    if (this.#options.keepsOne === false || this.#isClosed || this.#spare !== undefined) return;
    this.#spare = Jail.open(this.#options);
    // Whoever takes it hears of what went wrong.
    this.#spare.catch(() => {});
  }

  /** Does a job in a jail of its own. Rejects with `ProcessError` if none can be started. */
  async run(job: JailJob, terms: JobTerms): Promise<JobEnd> {
    const first = await this.#runOnce(job, terms);
    // One that died while it waited has read nothing: whoever ended it did not mean this job.
    const isUntouched = first.end.type === "broken" && !first.hasBegun && !terms.signal.aborted;
    return isUntouched ? (await this.#runOnce(job, terms)).end : first.end;
  }

  async #runOnce(
    job: JailJob,
    terms: JobTerms,
  ): Promise<{ readonly end: JobEnd; readonly hasBegun: boolean }> {
    const jail = await this.#take();
    try {
      const end = await jail.run(job, terms);
      return { end, hasBegun: jail.hasBegun };
    } finally {
      // Nobody waits for the end of a process that has answered; closing does.
      const ending = jail.end().finally(() => this.#ending.delete(ending));
      this.#ending.add(ending);
    }
  }

  /** Ends the jail that nobody took, and waits for those that are ending. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const spare = await this.#spare?.catch(() => undefined);
    this.#spare = undefined;
    await Promise.all([spare?.end(), ...this.#ending]);
  }

  /** A jail that nobody has used. */
  async #take(): Promise<Jail> {
    const spare = this.#spare;
    this.#spare = undefined;
    const ready = await spare?.catch(() => undefined);
    if (ready?.isAlive === false) await ready.end();
    const jail = ready?.isAlive === true ? ready : await Jail.open(this.#options);
    this.warm();
    return jail;
  }
}
