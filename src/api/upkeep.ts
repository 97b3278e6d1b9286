/** What the API does by itself while a store is open: the fates of agents whose program is gone, and old keys. */
import { Fates, type FatesParts } from "./fates.ts";
import { KeyKeeper } from "./key_keeper.ts";

/** The upkeep of one open store. */
export class Upkeep {
  readonly fates: Fates;
  readonly #keys: KeyKeeper;

  constructor(parts: FatesParts) {
    this.fates = new Fates(parts);
    this.#keys = new KeyKeeper(parts);
  }

  /** Begins; resolves once every agent whose program is gone is asked to stop, durably. */
  async begin(): Promise<void> {
    await this.fates.begin();
    this.#keys.begin();
  }

  /** Nothing is done any more: the runtime stops. */
  stop(): void {
    this.fates.stop();
    this.#keys.stop();
  }
}
