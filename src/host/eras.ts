/** What servers were found to speak: one file beside that of what is trusted, for all stores of its operator. */
import { z } from "zod";
import { Digest } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { McpEra } from "../../schemas/mcp_revision.ts";
import type { EraMemory } from "../mcp/era.ts";
import type { Clock } from "../seams.ts";
import { fileMode, folderMode, replaceFile } from "./replace_file.ts";

const EraFile = z.strictObject({
  v: z.literal(1),
  servers: z.record(Digest, z.strictObject({ era: McpEra, atMs: z.number() })),
});
type EraFile = z.infer<typeof EraFile>;

/** Where eras are kept; undefined if there is no place. */
export function eraFile(trustFile: string | undefined): string | undefined {
  return trustFile === undefined ? undefined : `${trustFile}.eras`;
}

/**
 * The eras of servers, by the fingerprint of their declarations. A hint that saves a question, no more: a file that
 * cannot be read or written costs that question.
 */
export class EraStore implements EraMemory {
  readonly #path: string | undefined;
  readonly #clock: Clock;
  #inMemory: EraFile = { v: 1, servers: {} };

  constructor(path: string | undefined, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  async recall(fingerprint: string): Promise<McpEra | undefined> {
    const { servers } = await this.#read();
    const found = Object.hasOwn(servers, fingerprint) ? servers[fingerprint] : undefined;
    if (found === undefined) return undefined;
    const ageMs = this.#clock.now() - found.atMs;
    return ageMs >= 0 && ageMs < limits.mcpEraAgeMs ? found.era : undefined;
  }

  async remember(fingerprint: string, era: McpEra): Promise<void> {
    // What was found anew a moment ago is not written again: a start costs no flush.
    if (await this.recall(fingerprint) === era) return;
    await this.#write((servers) => ({ ...servers, [fingerprint]: { era, atMs: this.#clock.now() } }));
  }

  async forget(fingerprint: string): Promise<void> {
    await this.#write(({ [fingerprint]: _, ...others }) => others);
  }

  async #read(): Promise<EraFile> {
    if (this.#path === undefined) return this.#inMemory;
    try {
      return EraFile.parse(JSON.parse(await Deno.readTextFile(this.#path)));
    } catch {
      return { v: 1, servers: {} };
    }
  }

  async #write(change: (servers: EraFile["servers"]) => EraFile["servers"]): Promise<void> {
    const path = this.#path;
    if (path === undefined) return void (this.#inMemory = changed(this.#inMemory, change));
    try {
      await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true, mode: folderMode });
      using lock = await Deno.open(`${path}.lock`, { read: true, write: true, create: true, mode: fileMode });
      await lock.lock(true);
      const file = changed(await this.#read(), change);
      await replaceFile(path, new TextEncoder().encode(`${JSON.stringify(file)}\n`));
    } catch {
      // The next start asks again.
    }
  }
}

/** The file after a change; of too many servers the newest. */
function changed(
  { servers }: EraFile,
  change: (servers: EraFile["servers"]) => EraFile["servers"],
): EraFile {
  const newest = Object.entries(change(servers)).sort(([, one], [, other]) => other.atMs - one.atMs);
  return { v: 1, servers: Object.fromEntries(newest.slice(0, limits.mcpErasRememberedMax)) };
}
