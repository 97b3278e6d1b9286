/** When a process began, as the system says it: together with its number that is one process and no other (DM-97). */

/** Reads the mark of a process. Answers at once, so that a signal can follow; undefined if there is no such process. */
export type ReadStartMark = (pid: number) => string | undefined;

const bootIdFile = "/proc/sys/kernel/random/boot_id";
let bootId: string | undefined;

/**
 * Linux: the boot and the ticks from it to the start. Elsewhere the time of the start that `ps` prints, of which no test
 * is run. On Windows the handle of a child keeps its number from anybody else.
 */
export function readStartMark(pid: number): string | undefined {
  if (Deno.build.os === "windows") return "held";
  if (Deno.build.os !== "linux") return said("/bin/ps", "-o", "lstart=", "-p", String(pid));
  bootId ??= textOf(bootIdFile);
  const stat = textOf(`/proc/${pid}/stat`);
  // The name stands in parentheses and may hold anything; the ticks are the twentieth field behind it.
  const ticks = stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  return bootId === undefined || ticks === undefined ? undefined : `${bootId}.${ticks}`;
}

/** A file of the system. Where we may not read it ourselves, a child may: Deno keeps `/proc` for runtimes with all rights. */
function textOf(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path).trim();
  } catch (error) {
    return error instanceof Deno.errors.NotCapable ? said("/bin/cat", path) : undefined;
  }
}

/** By its whole path: this process may have no PATH. */
function said(command: string, ...args: readonly string[]): string | undefined {
  const { success, stdout } = new Deno.Command(command, {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).outputSync();
  const text = new TextDecoder().decode(stdout).trim();
  return success && text !== "" ? text : undefined;
}
