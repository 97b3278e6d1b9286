/** What was found in a value: how often and by what, never the value itself. */
import type { Origin } from "./known_secrets.ts";

/** One secret, or one kind of secret, that was masked. */
export interface Finding extends Origin {
  /** Places at which it was masked. */
  readonly count: number;
}

/** Counts what is masked. */
export class Findings {
  readonly #counts = new Map<string, { readonly origin: Origin; count: number }>();

  /** Counts one place. */
  add(origin: Origin): void {
    const key = `${origin.kind} ${origin.source} ${origin.name}`;
    const found = this.#counts.get(key);
    if (found === undefined) this.#counts.set(key, { origin, count: 1 });
    else found.count += 1;
  }

  /** All of them so far, in the order in which they were first met. */
  list(): readonly Finding[] {
    return [...this.#counts.values()].map(({ origin, count }) => ({ ...origin, count }));
  }
}
