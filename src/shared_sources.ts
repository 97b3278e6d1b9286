/**
 * The sources that come with the runtime are the same in every catalog, and large: they are kept once, as a blob, and
 * catalogs name it.
 */
import { internSources } from "../actors/library.ts";
import { type CatalogSource, SharedSources } from "../schemas/catalog.ts";
import type { Digest } from "../schemas/ids.ts";
import type { Json } from "../schemas/json.ts";
import { canonicalBytes } from "./canonical.ts";
import { loadShelved } from "./effects/shelved.ts";
import type { JournalReader } from "./journal/journal.ts";
import type { Kernel } from "./kernel/kernel.ts";
import type { Seams } from "./seams.ts";
import { builtinSources } from "./tools/builtin.ts";

/** What a catalog is made from, as it is created. */
export interface GivenSources {
  readonly sources: readonly CatalogSource[];
  readonly shared?: Digest;
}

interface Kept {
  readonly hash: Digest;
  readonly bytes: Uint8Array;
  readonly sources: SharedSources;
}

/** By what makes the hash, since that is the runtime's own. */
const kept = new WeakMap<Seams["digest"], Promise<Kept>>();

/**
 * Takes out of the sources of a catalog what many share, and has that durable before whatever is written next. What is
 * not shared stays as it is.
 */
export async function shareSources(kernel: Kernel, sources: readonly CatalogSource[]): Promise<GivenSources> {
  if (!builtinSources.every((source, at) => sources[at] === source)) return { sources };
  const { hash, bytes, sources: shared } = await ownOf(kernel.seams.digest);
  kernel.journal.writer.putBlob({ digest: hash, bytes });
  internSources(hash, shared);
  return { sources: sources.slice(builtinSources.length), shared: hash };
}

/**
 * Loads what stands under a hash into the library. What this release brings itself needs no blob, so one that was lost
 * keeps nobody from waking; the next birth writes it again.
 */
export async function loadNamed(
  journal: Pick<JournalReader, "readBlob">,
  digest: Seams["digest"],
  hash: string,
): Promise<void> {
  const own = await ownOf(digest);
  if (hash === own.hash) internSources(hash, own.sources);
  else await loadShelved(journal, hash);
}

function ownOf(digest: Seams["digest"]): Promise<Kept> {
  const known = kept.get(digest) ?? keep(digest);
  kept.set(digest, known);
  return known;
}

async function keep(digest: Seams["digest"]): Promise<Kept> {
  const bytes = canonicalBytes(SharedSources.parse(builtinSources) as unknown as Json);
  // What machines find must be what a later process reads back, to the order of its keys (K5).
  const sources: SharedSources = JSON.parse(new TextDecoder().decode(bytes));
  return { hash: await digest(bytes), bytes, sources };
}
