/** The catalog that a session was issued last, read from its journal. */
import { noWishes, type Wishes } from "../../actors/exposure.ts";
import type { ExposureBudget } from "../../schemas/agent.ts";
import { ResolvedCatalog } from "../../schemas/catalog.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { readJson } from "../border.ts";
import { ExposureFold } from "../effects/exposure_fold.ts";
import type { Records } from "../host/host.ts";
import { shelvedHashIn } from "../journal/named_blobs.ts";
import { UsageError } from "./exit.ts";
import { exportLineBounds } from "../export/export_format.ts";
import { peekList } from "../peek.ts";

/** What a session's journal says of its tools. */
export interface SessionCatalog {
  readonly catalog: ResolvedCatalog;
  /** Every catalog that the session was issued, the newest last. */
  readonly hashes: readonly string[];
  readonly wishes: Wishes;
  readonly budget: ExposureBudget;
  readonly capabilities: readonly string[];
}

/** Reads a session's catalog, and what its model was asked and called so far. */
export async function readSessionCatalog(
  records: Pick<Records, "readPages" | "readBlob">,
  address: RootAddress,
): Promise<SessionCatalog> {
  const fold = new ExposureFold();
  const hashes = new Set<string>();
  let capabilities: readonly string[] = [];
  for await (const page of records.readPages(address)) {
    for (const entry of page) {
      fold.take(entry);
      const hash = shelvedHashIn(entry);
      if (hash !== undefined) hashes.add(hash);
      if (entry.kind === "created") {
        capabilities = peekList(entry.body, "input", "agent", "capabilities").map(String);
      }
    }
  }
  const last = [...hashes].at(-1);
  if (last === undefined) {
    throw new UsageError("catalog_unavailable", `"${address}" was issued no catalog yet: give it a prompt`);
  }
  const catalog = await readCatalog(records, last);
  return { catalog, hashes: [...hashes], wishes: fold.wishes, budget: fold.budget, capabilities };
}

/** Reads a sealed catalog. */
export async function readCatalog(
  records: Pick<Records, "readBlob">,
  hash: string,
): Promise<ResolvedCatalog> {
  const bytes = await records.readBlob(hash);
  return ResolvedCatalog.parse(readJson(new TextDecoder().decode(bytes), exportLineBounds));
}

/** The wishes of a turn that was asked this, in a session that called what it called. */
export function wishesFor(prompt: string | undefined, known: Wishes = noWishes): Wishes {
  if (prompt === undefined) return known;
  return { ...noWishes, prompt, calledBefore: [...known.calledBefore, ...known.called] };
}

/** True if a name means a session, not an agent. */
export function isSessionName(name: string): boolean {
  return name === "last" || /^(session\/)?ses_/.test(name);
}
