/** The rows of tasks, as their last changes left them (DM-115): read by whoever may, the owner of the store or not. */
import type { RootAddress } from "../../schemas/ids.ts";
import { TaskRecord } from "../../schemas/task.ts";
import type { JournalReader } from "../journal/journal.ts";
import { prefixes } from "../journal/keys.ts";

/** Tasks of a session, or of all, the newest first. */
export async function readTasks(
  journal: Pick<JournalReader, "listRows">,
  owner?: RootAddress,
): Promise<readonly TaskRecord[]> {
  const found: TaskRecord[] = [];
  const prefix = owner === undefined ? prefixes.allTasks : prefixes.tasks(owner);
  for await (const { value } of journal.listRows(prefix)) found.push(TaskRecord.parse(value));
  return found.sort((left, right) => right.createdAt - left.createdAt || (left.id < right.id ? 1 : -1));
}
