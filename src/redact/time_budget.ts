/** How long one redaction may take: a base, and more for each character (F41). */

/** Thrown if a redaction takes too long: its value is withheld. */
export class TooSlowError extends Error {
  override readonly name = "TooSlowError";
}

/** Every redaction may take this long, in milliseconds. */
const baseMs = 2_000;
/** And this much longer for every 64 Ki characters. */
const pieceMs = 50;
const pieceCharacters = 65_536;

/** The time of one redaction. Asked between its steps, each of which is linear in what it looks at. */
export class TimeBudget {
  readonly #now: () => number;
  readonly #startedAtMs: number;
  #characters = 0;

  constructor(now: () => number) {
    this.#now = now;
    this.#startedAtMs = now();
  }

  /** More is looked at: that may take its time. */
  add(characters: number): void {
    this.#characters += characters;
  }

  /** Throws once the time is over. */
  check(): void {
    const allowedMs = baseMs + (this.#characters / pieceCharacters) * pieceMs;
    if (this.#now() - this.#startedAtMs > allowedMs) throw new TooSlowError("The redaction takes too long");
  }
}
