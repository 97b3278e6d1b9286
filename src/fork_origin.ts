/** The hash by which a fork says which entries it has in common with its origin: in the fork, and in any copy of it. */
import type { Entry } from "../schemas/entry.ts";
import type { ForkOrigin } from "../schemas/fork.ts";
import { canonicalJson, type Json } from "../schemas/json.ts";
import { peek } from "./peek.ts";
import type { Seams } from "./seams.ts";

const encoder = new TextEncoder();

/** Hashes entries in their order, each with the hash of all before it. Where a body is kept does not count. */
export class OriginHash {
  readonly #digest: Seams["digest"];
  #hash = "";
  #seq = 0;

  constructor(digest: Seams["digest"]) {
    this.#digest = digest;
  }

  /** The last entry that was taken; 0 if none was. */
  get seq(): number {
    return this.#seq;
  }

  async take(entry: Entry): Promise<void> {
    const { blob: _blob, ...rest } = entry;
    const text = this.#hash + canonicalJson(rest as unknown as Json);
    this.#hash = await this.#digest(encoder.encode(text));
    this.#seq = entry.seq;
  }

  /** The hash over all that was taken. */
  get hash(): string {
    return this.#hash;
  }
}

/** The origin that an entry names, if a fork begins with it. */
export function originIn({ kind, body }: Pick<Entry, "kind" | "body">): ForkOrigin | undefined {
  if (kind !== "checkpoint") return undefined;
  return peek(body, "origin") as ForkOrigin | undefined;
}
