/** Ends in a fork what was open in its origin: by messages that its machine takes, so that a replay says the same. */
import {
  closedIn,
  forkedState,
  type ForkIdentity,
  hasTurn,
  restingState,
  type SessionState,
  tasksToEnd,
} from "../../actors/session_fork.ts";
import { versionMark } from "../../actors/migrate.ts";
import type { CheckpointBody, Entry } from "../../schemas/entry.ts";
import { failure } from "../../schemas/failure.ts";
import type { ForkClosed, ForkOrigin, ForkSettled } from "../../schemas/fork.ts";
import { comparePositions, type RootAddress, type TaskId } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { throughJson } from "../canonical.ts";
import { compose, type EntryDraft } from "./compose.ts";
import { placeEntries } from "./crank.ts";
import type { PortRecord } from "./desk.ts";
import { type Kernel, KernelError } from "./kernel.ts";
import type { Beginning, LiveRoot } from "./live_root.ts";

/** How often a turn is told to end before it is given up: a call in doubt has to be told twice. */
const roundsMax = 8;

/** What a fork is told of its origin. */
export interface ForkClosingOptions {
  readonly identity: ForkIdentity;
  readonly origin: ForkOrigin;
  /** The time of the last common entry: a turn that ends in the fork has taken no longer than until then. */
  readonly at: number;
  /** The title of a task, for the news of its end. */
  readonly titleOf: (task: TaskId) => string;
}

/** What a fork begins with, behind the entries that it has in common with its origin. */
export interface ForkClosing {
  readonly entries: readonly Entry[];
  readonly settled: readonly ForkSettled[];
  readonly closed: readonly ForkClosed[];
}

/** Brings a fork to rest in memory: the root is then as it will be read back. Nothing is performed or delivered. */
export function closeFork(kernel: Kernel, root: LiveRoot, options: ForkClosingOptions): ForkClosing {
  return new Closing(kernel, root, options).run();
}

/** How an open intent is called: its kind, its place, and what it is for. */
export function intentName({ id, request }: PortRecord): string {
  const { invocation, entry } = request.args as {
    readonly invocation?: string;
    readonly entry?: { readonly name?: string };
  };
  return [`${request.port} ${id}`, invocation, entry?.name].filter((part) => part !== undefined)
    .join(", ").slice(0, 300);
}

class Closing {
  readonly #kernel: Kernel;
  readonly #root: LiveRoot;
  readonly #options: ForkClosingOptions;
  readonly #entries: Entry[] = [];
  readonly #settled: ForkSettled[] = [];

  constructor(kernel: Kernel, root: LiveRoot, options: ForkClosingOptions) {
    this.#kernel = kernel;
    this.#root = root;
    this.#options = options;
  }

  run(): ForkClosing {
    const state = this.#state();
    const closed = closedIn(state);
    const { identity, origin } = this.#options;
    const forked = forkedState(state, identity);
    if (hasTurn(state)) {
      this.#restore(forked, origin);
      this.#endTurn();
      this.#restore(restingState(this.#state()));
    } else this.#restore(restingState(forked), origin);
    this.#endTasks();
    return { entries: this.#entries, settled: this.#settled, closed };
  }

  #state(): SessionState {
    return this.#root.persisted() as unknown as SessionState;
  }

  /** A checkpoint is truth: what comes after is replayed from it (K21). */
  #restore(state: SessionState, origin?: ForkOrigin): void {
    const root = this.#root;
    const record = root.restore(throughJson(state) as unknown as Json);
    if (record.fault !== undefined) throw stuck(root.address, record.fault.message);
    const body: CheckpointBody = {
      machine: root.kind,
      code: this.#kernel.code,
      state: throughJson(root.persisted()),
      open: [...root.ports.keys()],
      ...versionMark(this.#kernel.stateFormats[root.kind]),
      ...(origin === undefined ? {} : { origin }),
    };
    this.#place({ kind: "checkpoint", type: root.kind, body: body as unknown as Json }, []);
  }

  /** Stops the turn, and settles every intent that it waits for, whatever it asks for meanwhile. */
  #endTurn(): void {
    const reason = `Forked at entry ${this.#options.origin.seq}: the turn goes on in the original only`;
    for (let round = 0; hasTurn(this.#state()); round++) {
      if (round === roundsMax) throw stuck(this.#root.address, "its turn does not end");
      this.#deliver("input", "session.cancel", { message: { type: "session.cancel", reason } });
      for (let count = 0; this.#root.ports.size > 0 && count < limits.crankAsksMax; count++) {
        this.#settle(
          [...this.#root.ports.values()].sort((left, right) => comparePositions(left.id, right.id))[0],
        );
      }
    }
    if (this.#root.ports.size > 0) throw stuck(this.#root.address, "it still waits for something");
  }

  #settle(port: PortRecord | undefined): void {
    if (port === undefined) return;
    const { id, request } = port;
    this.#settled.push({ id, what: intentName(port), harmful: request.effect !== "idempotent" });
    const attempt = this.#root.attempts.get(id) ?? 1;
    const why = failure("forked", "The session was forked while this was under way: it goes on there only");
    this.#deliver("outcome", request.port, { id, attempt, status: "canceled", failure: why });
  }

  /** The model is told that its tasks are not here any more. */
  #endTasks(): void {
    for (const { task, address, kind } of tasksToEnd(this.#state())) {
      const title = this.#options.titleOf(task).slice(0, limits.taskTitleCharactersMax);
      const summary =
        "forked: this session began as a copy of another one, where the task goes on; it is not here";
      const message = { type: "task.ended", task, kind, title, status: "canceled", summary, silent: false };
      this.#deliver("input", "task.ended", { message, sender: address });
    }
  }

  #deliver(kind: "input" | "outcome", type: string, given: object): void {
    const root = this.#root;
    const body = throughJson(given) as unknown as Json;
    const beginning: Beginning = {
      kind,
      seq: root.seq + 1,
      at: this.#options.at,
      epoch: this.#kernel.journal.ownership.epochOf(root.address),
      body,
    };
    const record = root.deliver(beginning);
    if (record.fault !== undefined) throw stuck(root.address, record.fault.message);
    this.#place({ kind, type, body }, compose(record));
  }

  #place(opening: EntryDraft, rest: EntryDraft[]): void {
    const epoch = this.#kernel.journal.ownership.epochOf(this.#root.address);
    const seq = this.#root.seq + 1;
    const beginning = { kind: "input", seq, at: this.#options.at, epoch, body: null } as const;
    const placed = placeEntries(beginning, opening, rest);
    this.#entries.push(...placed);
    this.#root.seq += placed.length;
  }
}

function stuck(root: RootAddress, why: string): KernelError {
  return new KernelError("fork_failed", `Cannot bring the fork "${root}" to rest: ${why}`);
}
