/** Jails of tests: real processes of this program, ended with the test. */
import type { DoorAnswer, DoorRequest } from "../../schemas/authored.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { ownProgram } from "../../src/host/own_program.ts";
import type { JobEnd } from "../../src/jail/jail.ts";
import { JailPool } from "../../src/jail/jail_pool.ts";
import { jailProgram } from "../../src/jail/jail_program.ts";
import type { OwnProgram } from "../../src/mcp/connections.ts";
import { startChild } from "../../src/processes/child.ts";
import type { SpawnOptions } from "../../src/processes/spawn.ts";
import { createSystemSeams } from "../../src/system_seams.ts";

/** How this program is started once more, from a test. */
export const self: OwnProgram = ownProgram((name) => Deno.env.get(name));

/** The seams of jails: real time. */
export const seams = createSystemSeams({ log: () => {} });

/** A pool, and the numbers of all processes that it started. */
export interface JailStage {
  readonly pool: JailPool;
  readonly pids: readonly number[];
  /** Runs the body of a tool's `execute(input, ctx)` and gives how that ended. */
  run(body: string, options?: RunOptions): Promise<JobEnd>;
}

/** How a tool is run. */
export interface RunOptions {
  readonly input?: JsonObject;
  readonly cpuMsMax?: number;
  readonly signal?: AbortSignal;
  readonly onDoor?: (request: DoorRequest) => Promise<DoorAnswer>;
  readonly onProgress?: (text: string) => void;
}

/** Opens a pool for a test, and ends all that it started. */
export async function withJails(test: (stage: JailStage) => Promise<void>, keepsOne = false): Promise<void> {
  const pids: number[] = [];
  const start = (options: SpawnOptions) => {
    const child = startChild({ ...options, clock: seams.clock });
    pids.push(child.pid);
    return Promise.resolve(child);
  };
  const pool = new JailPool({ start, program: jailProgram(self), clock: seams.clock, keepsOne });
  const never = new AbortController().signal;
  try {
    await test({
      pool,
      pids,
      run: (body, { input = {}, signal = never, ...terms } = {}) =>
        pool.run({ type: "execute", code: toolText(body), input, key: "key" }, { signal, ...terms }),
    });
  } finally {
    await pool.close();
  }
}

/** The text of a tool file whose tool does what `body` says. */
export function toolText(body: string, more = ""): string {
  return `export default defineTool(({ z }) => ({
  name: "tried", description: "A tool of a test", input: z.looseObject({}), ${more}
  async execute(input, ctx) { ${body} },
}));`;
}

/** True if a process of this number lives. */
export function lives(pid: number): boolean {
  try {
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    return !/\) [ZX] /.test(stat);
  } catch {
    return false;
  }
}
