/** Walks a folder tree in a fixed order, within bounds. */
import { limits } from "../../schemas/limits.ts";
import { accept, type Checked } from "./path.ts";
import type { FolderEntryKind, Workspace } from "./workspace.ts";

/** One thing met on the way. `path` is relative to the workspace. */
export interface WalkEntry {
  readonly path: string;
  readonly kind: FolderEntryKind;
}

/** Options of {@linkcode walk}. */
export interface WalkOptions {
  /** Levels below the first folder that are looked into; 1 is the folder itself. */
  readonly depthMax: number;
  /** Things looked at in all. At most and by default `limits.walkEntriesMax`. */
  readonly entriesMax?: number;
  readonly signal: AbortSignal;
}

/** What a walk met, in order: a folder stands before its content, names in the order of their code units. */
export interface Walk {
  readonly entries: readonly WalkEntry[];
  /** True if there was more than `entriesMax`. */
  readonly cut: boolean;
}

/** Folders that are named but not looked into: large, and not written by the people of the project. */
const skipped: ReadonlySet<string> = new Set([".git", "node_modules"]);

/**
 * Lists the tree below `path`. Links are named and not followed, so the walk ends. A folder below that cannot be
 * listed is left out; refuses if `path` itself cannot be.
 */
export async function walk(workspace: Workspace, path: string, options: WalkOptions): Promise<Checked<Walk>> {
  const entriesMax = Math.min(options.entriesMax ?? limits.walkEntriesMax, limits.walkEntriesMax);
  const base = workspace.relative(path);
  if (!base.ok) return base;
  const first = await workspace.listFolder(base.value);
  if (!first.ok) return first;
  const entries: WalkEntry[] = [];
  // The last one is next: a folder's content is put on top of what stands behind it.
  const waiting = first.value.map((entry) => ({ ...entry, path: below(base.value, entry.name), depth: 1 }))
    .reverse();
  while (!options.signal.aborted) {
    const next = waiting.pop();
    if (next === undefined) return accept({ entries, cut: false });
    if (entries.length >= entriesMax) break;
    entries.push({ path: next.path, kind: next.kind });
    if (next.kind !== "folder" || next.depth >= options.depthMax || skipped.has(next.name)) continue;
    const inner = await workspace.listFolder(next.path);
    if (!inner.ok) continue;
    const depth = next.depth + 1;
    const found = inner.value.map((entry) => ({ ...entry, path: below(next.path, entry.name), depth }));
    waiting.push(...found.reverse());
  }
  return accept({ entries, cut: true });
}

function below(path: string, name: string): string {
  return path === "" ? name : `${path}/${name}`;
}
