/** Writes a file that a command was asked for: readable for its owner only, whole or not at all. */
import type { Cli } from "./cli.ts";
import { UsageError } from "./exit.ts";

/** Where to write. */
export interface NewFile {
  readonly path: string;
  /** Replace it if it is there. */
  readonly force: boolean;
}

/**
 * Writes beside its place and moves it there at the end, so that nobody finds half of it. `compose` is given how to write,
 * and says what it has written. Throws a {@linkcode UsageError} if the file is there, or its folder takes none.
 */
export async function writeNewFile<T>(
  { seams }: Pick<Cli, "seams">,
  { path, force }: NewFile,
  compose: (write: (text: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  if (!force && await exists(path)) {
    throw new UsageError(
      "file_exists",
      `Cannot write "${path}": it exists; name another file, or use --force`,
    );
  }
  const draft = `${path}.${seams.nextId("part")}`;
  const file = await open(draft, path);
  try {
    const made = await compose(async (text) => {
      const bytes = new TextEncoder().encode(text);
      for (let written = 0; written < bytes.length;) written += await file.write(bytes.subarray(written));
    });
    file.close();
    await Deno.rename(draft, path);
    return made;
  } catch (error) {
    await Deno.remove(draft).catch(() => {});
    throw error;
  }
}

async function open(draft: string, path: string): Promise<Deno.FsFile> {
  try {
    return await Deno.open(draft, { write: true, createNew: true, mode: 0o600 });
  } catch (error) {
    const reason = error instanceof Deno.errors.NotFound
      ? "its folder does not exist"
      : "its folder cannot be written";
    throw new UsageError("file_unwritable", `Cannot write "${path}": ${reason}`);
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch {
    return false;
  }
}
