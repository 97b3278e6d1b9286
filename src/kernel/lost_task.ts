/** A task whose root is out of service: it has ended, whoever asks, and its session is told so, in one commit. */
import type { RootRecord } from "../../schemas/entry.ts";
import { failure } from "../../schemas/failure.ts";
import { type RootAddress, rootKindOf, sessionOf } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { isEnd, TaskRecord } from "../../schemas/task.ts";
import { keys } from "../journal/keys.ts";
import type { StoreKey } from "../journal/store.ts";
import type { Kernel } from "./kernel.ts";
import type { Letter } from "./route.ts";

/** What the commit of the quarantine holds besides. */
export interface LostTask {
  readonly letters: readonly Letter[];
  readonly sets: readonly { readonly key: StoreKey; readonly value: unknown }[];
  readonly deletes: readonly StoreKey[];
}

/** The end of the task that a root ran; undefined if it is no task's, or the task has ended. */
export async function lostTask(kernel: Kernel, record: RootRecord): Promise<LostTask | undefined> {
  const { address, reason = "" } = record;
  const owner = sessionOf(address);
  if (rootKindOf(address) !== "task" || owner === undefined) return undefined;
  const id = address.slice("task/".length).replace(/@.*$/, "");
  const row = TaskRecord.safeParse(await kernel.journal.readRow(keys.task(owner, id)));
  if (!row.success || isEnd(row.data.status)) return undefined;
  const task = row.data;
  const why = failure(
    "task_lost",
    `Its actor is out of service: ${reason}`.slice(0, limits.taskSummaryCharactersMax),
  );
  const ended: TaskRecord = {
    ...task,
    status: "lost",
    endedAt: kernel.seams.clock.now(),
    summary: why.message,
    failure: why,
  };
  const told = {
    task: task.id,
    kind: task.kind,
    title: task.title,
    status: "lost",
    summary: why.message,
    silent: false,
  };
  return {
    letters: [letter(address, owner, { type: "task.ended", ...told }), ...closeChild(task)],
    sets: [{ key: keys.task(owner, task.id), value: ended }],
    deletes: task.scope === null ? [] : [keys.scope(task.scope.digest)],
  };
}

/** Nobody is left to hear the child, so it is ended too. What it holds of the budget stays held: nobody knows its sum. */
function closeChild({ address, agent }: TaskRecord): readonly Letter[] {
  if (agent?.isMade !== true) return [];
  const message = {
    type: "session.close",
    strictness: "forced",
    reason: "The task that it works for is lost",
  };
  return [letter(address, agent.child, message)];
}

function letter(from: RootAddress, to: RootAddress, message: Letter["message"]): Letter {
  // Nothing is appended to its stream any more, so no other letter of its own has this place.
  return { key: keys.inbox(to, from, 0, 0), to, from, message };
}
