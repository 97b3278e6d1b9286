/** Folders that are for their owner alone, beside a store. */

/** Makes one, or makes sure of it. A link, or something else under that name, is not followed: it may lead anywhere (B52). */
export async function makePrivate(folder: string): Promise<void> {
  try {
    await Deno.mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    const { isDirectory, mode } = await Deno.lstat(folder);
    if (!isDirectory) throw new Deno.errors.NotADirectory(`Cannot use "${folder}": it is no folder`);
    if (mode !== null && (mode & 0o077) !== 0) await Deno.chmod(folder, 0o700);
  }
}
