/** Says what is being measured: one changing line on a terminal, nothing elsewhere. */

/** Shows what is under way; an empty text clears the line. */
export function progress(text: string): void {
  if (!Deno.stderr.isTerminal()) return;
  Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[2K${text}`));
}
