/** A runtime that a program starts as its child: `troupe serve --stdio`, and the pipe to it. */
import { apiLimits } from "../../schemas/api_limits.ts";
import { type Child, startChild } from "../processes/child.ts";
import type { Clock } from "../seams.ts";
import { RpcCarrier } from "./rpc_carrier.ts";

/** What is started. */
export interface SpawnedTroupe {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment: nothing is inherited. */
  readonly env: { readonly [name: string]: string };
  readonly clock: Clock;
}

/** Starts it, and gives the carrier to it. It ends with this program, however that ends: by the end of its input. */
export function startTroupe(options: SpawnedTroupe): RpcCarrier {
  const child = startChild(options);
  return new RpcCarrier({
    lines: child.stdout,
    write: (bytes) => child.write(bytes),
    why: async () => {
      const { code, signal } = await child.ended;
      const said = child.stderr().trim().split("\n").at(-1) ?? "";
      return `it ended by ${signal ?? `exit code ${code}`}${said === "" ? "" : `, and said: ${said}`}`;
    },
    close: () => end(child, options.clock),
  });
}

/** It has its own time to end in; only what does not end by itself is killed. */
async function end(child: Child, clock: Clock): Promise<void> {
  child.endInput();
  const enough = new AbortController();
  const late = clock.sleepUntil(clock.now() + 2 * apiLimits.drainMs, enough.signal);
  await Promise.race([child.ended, late]);
  enough.abort();
  await child.close();
}
