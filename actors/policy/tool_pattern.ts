/** Patterns over full names of tools: see `ToolPattern` in `schemas/config.ts`. */

/**
 * True if a name fits a pattern. Linear: nothing is tried twice. A `*` at the end fits any rest, dots included; any other
 * `*` is a whole part and fits what stands up to the next dot.
 */
export function matchesToolPattern(pattern: string, name: string): boolean {
  let at = 0;
  for (let index = 0; index < pattern.length; index++) {
    const character = pattern[index];
    if (character !== "*") {
      if (character !== name[at]) return false;
      at += 1;
    } else if (index === pattern.length - 1) return true;
    else {
      const dot = name.indexOf(".", at);
      at = dot < 0 ? name.length : dot;
    }
  }
  return at === name.length;
}
