/** Progress: after a second, the last line of the terminal says what goes on. Nothing on pipes. */
import type { Cli } from "./cli.ts";

const silentMs = 1_000;
const everyMs = 250;

/** Does `work` and meanwhile shows `label`, the seconds so far, and what `work` tells. */
export async function withProgress<T>(
  { terminal, seams: { clock } }: Pick<Cli, "terminal" | "seams">,
  label: string,
  work: (tell: (news: string) => void) => Promise<T>,
): Promise<T> {
  if (!terminal.err.isTerminal) return await work(() => {});
  const stop = new AbortController();
  const start = clock.now();
  let news = "";
  const show = async () => {
    await clock.sleepUntil(start + silentMs, stop.signal);
    while (!stop.signal.aborted) {
      const seconds = Math.floor((clock.now() - start) / 1_000);
      terminal.status(`${label} (${seconds} s)${news === "" ? "" : ` ${news}`}`);
      await clock.sleepUntil(clock.now() + everyMs, stop.signal);
    }
  };
  const shown = show();
  try {
    return await work((told) => news = told);
  } finally {
    stop.abort();
    await shown;
    terminal.status(undefined);
  }
}
