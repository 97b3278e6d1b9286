/** Whether this process has no file descriptor left: then nothing is started or connected, and what is open goes on. */
import { limits } from "../schemas/limits.ts";

const codes = new Set(["EMFILE", "ENFILE"]);

/** What to do about it, for messages. */
export const exhaustionAdvice =
  "this process has no file descriptor left; try again when less runs at once, or raise the limit (ulimit -n)";

/** True for an error that says so, or whose cause does. Never by its words, but for those of the system itself. */
export function isExhausted(error: unknown): boolean {
  for (let one = error, depth = 0; one instanceof Error && depth < 8; one = one.cause, depth++) {
    if ("code" in one && typeof one.code === "string" && codes.has(one.code)) return true;
    if (/\(os error (?:23|24)\)/.test(one.message) && Deno.build.os !== "windows") return true;
  }
  return false;
}

/** True if no file can be opened now: for what fails without saying why, as looking up a name does. */
export function isOutOfFiles(): boolean {
  return lacksFiles(1);
}

/**
 * True if so few descriptors are left that no process and no thread may be started: one that gets a part of what it needs
 * runs and cannot be followed, and a thread that gets none ends the whole process.
 */
export function lacksFilesToStart(): boolean {
  return lacksFiles(limits.spareDescriptorsMin);
}

function lacksFiles(count: number): boolean {
  const open: Deno.FsFile[] = [];
  try {
    while (open.length < count) open.push(Deno.openSync("/dev/null"));
    return false;
  } catch (error) {
    return isExhausted(error); // Where there is no such file, nothing is known, and the start itself says so.
  } finally {
    for (const one of open) one.close();
  }
}
