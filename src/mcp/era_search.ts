/** Finds out of what era one server is: what is tried first, and what becomes of what was found. */
import type { McpEra } from "../../schemas/mcp_revision.ts";
import type { McpDeclaration } from "../../schemas/manifest.ts";
import type { HandshakeOptions, McpClient } from "./client.ts";
import { type EraMemory, erasOf, revisionOf } from "./era.ts";

/** One search, for one start of one server. */
export class EraSearch {
  readonly #memory: EraMemory | undefined;
  readonly #declaration: McpDeclaration;
  #known: McpEra | undefined;

  constructor(memory: EraMemory | undefined, declaration: McpDeclaration) {
    const { protocol = "auto", transport } = declaration.manifest;
    // What a manifest says is not found out, and a process shows each time what it is.
    this.#memory = protocol === "auto" && transport !== "stdio" ? memory : undefined;
    this.#declaration = declaration;
  }

  /** What the start tries. */
  async begin(): Promise<Pick<HandshakeOptions, "eras" | "revision">> {
    const { fingerprint, manifest } = this.#declaration;
    this.#known = await this.#memory?.recall(fingerprint);
    return { eras: erasOf(manifest, this.#known), revision: revisionOf(manifest) };
  }

  /** It speaks; what it speaks is forgotten if it turns out that it does not. */
  async found({ greeting: { era = "legacy" }, closed }: McpClient): Promise<void> {
    const { fingerprint } = this.#declaration;
    if (this.#memory === undefined) return;
    await this.#memory.remember(fingerprint, era);
    void closed.then(async ({ failure: { code } }) => {
      if (code === "mcp_version_unsupported") await this.#memory?.forget(fingerprint);
    });
  }

  /** Nothing that was tried led to anything: what was known may be why. */
  async failed(): Promise<void> {
    if (this.#known !== undefined) await this.#memory?.forget(this.#declaration.fingerprint);
  }
}
