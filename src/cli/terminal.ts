/** The terminal, or the pipes that stand for it: text out, lines in, and one line that tells what goes on. */
import { visible } from "../tools/visible.ts";
import { createStyle, type Style } from "./style.ts";

/** Where bytes go. `Deno.stdout` is one. */
export interface Sink {
  writeSync(bytes: Uint8Array): number;
  isTerminal(): boolean;
}

/** Where bytes come from. `Deno.stdin` is one. */
export interface Source {
  read(buffer: Uint8Array): Promise<number | null>;
  isTerminal(): boolean;
}

/** What a terminal is made of. */
export interface TerminalParts {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly stdin: Source;
  /** False forbids colours everywhere (NO_COLOR). */
  readonly colours: boolean;
  /** Width in characters, or undefined if it is not known. */
  readonly columns: () => number | undefined;
}

/** One of the two ways out. */
export interface Output {
  readonly isTerminal: boolean;
  readonly style: Style;
  /** Writes text that was made safe: by {@linkcode safeText}, or because it is ours. */
  write(text: string): void;
  /** Writes one line; begins a new one if the cursor is inside a line. */
  line(text: string): void;
}

/** A terminal. Everything that is said goes through here, so that the status line never mixes with it. */
export interface Terminal {
  readonly out: Output;
  readonly err: Output;
  /** True if a person can be asked: keys come from a terminal, and what is asked is shown on one. */
  readonly canAsk: boolean;
  /** True once nobody reads our output any more. */
  readonly isClosed: boolean;
  readonly columns: number;
  /** Shows what goes on in the last line of a terminal, or takes it away. Says nothing anywhere else. */
  status(text: string | undefined): void;
  /** The next line that is typed; undefined at the end of input and when `signal` aborts. */
  readLine(signal: AbortSignal): Promise<string | undefined>;
}

const encoder = new TextEncoder();
const columnsDefault = 100;

/** Makes a terminal. */
export function createTerminal(parts: TerminalParts): Terminal {
  return new SharedTerminal(parts);
}

/**
 * Text from outside, safe to show: line ends and tabs stay, every other character that acts on a terminal or reorders
 * a line is shown as `\u{…}` (B121).
 */
export function safeText(text: string): string {
  return text.replaceAll("\r\n", "\n").split("\n").map((line) => line.split("\t").map(visible).join("\t"))
    .join("\n");
}

class SharedTerminal implements Terminal {
  readonly out: Output;
  readonly err: Output;
  readonly canAsk: boolean;
  isClosed = false;
  readonly #parts: TerminalParts;
  readonly #lines: LineReader;
  #status: string | undefined;
  #isStatusShown = false;
  /** Places whose cursor stands inside a line: a pipe each, and one screen for all that are terminals. */
  readonly #inside = new Set<Sink | "screen">();

  constructor(parts: TerminalParts) {
    this.#parts = parts;
    this.out = this.#outputOf(parts.stdout);
    this.err = this.#outputOf(parts.stderr);
    this.canAsk = parts.stdin.isTerminal() && parts.stderr.isTerminal();
    this.#lines = new LineReader(parts.stdin);
  }

  get columns(): number {
    return this.#parts.columns() || columnsDefault;
  }

  status(text: string | undefined): void {
    if (!this.err.isTerminal || text === this.#status) return;
    this.#status = text;
    this.#hideStatus();
    this.#showStatus();
  }

  async readLine(signal: AbortSignal): Promise<string | undefined> {
    const line = await this.#lines.next(signal);
    // The key that ended the line moved the cursor.
    if (line !== undefined) this.#inside.delete("screen");
    return line;
  }

  #outputOf(sink: Sink): Output {
    const isTerminal = sink.isTerminal();
    const place = isTerminal ? "screen" : sink;
    const write = (text: string) => {
      if (text === "") return;
      this.#hideStatus();
      this.#put(sink, text);
      if (text.endsWith("\n")) this.#inside.delete(place);
      else this.#inside.add(place);
      this.#showStatus();
    };
    return {
      isTerminal,
      style: createStyle(isTerminal && this.#parts.colours),
      write,
      line: (text) => write(`${this.#inside.has(place) ? "\n" : ""}${text}\n`),
    };
  }

  #hideStatus(): void {
    if (!this.#isStatusShown) return;
    this.#isStatusShown = false;
    this.#put(this.#parts.stderr, "\r\x1b[2K");
  }

  #showStatus(): void {
    if (this.#status === undefined || this.#inside.has("screen") || this.#isStatusShown) return;
    this.#isStatusShown = true;
    const text = visible(this.#status).slice(0, Math.max(this.columns - 1, 1));
    this.#put(this.#parts.stderr, this.err.style.dim(text));
  }

  #put(sink: Sink, text: string): void {
    if (this.isClosed) return;
    const bytes = encoder.encode(text);
    try {
      for (let written = 0; written < bytes.length;) written += sink.writeSync(bytes.subarray(written));
    } catch (error) {
      // `troupe log | head`: nobody reads on, and that is no fault.
      if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
      this.isClosed = true;
    }
  }
}

/** Longest line that is taken from the keyboard, in bytes. */
const lineBytesMax = 4_096;

/** Lines of a source, one asker at a time. A line that was begun for another asker comes as an empty one. */
class LineReader {
  readonly #source: Source;
  #reading: Promise<string | undefined> | undefined;
  #isEnded = false;

  constructor(source: Source) {
    this.#source = source;
  }

  async next(signal: AbortSignal): Promise<string | undefined> {
    const aborted = new Promise<undefined>((resolve) => {
      if (signal.aborted) resolve(undefined);
      else signal.addEventListener("abort", () => resolve(undefined), { once: true });
    });
    // A read that its asker left is still under way. Its line was meant for another question, so it says nothing here.
    const stale = this.#reading;
    this.#reading ??= this.#read();
    const line = await Promise.race([this.#reading, aborted]);
    if (signal.aborted) return undefined;
    this.#reading = undefined;
    return stale === undefined || this.#isEnded ? line : "";
  }

  async #read(): Promise<string | undefined> {
    if (this.#isEnded) return undefined;
    const buffer = new Uint8Array(lineBytesMax);
    const count = await this.#source.read(buffer);
    if (count === null) {
      this.#isEnded = true;
      return undefined;
    }
    // A terminal hands over whole lines. More than one at once was typed ahead: only the first counts.
    return new TextDecoder().decode(buffer.subarray(0, count)).split(/\r?\n/)[0] ?? "";
  }
}
