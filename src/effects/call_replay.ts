/** Looks whether every call of a session was made with an entry of a catalog that the session was issued (DM-8). */
import { catalogOf, mismatchOf } from "../../actors/library.ts";
import { EntryRef } from "../../schemas/catalog.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import { isCall, shelvedHashIn } from "../journal/named_blobs.ts";
import type { Divergence } from "../kernel/feed.ts";

/** Options of {@linkcode CallReplay}. */
export interface CallReplayOptions {
  readonly address: RootAddress;
  readonly loadShelved: (hash: string) => Promise<void>;
}

/** Takes the entries of a session in their order, whatever code wrote them. */
export class CallReplay {
  /** The first call whose entry is not in a recorded catalog. */
  divergence: Divergence | undefined;
  readonly #options: CallReplayOptions;
  readonly #issued = new Set<string>();

  constructor(options: CallReplayOptions) {
    this.#options = options;
  }

  /** Takes the next entry; returns what there is to wait for before the one after it, if anything. */
  take(entry: Entry): Promise<void> | undefined {
    const issued = entry.kind === "input" ? shelvedHashIn(entry) : undefined;
    if (issued !== undefined) this.#issued.add(issued);
    const isLooked = entry.kind === "intent" && isCall(entry.type) && this.divergence === undefined;
    return isLooked ? this.#compare(entry) : undefined;
  }

  async #compare({ seq, body }: Entry): Promise<void> {
    const { args } = body as { readonly args?: { readonly entry?: Json } };
    const ref = EntryRef.safeParse(args?.entry);
    const got = ref.success ? await this.#problemOf(ref.data) : "it names no entry";
    if (got === undefined) return;
    const what = "a call is made with an entry of a recorded catalog (catalog_mismatch)";
    this.divergence = { address: this.#options.address, seq, what, expected: args?.entry ?? null, got };
  }

  async #problemOf(ref: EntryRef): Promise<string | undefined> {
    if (!this.#issued.has(ref.catalog)) return "its catalog was never issued to the session";
    await this.#options.loadShelved(ref.catalog);
    const catalog = catalogOf(ref.catalog);
    const entry = catalog?.entries.find(({ canonicalName }) => canonicalName === ref.name);
    return entry === undefined ? "its catalog has no such entry" : mismatchOf(ref, entry, catalog);
  }
}
