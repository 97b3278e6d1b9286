/** Signals to a child and to everything in its process group. */

const isWindows = Deno.build.os === "windows";

/**
 * Sends a signal to the group of a child that was started detached: the group has the child's pid as its number. A
 * group that is gone already is no error. The number must not be used once the group is known to be empty: the system
 * gives it to somebody else.
 */
export function signalGroup(child: Deno.ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    // Windows has no groups, so grandchildren live on there (no test runs on Windows).
    if (isWindows) child.kill(signal);
    // The child's own method would not do: after one signal it ignores every later one.
    else Deno.kill(-child.pid, signal);
  } catch {
    // Gone, or not ours to signal: the ladder goes on either way.
  }
}
