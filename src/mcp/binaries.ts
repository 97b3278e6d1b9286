/** The pieces of one result that are no text: pictures, sounds, files. They are kept beside it, never told to a model. */
import { limits } from "../../schemas/limits.ts";
import type { Attachment } from "../../schemas/tool.ts";
import type { ToolBlobs } from "../tools/tool.ts";
import { oneLine } from "./plain_text.ts";

const mediaTypeCharactersMax = 100;

/** One piece, read. */
interface Binary {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** Collects the pieces of one result, in their order. */
export class Binaries {
  readonly #isSecret: (text: string) => boolean;
  readonly #all: Binary[] = [];

  /** `isSecret`: true for a text that holds a secret, or may. */
  constructor(isSecret: (text: string) => boolean) {
    this.#isSecret = isSecret;
  }

  /** Takes a piece as the protocol carries it, in Base64; returns what is told of it in its place, from a comma on. */
  add(kind: string, base64: unknown, mimeType: unknown): string {
    if (typeof base64 !== "string") return "";
    const bytes = decode(base64);
    if (bytes === undefined) return ", not kept: it is no Base64";
    const size = `, ${amount(bytes.length)} bytes`;
    if (this.#all.length >= limits.mcpAttachmentsMax) {
      return `${size}, not kept: a result keeps ${limits.mcpAttachmentsMax} such pieces`;
    }
    // What is kept is kept as it is: a secret in the middle of it could not be taken out.
    if (this.#isSecret(new TextDecoder().decode(bytes))) {
      return `${size}, withheld: it holds what may be a secret`;
    }
    const name = `${kind}-${this.#all.length + 1}`;
    const told = typeof mimeType === "string" ? oneLine(mimeType, mediaTypeCharactersMax) : "";
    this.#all.push({ name, mediaType: told === "" ? "application/octet-stream" : told, bytes });
    return `${size}, kept as ${name}`;
  }

  /** Keeps all of them. */
  async keep(blobs: ToolBlobs): Promise<Attachment[]> {
    const kept: Attachment[] = [];
    for (const { name, mediaType, bytes } of this.#all) kept.push(await blobs.put(bytes, mediaType, name));
    return kept;
  }
}

function decode(base64: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(base64);
  } catch {
    return undefined;
  }
}

/** A number with a comma at every thousand. */
export function amount(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ",");
}
