/** How long a process kept the processor busy, as the system says it. */

/** Length of a tick of `/proc`, in milliseconds: the same on every Linux of today. */
const tickMs = 10;

/** Time of the processor that a process has used, in milliseconds; undefined where the system does not tell. */
export function processorMs(pid: number): number | undefined {
  if (Deno.build.os !== "linux") return undefined;
  try {
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    // The name stands in parentheses and may hold anything; its times are the 12th and 13th field behind it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * tickMs;
  } catch {
    return undefined; // Gone, or not ours to look at.
  }
}
