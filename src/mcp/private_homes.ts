/** A home for each server, and for each session's commands: what is kept there no other sees, and it sees nothing of ours. */
import { failure } from "../../schemas/failure.ts";
import type { McpDeclaration } from "../../schemas/manifest.ts";
import { realStorePath } from "../journal/store_file.ts";
import { makePrivate } from "../processes/private_folder.ts";

/** Characters of a fingerprint that tell two declarations of one name apart. */
const hashCharacters = 12;

/** Whose home is meant. */
type Declared = Pick<McpDeclaration, "server" | "fingerprint">;

function nameOf({ server, fingerprint }: Declared): string {
  return `${server}-${shortHash(fingerprint)}`;
}

/** The homes of one store: folders beside it, `<store>.homes/<server>-<hash of its declaration>`, `terminal_<hash>`. */
export class PrivateHomes {
  readonly #store: string;
  /** Where homes are if the store is not a file: for the life of this process. */
  #temporary: Promise<string> | undefined;

  /** @param store Path of the store, `:memory:`, or the address of a remote one. */
  constructor(store: string) {
    this.#store = store;
  }

  /**
   * The home of a server, made if it is not there, for its owner alone. Another declaration has another home: what was
   * kept under one that was approved is not given to one that was not.
   */
  async homeOf(declaration: Declared): Promise<string> {
    const { server } = declaration;
    try {
      return await this.#make(nameOf(declaration));
    } catch (error) {
      throw new HomeError(server, error instanceof Error ? error.name : String(error));
    }
  }

  /** The home of the commands of a session, by the hash of its address. No server can have this name. */
  async commandHome(hash: string): Promise<string> {
    return await this.#make(`terminal_${shortHash(hash)}`);
  }

  async #make(name: string): Promise<string> {
    const base = await this.#base();
    const home = `${base}/${name}`;
    await makePrivate(base);
    await makePrivate(home);
    return home;
  }

  /** Takes away the homes of declarations, with all that was kept in them. Returns those that were there. */
  async remove(declarations: readonly Declared[]): Promise<readonly string[]> {
    const base = await this.#base();
    const removed: string[] = [];
    for (const name of new Set(declarations.map(nameOf))) {
      try {
        await Deno.remove(`${base}/${name}`, { recursive: true });
        removed.push(`${base}/${name}`);
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
    return removed;
  }

  /** Takes away what was made for this process only. */
  async release(): Promise<void> {
    const temporary = await this.#temporary;
    this.#temporary = undefined;
    if (temporary !== undefined) await Deno.remove(temporary, { recursive: true }).catch(() => {});
  }

  async #base(): Promise<string> {
    const isFile = this.#store !== ":memory:" && !/^https?:/.test(this.#store);
    if (isFile) return `${await realStorePath(this.#store)}.homes`;
    return await (this.#temporary ??= Deno.makeTempDir({ prefix: "troupe-homes-" }));
  }
}

/** A home that cannot be made. */
export class HomeError extends Error {
  override readonly name = "HomeError";
  readonly failure;

  constructor(server: string, why: string) {
    super(`Cannot make the home of the server "${server}": ${why}`);
    const advice = "make room, or make the store's folder writable";
    this.failure = failure(
      "mcp_connect_failed",
      `The server "${server}" is not started: its own home cannot be made beside the store (${why}); ${advice}`,
    );
  }
}

function shortHash(digest: string): string {
  return digest.replace(/^sha256:/, "").slice(0, hashCharacters);
}
