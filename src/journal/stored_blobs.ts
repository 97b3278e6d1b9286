/** Blobs that are known to be in the store: enough of them to spare the repeats of a conversation. */

const digestsMax = 1_024;

/** The digests that a writer has seen stored, the newest last. */
export class StoredBlobs {
  readonly #digests = new Set<string>();

  has(digest: string): boolean {
    return this.#digests.has(digest);
  }

  /** Notes digests; the oldest are forgotten beyond a bound. */
  note(digests: readonly string[]): void {
    for (const digest of digests) this.#digests.add(digest);
    for (const digest of this.#digests) {
      if (this.#digests.size <= digestsMax) break;
      this.#digests.delete(digest);
    }
  }
}
