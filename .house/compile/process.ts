/** Runs one process to its end. */

/** What is run, and where. */
export interface Order {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: { readonly [name: string]: string };
  /** True for an environment that holds `env` and nothing else. */
  readonly isCleared?: boolean;
  /** What stands on its standard input; nothing if absent. */
  readonly input?: string;
  /** Longest time, in milliseconds; then it is killed. */
  readonly durationMsMax?: number;
}

/** How it ended. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Two minutes: a download of a base is the longest that is waited for. */
const durationMsDefault = 120_000;

/** Runs it. A process that ends badly is no error; one that cannot be started is. */
export async function runProcess(order: Order): Promise<Ended> {
  const { command, args, cwd, env = {}, isCleared = false, input } = order;
  const child = new Deno.Command(command, {
    args: [...args],
    cwd,
    env: { ...env },
    clearEnv: isCleared,
    stdin: input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), order.durationMsMax ?? durationMsDefault);
  try {
    const writing = input === undefined ? undefined : write(child.stdin, input);
    const { code, stdout, stderr } = await child.output();
    await writing;
    const decoder = new TextDecoder();
    return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
  } finally {
    clearTimeout(timer);
  }
}

async function write(stream: WritableStream<Uint8Array>, text: string): Promise<void> {
  const writer = stream.getWriter();
  try {
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
  } catch {
    // It ended before it read: its end says why.
  }
}
