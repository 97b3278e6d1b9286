/** One redaction of one value for one view: what it found so far, and how it masks a text. */
import { redactBounds } from "./bounds.ts";
import type { Discovery } from "./discovery.ts";
import { fieldLabels } from "./field_names.ts";
import { Findings } from "./findings.ts";
import type { Fingerprint } from "./fingerprint.ts";
import type { KnownSecrets, Origin } from "./known_secrets.ts";
import { bareMark, endOfMark, markOf, type View } from "./marks.ts";
import { findByLooks, findSpans, type Found, type Span } from "./span_finder.ts";
import type { TimeBudget } from "./time_budget.ts";
import { typedPatterns } from "./typed_patterns.ts";

/** Thrown if a text is still not clean after it was looked at several times: it is withheld. */
export class NotSettledError extends Error {
  override readonly name = "NotSettledError";
}

/** What a sweep works with. */
export interface SweepOptions {
  readonly known: KnownSecrets;
  readonly discovery: Discovery;
  readonly view: View;
  readonly fingerprint: Fingerprint | undefined;
  /** How long all of it may take; without it, as long as it takes. */
  readonly time?: TimeBudget | undefined;
}

/** What surrounds a text that is looked through. */
export interface FindIn {
  /** What stands before it: -1 for nothing, else a character's code. */
  readonly before?: number;
  /** True if more will come. */
  readonly isOpen?: boolean;
}

/** What is said of a secret of which only the beginning came. */
export const cutOffOrigin: Origin = { kind: "known", name: "secret", source: "bound" };

const labelsBySource: { readonly [source: string]: ReadonlySet<string> } = {
  field: fieldLabels,
  pattern: new Set(typedPatterns.map(({ name }) => name)),
};

/** Masks texts and counts what it masked. */
export class Sweep {
  readonly findings: Findings = new Findings();
  readonly discovery: Discovery;
  readonly #sets: readonly KnownSecrets[];
  readonly #view: View;
  readonly #fingerprint: Fingerprint | undefined;
  readonly #time: TimeBudget | undefined;

  constructor({ known, discovery, view, fingerprint, time }: SweepOptions) {
    this.#time = time;
    this.discovery = discovery;
    this.#sets = [known, discovery.secrets];
    this.#view = view;
    this.#fingerprint = fingerprint;
  }

  /**
   * The text without its secrets; the same text if it has none. Looks again until nothing changes, so that what is
   * given back would be given back again.
   */
  clean(text: string): string {
    let left = text;
    this.#time?.add(text.length);
    for (let round = 0; round < redactBounds.roundsMax; round++) {
      const { spans } = this.find(left);
      if (spans.length === 0) return left;
      left = this.replace(left, spans);
    }
    throw new NotSettledError(
      "Cannot make the text safe to show: marks beside it make secrets again and again",
    );
  }

  /**
   * Finds all secrets, also those that only what is found elsewhere in the text makes known. In an `open` text, of which
   * more will come, nothing is learnt from what is not decided.
   */
  find(text: string, { before = -1, isOpen = false }: FindIn = {}): Found {
    const options = { known: this.#sets, endOfMark: this.#endOfMark, before };
    const found = findSpans(text, options);
    this.#time?.check();
    let isNew = false;
    for (const span of found.spans) {
      if (!isOpen || span.end <= found.openFrom) isNew = this.discovery.addSpan(text, span) || isNew;
    }
    return isNew ? findSpans(text, options) : found;
  }

  /** Remembers what the looks of a text tell, and leaves the text. */
  discover(text: string): void {
    for (const span of findByLooks(text, (at) => this.#endOfMark(text, at))) {
      this.discovery.addSpan(text, span);
    }
  }

  /** The text with marks in the place of spans. */
  replace(text: string, spans: readonly Span[]): string {
    let result = "";
    let from = 0;
    for (const { start, end, origin, value } of spans) {
      result += text.slice(from, start) + this.mark(origin, value ?? text.slice(start, end));
      from = end;
    }
    return result + text.slice(from);
  }

  /** The mark of one secret, counted. It says less where what it says would itself be a secret. */
  mark(origin: Origin, value: string): string {
    this.findings.add(origin);
    const mark = markOf(origin, this.#view, this.#view === "debug" ? this.#fingerprint?.(value) : undefined);
    if (mark === bareMark) return mark;
    const isTelling = this.#sets.some((secrets) => secrets.isIn(mark) || secrets.mayEndInto(mark));
    return isTelling ? bareMark : mark;
  }

  /** True if a text is one mark of ours and nothing else. */
  isMark(text: string): boolean {
    return text.length > 0 && this.#endOfMark(text, 0) === text.length;
  }

  /** The first known secret that stands in a text; undefined if none does. */
  knownIn(text: string): Origin | undefined {
    return originIn(text, this.#sets.slice(0, 1));
  }

  /** The first secret, known or found, that stands in a text; undefined if none does. */
  originIn(text: string): Origin | undefined {
    return originIn(text, this.#sets);
  }

  readonly #endOfMark = (text: string, at: number): number => endOfMark(text, at, this.#isLabel);

  readonly #isLabel = (name: string, source: string | undefined): boolean => {
    const labels = source === undefined ? undefined : labelsBySource[source];
    if (labels !== undefined) return labels.has(name);
    if (source === undefined && Object.values(labelsBySource).some((one) => one.has(name))) return true;
    if (name === cutOffOrigin.name && (source ?? "bound") === cutOffOrigin.source) return true;
    return this.#sets.some((secrets) => secrets.isLabel(name, source));
  };
}

function originIn(text: string, sets: readonly KnownSecrets[]): Origin | undefined {
  let origin: Origin | undefined;
  for (const secrets of sets) {
    secrets.scan(text, (secret) => {
      origin ??= secret.origin;
    });
  }
  return origin;
}
