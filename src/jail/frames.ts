/** Frames of a jail: lines of its output that begin with a secret; every other line is noise, and nothing else. */
import { JailMessage } from "../../schemas/authored.ts";
import { limits } from "../../schemas/limits.ts";
import { LineSplitter } from "../processes/lines.ts";
import { frameStart } from "./frame_start.ts";

/** Reads the frames in a jail's output. */
export class FrameReader {
  readonly #start: string;
  readonly #lines = new LineSplitter(limits.jailFrameBytesMax);
  readonly #decoder = new TextDecoder();

  /** @param secret What only the jail's own program was told. */
  constructor(secret: string) {
    this.#start = `${frameStart}${secret} `;
  }

  /** The messages that end in `chunk`. Throws `LineTooLongError`, and on a frame that is none: then the jail is broken. */
  push(chunk: Uint8Array): readonly JailMessage[] {
    return this.#lines.push(chunk).flatMap((line) => {
      const text = this.#decoder.decode(line);
      return text.startsWith(this.#start)
        ? [JailMessage.parse(JSON.parse(text.slice(this.#start.length)))]
        : [];
    });
  }
}
