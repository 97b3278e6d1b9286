/** Files that decide what is started: readable for their owner alone, and never half written. */

/** Mode of such a file. */
export const fileMode = 0o600;
/** Mode of their folder. */
export const folderMode = 0o700;
/** Bits of a mode by which the group or everybody may write. */
export const othersMayWrite = 0o022;

/** Writes a file beside its place and moves it there, so that nobody ever reads half of it. The caller holds a lock. */
export async function replaceFile(path: string, bytes: Uint8Array): Promise<void> {
  const draft = `${path}.part`;
  try {
    // Only a process that died in here can have left one.
    await removeIfThere(draft);
    await writeNew(draft, bytes);
    await Deno.rename(draft, path);
  } catch (error) {
    await Deno.remove(draft).catch(() => {});
    throw error;
  }
}

/** Flushed: a file that is moved to its place before its content is on disk can be found empty after a power cut. */
async function writeNew(path: string, bytes: Uint8Array): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true, mode: fileMode });
  for (let written = 0; written < bytes.length;) written += await file.write(bytes.subarray(written));
  await file.sync();
}

/** Removes a file, unless there is none. */
export async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
