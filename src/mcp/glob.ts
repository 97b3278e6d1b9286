/** Globs over names of tools: `*` stands for any characters, also none, `?` for one; everything else for itself. */

/**
 * True if the whole of `name` matches `glob`. Only the last `*` is ever gone back to, since whatever an earlier one could
 * take, a later one can take as well: the time is at most the product of both lengths, and a manifest bounds both.
 */
export function matchesGlob(glob: string, name: string): boolean {
  let inGlob = 0;
  let inName = 0;
  let star = -1;
  let starEnd = 0;
  while (inName < name.length) {
    const wanted = glob[inGlob];
    if (wanted === "*") {
      star = inGlob++;
      starEnd = inName;
    } else if (wanted === "?" || (wanted !== undefined && wanted === name[inName])) {
      inGlob += 1;
      inName += 1;
    } else if (star >= 0) {
      // The star takes one character more.
      inGlob = star + 1;
      inName = ++starEnd;
    } else return false;
  }
  while (glob[inGlob] === "*") inGlob += 1;
  return inGlob === glob.length;
}

/** Which tools of a server are offered. Without `include` all are; `exclude` wins. */
export interface ToolFilter {
  readonly include?: readonly string[] | undefined;
  readonly exclude: readonly string[];
}

/** True if a filter lets a tool through (DM-68). */
export function isOffered(filter: ToolFilter, name: string): boolean {
  if (filter.exclude.some((glob) => matchesGlob(glob, name))) return false;
  return filter.include === undefined || filter.include.some((glob) => matchesGlob(glob, name));
}
