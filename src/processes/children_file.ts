/** The file beside a store that says: children were started here and may still live. */

/** Names are cut in it, and it begins anew when it is full: it is read by people, and only that it exists counts. */
const bounds = { bytesMax: 65_536, nameCharactersMax: 200 } as const;
const pidDigits = 10;

/** One line: a child that is about to start. */
export interface StartedLine {
  readonly atMs: number;
  readonly command: string;
}

/** The file of one run. Everything happens in the order of the calls. */
export class ChildrenFile {
  readonly path: string;
  #last: Promise<unknown> = Promise.resolve();
  /** True once this run has written to it. */
  #isUsed = false;
  /** True if this run has made it: then it stands for no earlier run. */
  #isOurs = false;

  constructor(path: string) {
    this.path = path;
  }

  exists(): Promise<boolean> {
    return this.#inOrder(async () => {
      try {
        return (await Deno.lstat(this.path)).isFile;
      } catch (error) {
        if (error instanceof Deno.errors.NotFound) return false;
        throw error;
      }
    });
  }

  /** Adds a line and waits until it is on the disk. Gives the place for the pid, which is not known yet. */
  add({ atMs, command }: StartedLine): Promise<number> {
    const name = JSON.stringify(command.slice(0, bounds.nameCharactersMax));
    const pid = "null".padEnd(pidDigits);
    const line = `{"at":"${new Date(atMs).toISOString()}","command":${name},"pid":${pid}}\n`;
    return this.#inOrder(async () => {
      this.#isUsed = true;
      using file = await this.#open();
      let end = await file.seek(0, Deno.SeekMode.End);
      if (end >= bounds.bytesMax) {
        await file.truncate(0);
        end = await file.seek(0, Deno.SeekMode.Start);
      }
      const bytes = new TextEncoder().encode(line);
      await writeAll(file, bytes);
      await file.sync();
      return end + bytes.length - pidDigits - "}\n".length;
    });
  }

  /** Writes a pid into its place. */
  setPid(place: number, pid: number): Promise<void> {
    return this.#inOrder(async () => {
      using file = await Deno.open(this.path, { write: true });
      await file.seek(place, Deno.SeekMode.Start);
      await writeAll(file, new TextEncoder().encode(String(pid).padEnd(pidDigits)));
    });
  }

  /** Takes the file away if an earlier run made it and this one has not written to it. */
  removeInherited(): Promise<void> {
    return this.#inOrder(async () => {
      if (!this.#isUsed) await this.#remove();
    });
  }

  /** Takes the file away if this run made it. One that was inherited stays: what it stands for has not been ended. */
  removeOurs(): Promise<void> {
    return this.#inOrder(async () => {
      if (this.#isOurs) await this.#remove();
    });
  }

  async #remove(): Promise<void> {
    try {
      await Deno.remove(this.path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }

  async #open(): Promise<Deno.FsFile> {
    try {
      const file = await Deno.open(this.path, { write: true, createNew: true, mode: 0o600 });
      this.#isOurs = true;
      return file;
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
      return await Deno.open(this.path, { write: true });
    }
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) written += await file.write(bytes.subarray(written));
}
