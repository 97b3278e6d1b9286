/** What a jailed tool costs: a call with a jail that waits, one without, and what is left after many. */
import { ownProgram } from "../../src/host/own_program.ts";
import { JailPool } from "../../src/jail/jail_pool.ts";
import { jailProgram } from "../../src/jail/jail_program.ts";
import { startChild } from "../../src/processes/child.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { progress } from "./progress.ts";
import { median, quantile } from "./statistics.ts";
import { duration } from "./table.ts";

/** How it went. Milliseconds. */
export interface AuthoredFigures {
  readonly calls: number;
  /** A jail was ready: the model takes longer to answer than the next one takes to start. */
  readonly warm: { readonly medianMs: number; readonly p99Ms: number };
  /** The process is started by the call. */
  readonly cold: { readonly medianMs: number; readonly p99Ms: number };
  /** Processes that are left when the pool was closed: of as many as were started. */
  readonly left: number;
  readonly started: number;
}

const code = `export default defineTool(({ z }) => ({
  name: "adds", description: "Adds", input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
}));`;

/** Makes as many calls one after another, a tenth of them cold. */
export async function runAuthoredRounds(calls: number): Promise<AuthoredFigures> {
  const { clock } = createSystemSeams({ log: () => {} });
  const pids: number[] = [];
  const start: ConstructorParameters<typeof JailPool>[0]["start"] = (options) => {
    const child = startChild({ ...options, clock });
    pids.push(child.pid);
    return Promise.resolve(child);
  };
  const program = jailProgram(ownProgram((name) => Deno.env.get(name)));
  const timesOf = async (pool: JailPool, count: number, pauseMs: number) => {
    const times: number[] = [];
    const signal = new AbortController().signal;
    for (let call = 0; call < count; call++) {
      if (call % 50 === 0) progress(`jailed calls: ${pids.length} of ${calls}`);
      pool.warm();
      if (pauseMs > 0) await clock.sleepUntil(clock.now() + pauseMs);
      const startMs = performance.now();
      const end = await pool.run({ type: "execute", code, input: { a: call, b: 1 }, key: "k" }, { signal });
      times.push(performance.now() - startMs);
      if (end.type !== "result" || end.value !== call + 1) {
        throw new Error(`A call ended as ${JSON.stringify(end)}`);
      }
    }
    await pool.close();
    return { medianMs: median(times), p99Ms: quantile(times, 0.99) };
  };
  const cold = await timesOf(new JailPool({ start, program, clock, keepsOne: false }), calls / 10, 0);
  const warm = await timesOf(new JailPool({ start, program, clock }), calls - calls / 10, 250);
  progress("");
  return { calls, warm, cold, left: pids.filter(lives).length, started: pids.length };
}

function lives(pid: number): boolean {
  try {
    Deno.statSync(`/proc/${pid}`);
    return true;
  } catch {
    return false;
  }
}

/** The figures as text. */
export function authoredText({ calls, warm, cold, left, started }: AuthoredFigures): string {
  return [
    `A call of a jailed tool, in a process of its own: ${duration(warm.medianMs)} · ${
      duration(warm.p99Ms)
    } with one that waits, ` +
    `${duration(cold.medianMs)} · ${duration(cold.p99Ms)} without (median · p99)`,
    `${calls} calls, ${started} processes started, ${left} left`,
  ].join("\n");
}
