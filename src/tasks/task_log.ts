/** What running tasks say: the end of it in memory, for whoever looks on (DM-110, DM-120). The whole is elsewhere. */
import type { TaskId } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { lastCharacters } from "../commands/capture.ts";

/** A piece of a log. */
export interface LogPiece {
  readonly text: string;
  /** Where the next piece begins, in characters from the start. */
  readonly next: number;
  /** Characters before it that are not kept any more. */
  readonly missed: number;
}

/** The log of one running task. Text comes in whole characters, without secrets. */
export class TaskLog {
  #text = "";
  #total = 0;
  #isOver = false;
  #news = Promise.withResolvers<void>();

  /** True once nothing more comes. */
  get isOver(): boolean {
    return this.#isOver;
  }

  take(text: string): void {
    this.#total += text.length;
    this.#text += text;
    // Cut now and then, not each time: so each character is copied twice at most.
    const max = limits.taskTailCharactersMax;
    if (this.#text.length > 4 * max) this.#text = lastCharacters(this.#text, 2 * max);
    this.#tell();
  }

  end(): void {
    this.#isOver = true;
    this.#tell();
  }

  /** The end of it: at most 40 lines, and 8,000 characters. */
  tail(): string {
    return tailOf(this.#text);
  }

  /** What stands from a place on, at most one chunk. */
  read(from: number): LogPiece {
    const start = this.#total - this.#text.length;
    const at = Math.min(Math.max(from, start), this.#total);
    const text = this.#text.slice(at - start, at - start + limits.taskChunkCharactersMax);
    return { text, next: at + text.length, missed: Math.max(0, at - from) };
  }

  /** Where its tail begins, in characters from the start. */
  get tailStart(): number {
    return this.#total - this.tail().length;
  }

  /** Resolves when there is more than `from`, or nothing more comes. */
  async moreThan(from: number): Promise<void> {
    while (!this.#isOver && this.#total <= from) await this.#news.promise;
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}

/** The logs of the tasks that run in this process. */
export class TaskLogs {
  readonly #logs = new Map<TaskId, TaskLog>();
  readonly #running = new Set<TaskId>();

  /** The log of a task that begins. */
  begin(task: TaskId): TaskLog {
    this.#running.add(task);
    return this.expect(task);
  }

  /** The log of a task, which may begin later. */
  expect(task: TaskId): TaskLog {
    const log = this.#logs.get(task) ?? new TaskLog();
    this.#logs.set(task, log);
    return log;
  }

  /** It is not expected any more; one that runs stays. */
  forget(task: TaskId): void {
    if (!this.#running.has(task)) this.#logs.delete(task);
  }

  /** Nothing more comes, and the record tells the end of it. */
  end(task: TaskId): void {
    this.#running.delete(task);
    this.#logs.get(task)?.end();
    this.#logs.delete(task);
  }

  /** Undefined for a task that does not run here. */
  of(task: TaskId): TaskLog | undefined {
    return this.#running.has(task) ? this.#logs.get(task) : undefined;
  }
}

/** The end of a text: at most 40 lines, and 8,000 characters; no half character. */
export function tailOf(text: string): string {
  const end = lastCharacters(text, limits.taskTailCharactersMax);
  let at = end.endsWith("\n") ? end.length - 1 : end.length;
  for (let lines = 0; lines < limits.taskTailLinesMax; lines++) {
    at = at === 0 ? -1 : end.lastIndexOf("\n", at - 1);
    if (at < 0) return end;
  }
  return end.slice(at + 1);
}

/** A tail as it is kept with a record: its JSON text has a bound in bytes too. */
export function keptTail(tail: string): string {
  const sizeOf = (text: string) => new TextEncoder().encode(JSON.stringify(text)).length;
  let kept = tail;
  while (sizeOf(kept) > limits.taskTailBytesMax) kept = lastCharacters(kept, Math.floor(kept.length * 3 / 4));
  return kept;
}
