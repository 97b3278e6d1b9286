/** A folder that is held open while files in it are changed. */
import { descriptorOf, hasDescriptors, isSameFile } from "./descriptor.ts";
import { join } from "./path.ts";

/** A folder that is held open: what is done in it is done there, wherever its path leads meanwhile. */
export class OpenFolder {
  readonly #real: string;
  readonly #file: Deno.FsFile;
  readonly #info: Deno.FileInfo;
  /** The path by which names in it are reached: the open folder itself, where the system lets us. */
  readonly #base: string;

  constructor(
    { real, file, info, base }: {
      readonly real: string;
      readonly file: Deno.FsFile;
      readonly info: Deno.FileInfo;
      readonly base: string;
    },
  ) {
    this.#real = real;
    this.#file = file;
    this.#info = info;
    this.#base = base;
  }

  /** Undefined if another folder is there by now. */
  static async open(real: string): Promise<OpenFolder | undefined> {
    const seen = await Deno.lstat(real);
    if (!seen.isDirectory) return undefined;
    const file = await Deno.open(real, { read: true });
    const info = await file.stat();
    const base = hasDescriptors() ? descriptorOf(real, info) : real;
    if (base !== undefined && isSameFile(seen, info)) {
      const folder = new OpenFolder({ real, file, info, base });
      if (folder.isInPlace()) return folder;
    }
    file.close();
    return undefined;
  }

  /** Makes a folder in it. Undefined if something is there by now. */
  async make(name: string): Promise<OpenFolder | undefined> {
    try {
      await Deno.mkdir(this.at(name));
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
    return await OpenFolder.open(join(this.#real, [name]));
  }

  /** The path of a name in it. */
  at(name: string): string {
    return `${this.#base}/${name}`;
  }

  isInPlace(): boolean {
    if (hasDescriptors()) return descriptorOf(this.#real, this.#info) !== undefined;
    return isSameFile(Deno.lstatSync(this.#real), this.#info) && Deno.realPathSync(this.#real) === this.#real;
  }

  /** Waits until the names in it are on the disk, where the system can. */
  async sync(): Promise<void> {
    await this.#file.sync().catch(() => {});
  }

  close(): void {
    try {
      this.#file.close();
    } catch {
      // It was closed before.
    }
  }
}
