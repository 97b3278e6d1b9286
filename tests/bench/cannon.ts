/** Load by autocannon, which nobody here wrote. */

/** What it found. */
export interface CannonFigures {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** Answers other than 2xx, and errors. */
  readonly failed: number;
}

const config = new URL("./peers/deno.json", import.meta.url).pathname;
const seconds = 5;

/** Asks for one thing as fast as it is answered; undefined if the package is not to be had. */
export async function fireCannon(url: string, token: string): Promise<CannonFigures | undefined> {
  const args = [
    "run",
    "-A",
    "--quiet",
    "--config",
    config,
    "npm:autocannon@8.0.0",
    "--json",
    "--no-progress",
  ];
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [...args, "-d", String(seconds), "-c", "20", "-H", `authorization=Bearer ${token}`, url],
    stderr: "null",
  }).output();
  if (!success) return undefined;
  const { requests, latency, non2xx, errors } = JSON.parse(new TextDecoder().decode(stdout));
  return { perSecond: requests.average, p99Ms: latency.p99, failed: non2xx + errors };
}
