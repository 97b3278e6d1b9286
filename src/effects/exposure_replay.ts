/** Chooses again what a session's model was told of, and compares it with the journal (AR-14). */
import { expose } from "../../actors/exposure.ts";
import { catalogOf } from "../../actors/library.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import type { Divergence } from "../kernel/feed.ts";
import { exposedNote, ExposureFold, exposureKey, keyOf } from "./exposure_fold.ts";

/** Options of {@linkcode ExposureReplay}. */
export interface ExposureReplayOptions {
  readonly address: RootAddress;
  /** What other code wrote may have been chosen otherwise: it is compared only with `anyCode` (K21). */
  readonly code: string;
  readonly anyCode: boolean;
  readonly loadShelved: (hash: string) => Promise<void>;
}

/** Takes the entries of a session in their order. */
export class ExposureReplay {
  /** The first note that says something else than what is chosen now. */
  divergence: Divergence | undefined;
  readonly #options: ExposureReplayOptions;
  readonly #fold = new ExposureFold();
  #isForeign = false;

  constructor(options: ExposureReplayOptions) {
    this.#options = options;
  }

  /** Takes the next entry; returns what there is to wait for before the one after it, if anything. */
  take(entry: Entry): Promise<void> | undefined {
    if (entry.kind === "created" || entry.kind === "checkpoint") {
      const { code } = entry.body as { readonly code?: string };
      this.#isForeign = code !== this.#options.code && !this.#options.anyCode;
    }
    const isLooked = entry.kind === "note" && entry.type === exposedNote && !this.#isForeign;
    if (isLooked) return this.#compare(entry).then(() => this.#fold.take(entry));
    this.#fold.take(entry);
    return undefined;
  }

  async #compare(entry: Entry): Promise<void> {
    const body = entry.body as { readonly [key: string]: Json };
    const hash = String(body["catalog"]);
    if (this.divergence !== undefined || body["intent"] !== this.#fold.intent) return;
    await this.#options.loadShelved(hash);
    const catalog = catalogOf(hash);
    const got = catalog === undefined
      ? "no catalog"
      : exposureKey(hash, expose(catalog, this.#fold.wishes, this.#fold.budget));
    const expected = keyOf(body);
    if (got === expected) return;
    const what = "the tools that the model is told of are the recorded ones";
    this.divergence = { address: this.#options.address, seq: entry.seq, what, expected, got };
  }
}
