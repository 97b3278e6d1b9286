/** One output of a command as it is kept and told: without secrets, its end in memory, the whole in a file (DM-99, DM-101). */
import { limits } from "../../schemas/limits.ts";
import type { OutputSink } from "../processes/drain.ts";
import type { TextFilter } from "../redact/exact_redactor.ts";
import type { Artifact, ArtifactDescriptor } from "./artifacts.ts";

/** What is known of an output once it has ended. */
export interface Captured {
  /** Of what the command wrote. */
  readonly bytes: number;
  readonly characters: number;
  /** The end of it, without secrets: at most 12,000 characters. */
  readonly tail: string;
  /** True if `tail` is not all of it. */
  readonly isTruncated: boolean;
  readonly artifact?: ArtifactDescriptor;
  /** True if the whole could not be kept: the call has failed, whatever the command did (DM-103). */
  readonly hasFailed: boolean;
}

/** Options of {@linkcode Capture}. */
export interface CaptureOptions {
  /** What takes secrets out, one after another. */
  readonly filters: readonly TextFilter[];
  readonly artifact: Artifact;
  /** Told once, at the first fault of the artifact. What comes is taken on. */
  readonly onFailure: () => void;
  /** Told of what comes, once secrets were taken out. */
  readonly onText?: ((text: string) => void) | undefined;
}

/** Takes an output piece by piece, in bounded memory. */
export class Capture implements OutputSink {
  readonly #options: CaptureOptions;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #bytes = 0;
  #characters = 0;
  /** Characters after the secrets were taken out, and the last of them. */
  #clean = 0;
  #tail = "";
  #isCut = false;
  #hasFailed = false;
  #artifact: ArtifactDescriptor | undefined;

  constructor(options: CaptureOptions) {
    this.#options = options;
  }

  async push(chunk: Uint8Array): Promise<void> {
    this.#bytes += chunk.length;
    await this.#take(this.#decoder.decode(chunk, { stream: true }));
  }

  async end(isCut: boolean): Promise<void> {
    this.#isCut = isCut;
    await this.#take(this.#decoder.decode());
    let rest = "";
    for (const filter of this.#options.filters) rest = filter.push(rest) + filter.flush();
    await this.#keep(rest);
    try {
      this.#artifact = await this.#options.artifact.close();
    } catch {
      this.#fail();
    }
  }

  /** What is known of it. Complete once `end` has resolved. */
  get captured(): Captured {
    const [tail, max] = [this.#tail, limits.commandTailCharactersMax];
    return {
      bytes: this.#bytes,
      characters: this.#characters,
      tail: lastCharacters(tail, max),
      isTruncated: this.#isCut || this.#clean > max,
      ...(this.#artifact === undefined || this.#hasFailed ? {} : { artifact: this.#artifact }),
      hasFailed: this.#hasFailed,
    };
  }

  async #take(text: string): Promise<void> {
    this.#characters += text.length;
    let clean = text;
    for (const filter of this.#options.filters) clean = filter.push(clean);
    await this.#keep(clean);
  }

  async #keep(clean: string): Promise<void> {
    if (clean === "") return;
    this.#clean += clean.length;
    this.#options.onText?.(clean);
    const max = limits.commandTailCharactersMax;
    this.#tail += clean;
    // Cut now and then, not each time: so each character is copied twice at most.
    if (this.#tail.length > 4 * max) this.#tail = lastCharacters(this.#tail, max);
    if (this.#hasFailed) return;
    try {
      await this.#options.artifact.write(clean);
    } catch {
      this.#fail();
    }
  }

  #fail(): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#options.onFailure();
  }
}

/** The end of a text, never half a character. */
export function lastCharacters(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  const end = text.slice(-charactersMax);
  const first = end.charCodeAt(0);
  return first >= 0xdc00 && first <= 0xdfff ? end.slice(1) : end;
}
