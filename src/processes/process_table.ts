/** Which processes of this machine carry a mark in their environment. */
/** The processes that are meant, by the environment they were started with. Never this process itself. */
export interface ProcessTable {
  find(): Promise<readonly number[]>;
  /** Looks again at one process: its number may be another's by now. Answers at once, so that a signal can follow. */
  isLeft(pid: number): boolean;
}

/** Opens the table as this system has it. Undefined where there is none that tells environments. */
export async function openProcessTable(
  isMeant: (environment: readonly string[]) => boolean,
): Promise<ProcessTable | undefined> {
  if (Deno.build.os === "windows") return undefined;
  return await hasProc() ? new ProcTable(isMeant) : new PsTable(isMeant);
}

async function hasProc(): Promise<boolean> {
  try {
    return (await Deno.stat("/proc/self/environ")).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return false;
  }
}

/** Linux: `/proc` gives the environment that each process was started with. */
class ProcTable implements ProcessTable {
  readonly #isMeant: (environment: readonly string[]) => boolean;

  constructor(isMeant: (environment: readonly string[]) => boolean) {
    this.#isMeant = isMeant;
  }

  async find(): Promise<readonly number[]> {
    const pids: number[] = [];
    for await (const { name } of Deno.readDir("/proc")) {
      const pid = /^\d+$/.test(name) ? Number(name) : Deno.pid;
      if (pid !== Deno.pid && this.isLeft(pid)) pids.push(pid);
    }
    return pids;
  }

  isLeft(pid: number): boolean {
    try {
      const environ = new TextDecoder("latin1").decode(Deno.readFileSync(`/proc/${pid}/environ`));
      return this.#isMeant(environ.split("\0"));
    } catch (error) {
      // Ended by now, of the kernel, or of another user: none of ours. Anything else says nothing about the process.
      if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) {
        return false;
      }
      // "No such process": Deno has neither class nor code for it.
      if (error instanceof Error && error.message.includes("(os error 3)")) return false;
      throw error;
    }
  }
}

/** macOS and others: `ps` prints the environment behind the command. No test runs there. */
class PsTable implements ProcessTable {
  readonly #isMeant: (environment: readonly string[]) => boolean;

  constructor(isMeant: (environment: readonly string[]) => boolean) {
    this.#isMeant = isMeant;
  }

  async find(): Promise<readonly number[]> {
    const { stdout } = await ps("-axEwwo", "pid=,command=").output();
    return new TextDecoder("latin1").decode(stdout).split("\n").flatMap((line) => {
      const [, pid, rest = ""] = /^\s*(\d+)\s(.*)$/.exec(line) ?? [];
      if (pid === undefined || Number(pid) === Deno.pid) return [];
      return this.#isMeant(rest.split(/\s+/)) ? [Number(pid)] : [];
    });
  }

  isLeft(pid: number): boolean {
    const { stdout } = ps("-Ewwo", "command=", "-p", String(pid)).outputSync();
    return this.#isMeant(new TextDecoder("latin1").decode(stdout).split(/\s+/));
  }
}

function ps(...args: readonly string[]): Deno.Command {
  return new Deno.Command("/bin/ps", { args: [...args], stdin: "null", stdout: "piped", stderr: "null" });
}
