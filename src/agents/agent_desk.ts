/**
 * Where child agents are begun, spoken to, waited for and ended. Keeps no state of its own: what a child is stands in its
 * task and in its session (CM-102).
 */
import { type KnownTool, resolveRights, type WantedRights } from "../../actors/child_rights.ts";
import type { ChildScope, ChildSlots, CloseStrictness } from "../../schemas/child_agent.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { RootAddress, TaskNews } from "../../schemas/ids.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { isEnd, type TaskRecord } from "../../schemas/task.ts";
import { openWorkspace } from "../tools/workspace.ts";
import { submit } from "../kernel/command.ts";
import { type Kernel, KernelError } from "../kernel/kernel.ts";
import { derivedId } from "../tasks/derived_id.ts";
import type { TaskDesk, TaskOrder } from "../tasks/task_desk.ts";
import { readLineage } from "./lineage.ts";

/** A child that is wanted. */
export interface ChildOrder extends Pick<TaskOrder, "owner" | "key" | "origin"> {
  readonly content: string;
  readonly title: string;
  readonly scope: ChildScope;
  readonly wanted: WantedRights;
  readonly requested: JsonObject;
  readonly slots: ChildSlots;
  readonly silent: boolean;
  /** The tools that a name may mean. */
  readonly known: readonly KnownTool[];
  readonly untilMs: number;
  readonly signal: AbortSignal;
}

/** A child and the task that runs it. */
export type Child = TaskRecord & { readonly agent: NonNullable<TaskRecord["agent"]> };

/** How children of a group were met. */
export interface GroupAwaited {
  readonly children: readonly Child[];
  readonly isTimedOut: boolean;
}

/** What is waited for, and how long. */
export interface Patience {
  /** True if these, which are done, are enough. */
  readonly required: (done: readonly Child[]) => boolean;
  readonly untilMs: number;
  readonly isDone?: (child: Child) => boolean;
}

/** How a command to a child is identified. */
interface CommandKey {
  readonly owner: RootAddress;
  readonly key: string;
}

/** The child agents of a runtime. Whoever asks names the session that they are children of (CM-107). */
export class AgentDesk {
  readonly #kernelOf: () => Kernel;
  readonly #tasks: TaskDesk;

  constructor(kernel: () => Kernel, tasks: TaskDesk) {
    this.#kernelOf = kernel;
    this.#tasks = tasks;
  }

  /** Begins a child; resolves once its session is durable, or it is certain that there will be none (CM-124). */
  async spawn(order: ChildOrder): Promise<Child | Failure> {
    const { owner, key, origin, content, title, silent, scope, wanted, requested, slots } = order;
    const kernel = this.#kernelOf();
    const lineage = await readLineage(kernel, owner);
    if (lineage === undefined) {
      return failure("tool_failed", "This session cannot be read: it begins no child");
    }
    const resolved = resolveRights(lineage, await inWorkspace(lineage.workspace, wanted), order.known);
    if ("failure" in resolved) return resolved.failure;
    const outside = await outsideOf(lineage.workspace, resolved.rights.workspace);
    if (outside !== undefined) return outside;
    const child: RootAddress = `session/${await derivedId("ses", key, kernel.seams.digest)}`;
    const name = title.slice(0, limits.agentNameShownCharactersMax).trim() || "child";
    const opened = await this.#tasks.open({
      owner,
      key,
      origin,
      title: title.slice(0, limits.taskTitleCharactersMax),
      principal: lineage.session.principal,
      detached: false,
      silent,
      work: {
        kind: "agent.spawn",
        child,
        content: content.slice(0, limits.promptCharactersMax),
        scope,
        path: [...lineage.path, name],
        requested,
        rights: resolved.rights,
        slots,
      },
    });
    if ("code" in opened) return opened;
    const { id } = opened;
    const isKnown = (one: TaskRecord) => one.agent?.isMade === true;
    const awaited = await this.#tasks.until(owner, id, { ...order, isEnough: isKnown });
    const record = awaited?.record ?? opened;
    return isChild(record) && record.agent.isMade ? record : notBegun(record);
  }

  /** The children of a session, the oldest first. */
  async list(owner: RootAddress): Promise<readonly Child[]> {
    return (await this.#tasks.list(owner)).filter(isChild).reverse();
  }

  /** A child of a session, by the id of its own session or of its task; undefined if it is none of this session's. */
  async find(owner: RootAddress, id: string): Promise<Child | undefined> {
    const wanted = id.replace(/^session\//, "");
    return (await this.list(owner)).find((one) =>
      one.id === wanted || one.agent.child === `session/${wanted}`
    );
  }

  /** Gives a child another prompt. The same key is the same prompt. */
  async send(child: Child, { owner, key }: CommandKey, text: string): Promise<Failure | undefined> {
    if (isEnd(child.status)) {
      return failure("session_closed", "This child agent has ended: begin another one");
    }
    return await this.#tell(child, { owner, key }, { type: "task.send", text });
  }

  /** Ends a child; resolves once it has ended, or nobody waits any more. */
  async close(
    child: Child,
    { owner, key, strictness, signal }: CommandKey & {
      readonly strictness: CloseStrictness;
      readonly signal: AbortSignal;
    },
  ): Promise<Child> {
    if (isEnd(child.status)) return child;
    const message = { type: "task.close", strictness, reason: "Its parent closes it" };
    const gone = Promise.withResolvers<undefined>();
    const leave = () => gone.resolve(undefined);
    signal.addEventListener("abort", leave, { once: true });
    await Promise.race([this.#tell(child, { owner, key }, message), gone.promise]);
    signal.removeEventListener("abort", leave);
    return await this.find(owner, child.id) ?? child;
  }

  /** Waits until enough of these children are done: terminal, unless `isDone` says otherwise. At most until `untilMs`. */
  async untilTerminal(
    owner: RootAddress,
    children: readonly Child[],
    { required, untilMs, signal, isDone = isTerminal }: Patience & { readonly signal: AbortSignal },
  ): Promise<GroupAwaited> {
    const enough = new AbortController();
    const stop = () => enough.abort();
    signal.addEventListener("abort", stop, { once: true });
    const terminal: Child[] = [];
    const waits = children.map(async ({ id }) => {
      const awaited = await this.#tasks.until(owner, id, {
        untilMs,
        signal: enough.signal,
        isEnough: (one) => isChild(one) && isDone(one),
      });
      if (awaited === undefined || !isChild(awaited.record) || !isDone(awaited.record)) return;
      terminal.push(awaited.record);
      if (required(terminal)) enough.abort();
    });
    await Promise.all(waits);
    signal.removeEventListener("abort", stop);
    const now = await Promise.all(children.map((one) => this.find(owner, one.id)));
    const shown = now.map((one, at) => one ?? children[at] as Child);
    return { children: shown, isTimedOut: !required(shown.filter(isDone)) };
  }

  async #tell(
    child: Child,
    { owner, key }: CommandKey,
    message: { readonly type: string; readonly [field: string]: string },
  ): Promise<Failure | undefined> {
    const ref = { principal: `agent:${owner.slice("session/".length)}`, key };
    try {
      const { reply } = await submit(this.#kernelOf(), { root: child.address, message, ref });
      const { status, value } = await reply;
      return status === "ok" ? undefined : (value as unknown as { readonly failure: Failure }).failure;
    } catch (error) {
      if (!(error instanceof KernelError)) throw error;
      return failure("child_lost", `The child agent cannot be told anything: ${error.message}`);
    }
  }
}

/** True if a task runs a child. */
export function isChild(record: TaskRecord): record is Child {
  return record.agent !== undefined;
}

/** True if nothing more is to be waited for (CM-103): it answered what it was asked, or it has ended. */
export function isTerminal({ status, agent }: Child): boolean {
  const { observed, close } = agent;
  return isEnd(status) || close === "closed" || close === "failed" || observed === "completed" ||
    observed === "failed" || observed === "interrupted";
}

/** How a result names what it tells of a child, so that no notice of the same follows (DM-121). */
export function newsOf({ id, status, agent }: Child): TaskNews {
  return isEnd(status) || agent.scope === "task" || agent.answers === 0 ? id : `${id}#${agent.answers}`;
}

function notBegun(record: TaskRecord): Failure {
  if (record.failure !== null) return record.failure;
  return isEnd(record.status)
    ? failure("task_lost", `The child agent was not begun: ${record.summary}`)
    : failure(
      "tool_timed_out",
      "The child agent was not begun in time: look at subagent_list before another try",
    );
}

/** The folder as it really is, relative to the workspace: no link leads a child elsewhere later. */
async function inWorkspace(workspace: string, wanted: WantedRights): Promise<WantedRights> {
  if (wanted.workspace === undefined || workspace === "") return wanted;
  try {
    const [root, real] = await Promise.all([
      Deno.realPath(workspace),
      Deno.realPath(`${workspace}/${wanted.workspace}`),
    ]);
    if (real === root) return { ...wanted, workspace: undefined };
    return real.startsWith(`${root}/`) ? { ...wanted, workspace: real.slice(root.length + 1) } : wanted;
  } catch {
    return wanted;
  }
}

async function outsideOf(workspace: string, folder: string | undefined): Promise<Failure | undefined> {
  if (folder === undefined) return undefined;
  const opened = await openWorkspace(workspace);
  if (!opened.ok) return opened.failure;
  const found = await opened.value.realFolder(folder);
  return found.ok ? undefined : found.failure;
}
