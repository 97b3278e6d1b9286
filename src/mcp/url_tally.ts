/** What was decided about the URLs of one connection's requests: each decision once, with how often it was made (DM-71). */
import { limits } from "../../schemas/limits.ts";
import type { UrlDecision } from "../../schemas/url_decision.ts";

/** A decision, and how often it was made. */
export interface CountedDecision extends UrlDecision {
  readonly count: number;
}

/** Counts decisions until somebody takes them. One line a request would be most of a journal. */
export class UrlTally {
  #counted = new Map<string, CountedDecision>();

  /** Counts one. What is of more kinds than may be told apart is not counted: a server's redirects stay in its origin. */
  note(decision: UrlDecision): void {
    const key = JSON.stringify(Object.entries(decision).sort());
    const known = this.#counted.get(key);
    if (known === undefined && this.#counted.size >= limits.urlDecisionsToldMax) return;
    this.#counted.set(key, { ...decision, count: (known?.count ?? 0) + 1 });
  }

  /** Those since it was taken last, in the order in which they came first. */
  take(): readonly CountedDecision[] {
    const counted = [...this.#counted.values()];
    this.#counted = new Map();
    return counted;
  }
}
