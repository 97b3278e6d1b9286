/**
 * Takes secrets out of a text that comes in pieces: what has begun and may become a secret is held back until that is
 * decided, so that no output ever holds half of one (B111).
 */
import { redactBounds } from "./bounds.ts";
import type { Finding } from "./findings.ts";
import { withheldMark } from "./marks.ts";
import type { Found, Span } from "./span_finder.ts";
import { cutOffOrigin, type Sweep } from "./sweep.ts";

/** How much of what was given out is kept, to see what stands before a value. */
const contextCharacters = 256;
/** Stands for the text before the context: neither a beginning nor a blank. */
const someLetter = 0x78;

/** What may be given out of a text: its end, and the secrets before it. */
interface Release {
  readonly to: number;
  readonly spans: readonly Span[];
}

/**
 * Redacts one stream. Holds back no more than the longest form of a secret, or `heldCharactersMax` characters of
 * something that looks like one. After a fault it gives out one mark, and then nothing more.
 */
export class StreamRedactor {
  readonly #sweep: Sweep;
  /** The last characters that were answered for. */
  #context = "";
  #held = "";
  #isBeginning = true;
  /** True while the rest of a value that was too long to wait for is dropped. */
  #isDropping = false;
  #isBroken = false;

  constructor(sweep: Sweep) {
    this.#sweep = sweep;
  }

  /** What was masked so far. */
  get findings(): readonly Finding[] {
    return this.#sweep.findings.list();
  }

  /** True once something broke: all that came from then on was withheld. */
  get isWithheld(): boolean {
    return this.#isBroken;
  }

  /** Takes a piece; gives out what is certain by now. */
  push(piece: string): string {
    return this.#guarded(() => {
      this.#held += this.#isDropping ? this.#behindDropped(piece) : piece;
      return this.#held === "" ? "" : this.#release((text, found) => this.#decided(text, found));
    });
  }

  /** The rest. The beginning of a known secret of at least 5 characters at the very end is masked: it was cut off. */
  flush(): string {
    return this.#guarded(() => this.#held === "" ? "" : this.#release(all, false));
  }

  #guarded(work: () => string): string {
    if (this.#isBroken) return "";
    try {
      return work();
    } catch {
      this.#isBroken = true;
      this.#held = "";
      return withheldMark("failed");
    }
  }

  #release(choose: (text: string, found: Found) => Release, isOpen = true): string {
    const from = this.#context.length;
    const text = this.#context + this.#held;
    const before = this.#isBeginning ? -1 : someLetter;
    const { to, spans } = choose(text, this.#sweep.find(text, { before, isOpen }));
    if (to <= from) return "";
    const ours = spans
      .filter(({ end }) => end > from && end <= to)
      .map((span) => ({ ...span, start: Math.max(span.start, from) - from, end: span.end - from }));
    const output = this.#sweep.replace(text.slice(from, to), ours);
    this.#held = text.slice(to);
    if (to > contextCharacters) this.#isBeginning = false;
    this.#context = text.slice(Math.max(0, to - contextCharacters), to);
    return output;
  }

  /** What no further text can change. */
  #decided(text: string, { spans, openFrom, partialFrom }: Found): Release {
    const { heldCharactersMax, partialCharactersMin } = redactBounds;
    const to = beforeSpan(spans, openFrom);
    const held = text.length - to - contextCharacters;
    const isPartial = text.length - partialFrom >= partialCharactersMin && held <= 4 * heldCharactersMax;
    if (held <= heldCharactersMax || isPartial || partialFrom <= to) return { to, spans };
    // Too much to wait for: it is masked as far as it came, and what still belongs to it is dropped.
    this.#isDropping = spans.at(-1)?.end === text.length;
    return { to: this.#isDropping ? text.length : beforeSpan(spans, partialFrom), spans };
  }

  /** What stands behind the value that is dropped: it ends with its line or with a quote. */
  #behindDropped(piece: string): string {
    const end = piece.search(/["'\n\r]/);
    if (end < 0) return "";
    this.#isDropping = false;
    return piece.slice(end);
  }
}

/** The place, or the beginning of the span in which it lies. */
function beforeSpan(spans: readonly Span[], place: number): number {
  return spans.find(({ start, end }) => start < place && place < end)?.start ?? place;
}

/** All of a text that has ended. */
function all(text: string, { spans, partialFrom }: Found): Release {
  const to = text.length;
  const isCutOff = to - partialFrom >= redactBounds.partialCharactersMin;
  if (!isCutOff || spans.some(({ start, end }) => start <= partialFrom && end === to)) return { to, spans };
  const touched = spans.filter(({ end }) => end > partialFrom);
  const start = Math.min(partialFrom, ...touched.map((span) => span.start));
  const rest = spans.filter(({ end }) => end <= partialFrom);
  return { to, spans: [...rest, { start, end: to, origin: touched[0]?.origin ?? cutOffOrigin }] };
}
