/**
 * Where tasks are opened, looked up, waited for and canceled. Keeps no state of its own: what a task is stands in its
 * root and in the row that is written with every change of it (DM-107, DM-115).
 */
import { createTask } from "../births.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import { type RootAddress, taskAddress, TaskId } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { isAtRest, isEnd, type TaskInput, TaskRecord } from "../../schemas/task.ts";
import { keys } from "../journal/keys.ts";
import { submit } from "../kernel/command.ts";
import type { Kernel, KernelEvent } from "../kernel/kernel.ts";
import { derivedId } from "./derived_id.ts";
import { readTasks } from "./task_rows.ts";

/** A task that is wanted. */
export interface TaskOrder
  extends Pick<TaskInput, "owner" | "principal" | "origin" | "title" | "detached" | "silent" | "work"> {
  /** What it follows from: the same key is the same task (GA-54). */
  readonly key: string;
  /** What it alone may change, by name (DM-119). */
  readonly scope?: string;
}

/** A task that was waited for. */
export interface Awaited {
  readonly record: TaskRecord;
  readonly isTimedOut: boolean;
}

/** How long a task is waited for, and until what. */
export interface Patience {
  readonly untilMs: number;
  readonly signal: AbortSignal;
  readonly isEnough: (record: TaskRecord) => boolean;
}

/** The tasks of a runtime. A task that is another session's is not found: whoever asks names its owner. */
export class TaskDesk {
  readonly #kernelOf: () => Kernel;
  /** Scopes of tasks that are being born. */
  readonly #claims = new Set<string>();
  /** Births under way, by address: a repeat waits for the first. */
  readonly #births = new Map<RootAddress, Promise<TaskRecord | Failure>>();

  /** `kernel` is asked for once something is wanted: a host gets the desk before its runtime goes. */
  constructor(kernel: () => Kernel) {
    this.#kernelOf = kernel;
  }

  /** Opens a task; resolves once it is durable. The same key again is the same task. */
  async open(order: TaskOrder): Promise<TaskRecord | Failure> {
    const { seams } = this.#kernel;
    const id = TaskId.parse(await derivedId("tsk", order.key, seams.digest));
    const address = taskAddress(id, order.owner);
    const under = this.#births.get(address);
    if (under !== undefined) return await under;
    const known = await this.find(order.owner, id);
    if (known !== undefined) return known;
    const birth = this.#births.get(address) ?? this.#bear(order, id, address);
    this.#births.set(address, birth);
    try {
      return await birth;
    } finally {
      this.#births.delete(address);
    }
  }

  /** Tasks of a session, the newest first. */
  async list(owner: RootAddress): Promise<readonly TaskRecord[]> {
    return await readTasks(this.#kernel.journal, owner);
  }

  /** A task of a session; undefined if that session has none of this id. */
  async find(owner: RootAddress, id: TaskId): Promise<TaskRecord | undefined> {
    const value = await this.#kernel.journal.readRow(keys.task(owner, id));
    return value === undefined ? undefined : TaskRecord.parse(value);
  }

  /** Ends a task; resolves once nothing of it is left. What has ended stays as it is. */
  async cancel(owner: RootAddress, id: TaskId, reason: string): Promise<TaskRecord | undefined> {
    const record = await this.find(owner, id);
    if (record === undefined || isEnd(record.status)) return record;
    const ref = { principal: "program:runtime", key: this.#kernel.seams.nextId("cmd") };
    const message = { type: "task.cancel", reason: reason.slice(0, 500) };
    const { reply } = await submit(this.#kernel, { root: record.address, message, ref, isFresh: true });
    await reply;
    return await this.find(owner, id);
  }

  /** Waits until a task has ended, or needs a person; at most until `untilMs`, or until nobody waits any more. */
  untilEnded(
    owner: RootAddress,
    id: TaskId,
    patience: Omit<Patience, "isEnough">,
  ): Promise<Awaited | undefined> {
    const isEnough = ({ status }: TaskRecord) => status === "blocked_needs_user";
    return this.until(owner, id, { ...patience, isEnough });
  }

  /** Waits until a task has come so far, or has ended. */
  async until(
    owner: RootAddress,
    id: TaskId,
    { untilMs, signal, isEnough }: Patience,
  ): Promise<Awaited | undefined> {
    const { clock } = this.#kernel.seams;
    const enough = new AbortController();
    const stop = () => enough.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const late = clock.sleepUntil(untilMs, enough.signal);
    try {
      const isThere = (one: TaskRecord) => isEnd(one.status) || isEnough(one);
      const record = await this.#until({ owner, id }, late, isThere);
      return record === undefined ? undefined : { record, isTimedOut: !isThere(record) };
    } finally {
      signal.removeEventListener("abort", stop);
      enough.abort();
    }
  }

  /** Waits until nothing goes on in a task, however long it takes, or until nobody waits any more. */
  async untilOver(owner: RootAddress, id: TaskId, signal: AbortSignal): Promise<TaskRecord | undefined> {
    const gone = Promise.withResolvers<void>();
    const leave = () => gone.resolve();
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    try {
      return await this.#until({ owner, id }, gone.promise, (one) => isEnd(one.status) || isAtRest(one));
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /** The record of a task once it is as wanted, or as it is when the time is over. */
  async #until(
    { owner, id }: Pick<TaskRecord, "owner" | "id">,
    late: Promise<unknown>,
    isWanted: (record: TaskRecord) => boolean,
  ): Promise<TaskRecord | undefined> {
    const { watchers } = this.#kernel;
    const address = taskAddress(id, owner);
    let changed = Promise.withResolvers<boolean>();
    const over = late.then(() => true);
    const hear = (event: KernelEvent) => {
      if (event.root === address && event.type !== "progress") changed.resolve(false);
    };
    watchers.add(hear);
    try {
      for (;;) {
        // Listen first, look second: a change between the two is heard.
        changed = Promise.withResolvers<boolean>();
        const record = await this.find(owner, id);
        // One that goes on in another runtime is not heard of here any more.
        const isGone = !this.#kernel.journal.ownership.isOurs(address);
        if (record === undefined || isWanted(record) || isGone) return record;
        if (await Promise.race([over, changed.promise])) return await this.find(owner, id) ?? record;
      }
    } finally {
      watchers.delete(hear);
    }
  }

  get #kernel(): Kernel {
    return this.#kernelOf();
  }

  async #bear(order: TaskOrder, id: TaskId, address: RootAddress): Promise<TaskRecord | Failure> {
    const { seams } = this.#kernel;
    const { key: _, scope: name, ...rest } = order;
    const open = (await this.list(order.owner)).filter(({ status }) => !isEnd(status));
    if (open.length >= limits.tasksOpenMax) {
      return failure(
        "task_limit",
        `This session has ${open.length} tasks that have not ended: wait for one, or cancel one`,
      );
    }
    const digest = name === undefined ? undefined : await seams.digest(new TextEncoder().encode(name));
    if (name === undefined || digest === undefined) return await this.#create(rest, id, address);
    const taken = failure(
      "task_scope_taken",
      "Another task works in the same place and has not ended: wait for it, or cancel it; task_list shows it",
    );
    if (this.#claims.has(digest)) return taken;
    this.#claims.add(digest);
    try {
      if (await this.#kernel.journal.readRow(keys.scope(digest)) !== undefined) return taken;
      return await this.#create({ ...rest, scope: { name, digest } }, id, address);
    } finally {
      this.#claims.delete(digest);
    }
  }

  async #create(
    rest: Omit<TaskInput, "address" | "id" | "createdAt">,
    id: TaskId,
    address: RootAddress,
  ): Promise<TaskRecord> {
    const createdAt = this.#kernel.seams.clock.now();
    await createTask(this.#kernel, { ...rest, id, address, createdAt });
    const record = await this.find(rest.owner, id);
    if (record === undefined) throw new Error(`Cannot find the task "${address}" that was just made`);
    return record;
  }
}
