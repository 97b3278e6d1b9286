/** What somebody who made a slip of the pen probably meant. */

/** The name that was probably meant: at most a third of its letters are wrong. Undefined if none is near. */
export function nearest(given: string, names: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Infinity;
  for (const name of names) {
    const distance = distanceOf(given, name);
    if (distance < bestDistance && distance <= Math.max(1, Math.floor(name.length / 3))) {
      [best, bestDistance] = [name, distance];
    }
  }
  return best;
}

/** Letters to add, drop, change or swap with their neighbour. */
function distanceOf(left: string, right: string): number {
  if (Math.abs(left.length - right.length) > 8) return Infinity;
  let before: number[] = [];
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const change = left[i - 1] === right[j - 1] ? 0 : 1;
      let least = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + change);
      if (i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]) {
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      }
      next.push(least);
    }
    [before, row] = [row, next];
  }
  return row[right.length] ?? Infinity;
}
