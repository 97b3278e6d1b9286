/** The authored tools that the operator trusts: each a file of its own, with the definition that was shown to them. */
import { z } from "zod";
import { type Failure, failure } from "../../schemas/failure.ts";
import { Digest } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { ToolDefinition } from "../../schemas/tool.ts";
import { GivenTrust } from "../host/trust.ts";
import { folderMode, othersMayWrite, removeIfThere, replaceFile } from "../host/replace_file.ts";

/** A tool that may be run, as long as its file has this fingerprint. */
export const TrustedTool = z.strictObject({
  v: z.literal(1),
  /** Hash of the agent's folder, the file's name and its text. */
  fingerprint: Digest,
  /** Below the agent's folder. */
  file: z.string().min(1).max(200),
  folder: z.string().min(1).max(limits.pathCharactersMax),
  /** When it was trusted, in milliseconds since the epoch. */
  at: z.int().nonnegative(),
  level: GivenTrust,
  /** What it said of itself then: what it says later counts for nothing. */
  definition: ToolDefinition,
});
/** A tool that may be run. */
export type TrustedTool = Readonly<z.infer<typeof TrustedTool>>;

/** Where trusted tools are kept: beside the file of what is trusted; undefined if that has no place. */
export function trustedToolsFolder(trustFile: string | undefined): string | undefined {
  return trustFile === undefined ? undefined : `${trustFile}.tools`;
}

/** The trusted tools of one operator; without a folder there are none. Read at every use: what is taken away is away. */
export class TrustedTools {
  readonly #folder: string | undefined;

  constructor(folder: string | undefined) {
    this.#folder = folder;
  }

  /** The tool of a fingerprint; undefined if it is not trusted, a failure if that cannot be told. */
  async find(fingerprint: string): Promise<TrustedTool | Failure | undefined> {
    const path = this.#pathOf(fingerprint);
    if (path === undefined) return undefined;
    let value: unknown;
    try {
      using file = await Deno.open(path, { read: true });
      const { mode, size } = await file.stat();
      // Windows has no such bits.
      if (mode !== null && (mode & othersMayWrite) !== 0) return unusable(path, "others may write it");
      if (size > limits.trustedToolBytesMax) return unusable(path, "it is too large");
      value = await new Response(file.readable).json();
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
        return undefined;
      }
      return unusable(path, "it cannot be read");
    }
    const parsed = TrustedTool.safeParse(value);
    if (parsed.success && parsed.data.fingerprint === fingerprint) return parsed.data;
    return unusable(path, "this release did not write it for that tool");
  }

  /** All that can be read, in the order of their folders and files. */
  async list(): Promise<readonly TrustedTool[]> {
    const found: TrustedTool[] = [];
    try {
      for await (const { name } of Deno.readDir(this.#folder ?? "")) {
        const [, hex] = /^sha256-([0-9a-f]{64})\.json$/.exec(name) ?? [];
        const tool = hex === undefined ? undefined : await this.find(`sha256:${hex}`);
        if (tool !== undefined && !("code" in tool)) found.push(tool);
      }
    } catch {
      return []; // Nothing was ever trusted here.
    }
    const key = ({ folder, file }: TrustedTool) => `${folder}/${file}`;
    return found.sort((left, right) => key(left) < key(right) ? -1 : key(left) > key(right) ? 1 : 0);
  }

  /** Trusts a tool, and the same file as it was before no more. A failure if it cannot be written down. */
  async add(tool: TrustedTool): Promise<Failure | undefined> {
    const path = this.#pathOf(tool.fingerprint);
    if (path === undefined || this.#folder === undefined) {
      return unusable("trusted tools", "no home folder is known");
    }
    try {
      await Deno.mkdir(this.#folder, { recursive: true, mode: folderMode });
      await replaceFile(
        path,
        new TextEncoder().encode(`${JSON.stringify(TrustedTool.parse(tool), undefined, 2)}\n`),
      );
    } catch {
      return unusable(path, "it cannot be written");
    }
    const isBefore = (one: TrustedTool) =>
      one.folder === tool.folder && one.file === tool.file && one.fingerprint !== tool.fingerprint;
    await this.#remove(isBefore);
    return undefined;
  }

  /** Trusts no tool of a folder any more. Returns how many there were. */
  async remove(folder: string): Promise<number> {
    return await this.#remove((one) => one.folder === folder);
  }

  async #remove(isMeant: (tool: TrustedTool) => boolean): Promise<number> {
    const gone = (await this.list()).filter(isMeant);
    for (const { fingerprint } of gone) await removeIfThere(this.#pathOf(fingerprint) ?? "");
    return gone.length;
  }

  #pathOf(fingerprint: string): string | undefined {
    return this.#folder === undefined ? undefined : `${this.#folder}/${fingerprint.replace(":", "-")}.json`;
  }
}

/** The message names the file, but no path: it is shown to models too. */
function unusable(path: string, why: string): Failure {
  const name = path.slice(path.lastIndexOf("/") + 1).slice(0, 30);
  const message =
    `Cannot tell whether the tool is trusted by "${name}": ${why}; look at it, remove it, and trust again`;
  return failure("tool_not_trusted", message);
}
