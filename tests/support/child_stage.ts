/** What tests of child processes share: whether a process lives, what it says, and a folder of its own. */
import assert from "node:assert/strict";

/** The environment of test children: nothing but where commands are. */
export const childEnv = { PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin" };

/** Whether the machine has a command. */
export function hasCommand(name: string): boolean {
  return childEnv.PATH.split(":").some((folder) => {
    try {
      return Deno.statSync(`${folder}/${name}`).isFile;
    } catch {
      return false;
    }
  });
}

/** Longest wait for anything, in milliseconds: only a broken build comes near it. */
const patienceMs = 10_000;

/** Does `work`, within a bound. */
export async function within<T>(claim: string, work: () => Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${claim} took more than ${patienceMs} ms`)), patienceMs);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** True if a process has ended. One that nobody has waited for yet has ended as well. */
export function isGone(pid: number): boolean {
  try {
    // The state stands behind the name, which may hold anything.
    if (Deno.build.os === "linux") {
      return /\) [ZX] /.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
    }
    Deno.kill(pid, "SIGCONT");
    return false;
  } catch {
    return true;
  }
}

/** Waits until something holds, within a bound. */
export async function until(claim: string, holds: () => boolean): Promise<void> {
  for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += 5) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.fail(`did not come to hold: ${claim}`);
}

/** Waits until a process has ended. */
export function untilGone(pid: number): Promise<void> {
  return until(`process ${pid} is gone`, () => isGone(pid));
}

/** Ends a process by its pid, a group by its negative: what a test started, and a broken build would leave behind. */
export function endProcess(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch {
    // Gone, as it should be.
  }
}

/** Reads a stream line by line. */
export class LineReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = "";

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader();
  }

  /** The next line, or undefined at the end. */
  async next(): Promise<string | undefined> {
    for (;;) {
      const end = this.#text.indexOf("\n");
      if (end >= 0) {
        const line = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 1);
        return line;
      }
      const { value } = await this.#reader.read();
      if (value === undefined) return undefined;
      this.#text += this.#decoder.decode(value, { stream: true });
    }
  }

  /** The next line, as a pid. */
  async pid(): Promise<number> {
    const line = await this.next();
    assert.match(line ?? "the end", /^[1-9]\d*$/);
    return Number(line);
  }
}

/** Gives a test a folder, and takes it away whatever happens. */
export function withFolder(prove: (folder: string) => Promise<void>): () => Promise<void> {
  return async () => {
    const folder = await Deno.makeTempDir();
    try {
      await within("the test", () => prove(folder));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  };
}
