/** Takes secrets out of values before anyone sees them: first it finds out what is secret, then it masks it everywhere. */
import { redactBounds, type ValueBounds } from "./bounds.ts";
import { Discovery, DiscoveryFullError } from "./discovery.ts";
import type { Finding } from "./findings.ts";
import { createFingerprint, type Fingerprint } from "./fingerprint.ts";
import { JsonWalk, TooLargeError } from "./json_walk.ts";
import type { KnownSecrets } from "./known_secrets.ts";
import { type View, withheldMark, type WithheldReason } from "./marks.ts";
import { StreamRedactor } from "./stream_redactor.ts";
import { NotSettledError, Sweep } from "./sweep.ts";
import { TimeBudget, TooSlowError } from "./time_budget.ts";

/** A value without its secrets, and what was found. */
export interface Redaction<T> {
  readonly value: T;
  /** What was masked, and how often; never the value. */
  readonly findings: readonly Finding[];
  /** True if something was left out because it could not be looked through. */
  readonly isWithheld: boolean;
}

/** Options of {@linkcode createRedactor}. */
export interface RedactorOptions {
  readonly known: KnownSecrets;
  /** The installation's key for fingerprints in the debug view, at least 16 bytes. Without it there are none. */
  readonly hmacKey?: Uint8Array;
  /** Other bounds than those of DM-52. */
  readonly bounds?: Partial<ValueBounds>;
  /** The time, in milliseconds. With it, what takes too long is withheld (F41). */
  readonly now?: (() => number) | undefined;
}

/** Takes secrets out of values. Never throws and never changes what it is given: what it cannot clean, it withholds. */
export interface Redactor {
  /** A text without its secrets; the very same text if it has none. */
  text(text: string, view: View): Redaction<string>;
  /** A JSON value without its secrets, in keys and values; the very same value if it has none. */
  json(value: unknown, view: View): Redaction<unknown>;
  /** What an error and its causes say, at most 500 characters. */
  error(error: unknown, view: View): Redaction<string>;
  /** For a text that comes in pieces. */
  stream(view: View): StreamRedactor;
  /**
   * A redactor that does not forget: what it finds in one value it takes out of all later ones, as from the arguments of
   * a call out of its result.
   */
  remembering(): Redactor;
}

/** Makes a redactor. Secrets that are added to `known` later count from then on. Throws for a short key. */
export function createRedactor({ known, hmacKey, bounds, now }: RedactorOptions): Redactor {
  const { depthMax, itemsMax, stringCharactersMax } = redactBounds;
  return new RedactorOfValues({
    known,
    fingerprint: hmacKey === undefined ? undefined : createFingerprint(hmacKey),
    bounds: { depthMax, itemsMax, stringCharactersMax, ...bounds },
    now,
  });
}

interface Setup {
  readonly known: KnownSecrets;
  readonly fingerprint: Fingerprint | undefined;
  readonly bounds: ValueBounds;
  readonly now: (() => number) | undefined;
  /** What is remembered from value to value, if anything is. */
  readonly discovery?: Discovery;
}

class RedactorOfValues implements Redactor {
  readonly #setup: Setup;

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  text(text: string, view: View): Redaction<string> {
    return this.#guarded(view, (sweep) => {
      if (text.length > this.#setup.bounds.stringCharactersMax) {
        throw new TooLongError("The text is too long");
      }
      return { value: sweep.clean(text), isWithheld: false };
    }, asItIs);
  }

  json(value: unknown, view: View): Redaction<unknown> {
    return this.#guarded<unknown>(view, (sweep) => {
      const walk = new JsonWalk(sweep, this.#setup.bounds);
      const cleaned = walk.clean(value);
      return { value: cleaned, isWithheld: walk.isWithheld };
    }, asItIs);
  }

  error(error: unknown, view: View): Redaction<string> {
    return this.#guarded(view, (sweep) => {
      const text = textOfError(error);
      if (text.length > this.#setup.bounds.stringCharactersMax) {
        throw new TooLongError("The text is too long");
      }
      // Cleaned before it is cut: half a secret would not be known.
      const cleaned = sweep.clean(text);
      const isCut = cleaned.length > redactBounds.exceptionCharactersMax;
      return { value: isCut ? cut(cleaned) : cleaned, isWithheld: isCut };
    }, asItIs);
  }

  stream(view: View): StreamRedactor {
    return new StreamRedactor(this.#sweep(view));
  }

  remembering(): Redactor {
    return new RedactorOfValues({ ...this.#setup, discovery: new Discovery() });
  }

  /** A sweep of one value has its time; a stream comes when it comes. */
  #sweep(view: View, isTimed = false): Sweep {
    const { known, fingerprint, discovery = new Discovery(), now } = this.#setup;
    const time = isTimed && now !== undefined ? new TimeBudget(now) : undefined;
    return new Sweep({ known, discovery, view, fingerprint, time });
  }

  /** Fails closed (DM-47): whatever goes wrong, the whole value becomes a mark. */
  #guarded<T>(
    view: View,
    clean: (sweep: Sweep) => { readonly value: T; readonly isWithheld: boolean },
    withhold: (mark: string) => T,
  ): Redaction<T> {
    const sweep = this.#sweep(view, true);
    try {
      return { ...clean(sweep), findings: sweep.findings.list() };
    } catch (error) {
      const value = withhold(withheldMark(reasonOf(error)));
      return { value, findings: sweep.findings.list(), isWithheld: true };
    }
  }
}

function asItIs(mark: string): string {
  return mark;
}

class TooLongError extends Error {
  override readonly name = "TooLongError";
}

function reasonOf(error: unknown): WithheldReason {
  if (error instanceof TooLongError) return "too_long";
  if (error instanceof TooLargeError || error instanceof DiscoveryFullError) return "too_large";
  if (error instanceof NotSettledError) return "not_settled";
  if (error instanceof TooSlowError) return "too_slow";
  return "failed";
}

/** The names and messages of an error and of what caused it. */
function textOfError(error: unknown): string {
  const lines: string[] = [];
  let next = error;
  for (let depth = 0; depth < redactBounds.exceptionCausesMax && next !== undefined; depth++) {
    lines.push(next instanceof Error ? `${next.name}: ${next.message}` : String(next));
    next = next instanceof Error ? next.cause : undefined;
  }
  return lines.join("; caused by ");
}

/** The head of a clean text; a mark that would be cut is left out. */
function cut(text: string): string {
  const end = redactBounds.exceptionCharactersMax - 1;
  const open = text.lastIndexOf("[", end - 1);
  const isInMark = open >= 0 && /^\[(?:redacted|withheld)?/.test(text.slice(open)) &&
    text.indexOf("]", open) >= end;
  const last = text.charCodeAt(end - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return `${text.slice(0, isInMark ? open : isHalf ? end - 1 : end)}…`;
}
