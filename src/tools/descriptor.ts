/** Where an open file really is: the kernel's own answer, which no swap of a path can change (B56). */

const folder = "/proc/self/fd";

/** The number that matched last: the lowest free one is given out, so it mostly matches again. */
let lastNumber = "";
let isThere: boolean | undefined;

/** True if this system lets a process look at its own descriptors: Linux, with the permission to read `/proc`. */
export function hasDescriptors(): boolean {
  if (isThere === undefined) {
    try {
      isThere = Deno.build.os === "linux" && [...Deno.readDirSync(folder)].length > 0;
    } catch {
      isThere = false;
    }
  }
  return isThere;
}

/** True if both are one file: same device, same inode. A hard link to an outside file cannot be told apart (B59). */
export function isSameFile(left: Deno.FileInfo, right: Deno.FileInfo): boolean {
  return left.dev === right.dev && left.ino === right.ino;
}

/**
 * The descriptor through which this process holds the file `opened`, if the kernel says that it was opened at `real`
 * and is still there. Synchronous, so that nobody in this process closes it between the look and its use.
 */
export function descriptorOf(real: string, opened: Deno.FileInfo): string | undefined {
  if (isHeldAt(lastNumber, real, opened)) return `${folder}/${lastNumber}`;
  for (const { name } of Deno.readDirSync(folder)) {
    if (!isHeldAt(name, real, opened)) continue;
    lastNumber = name;
    return `${folder}/${name}`;
  }
  return undefined;
}

function isHeldAt(number: string, real: string, opened: Deno.FileInfo): boolean {
  if (number === "") return false;
  try {
    const at = `${folder}/${number}`;
    return Deno.readLinkSync(at) === real && isSameFile(Deno.statSync(at), opened);
  } catch {
    return false; // Closed meanwhile.
  }
}
