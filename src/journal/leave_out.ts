/** Leaves roots out of what waits to be written, because another runtime has taken them over. */
import type { Group, QueueItem } from "./group.ts";

/** Takes the units of these roots out of the queue, and out of the group at hand. Returns how many there were. */
export function leaveOut(roots: ReadonlySet<string>, queue: QueueItem[], group?: Group): number {
  const isKept = ({ prepared }: QueueItem) => prepared === undefined || !roots.has(prepared.unit.root);
  const lists = group === undefined ? [queue] : [queue, group.done];
  let dropped = 0;
  for (const list of lists) {
    const kept = list.filter(isKept);
    dropped += list.length - kept.length;
    list.splice(0, list.length, ...kept);
  }
  if (group !== undefined) {
    const units = group.units.filter(({ unit }) => !roots.has(unit.root));
    group.units.splice(0, group.units.length, ...units);
  }
  return dropped;
}
