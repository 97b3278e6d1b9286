/** How fast a compiled program starts, beside one that ends at once: both on the pair of Deno and base that npm has. */
import { installPair } from "../../.house/compile/pair.ts";
import { runProcess } from "../../.house/compile/process.ts";
import { compileBundle, mainFile, makeBundle, programFlags } from "../../.house/compile/program.ts";
import { progress } from "./progress.ts";
import { median } from "./statistics.ts";
import { duration } from "./table.ts";

/** Starts of one program, in milliseconds. */
interface Starts {
  readonly leastMs: number;
  readonly medianMs: number;
}

/** What was found; `starts` by what was started. */
export interface BinaryFigures {
  readonly bytes: { readonly program: number; readonly bare: number };
  readonly starts: { readonly bare: Starts; readonly version: Starts; readonly help: Starts };
}

/** Starts each in turn, so that whatever else the machine does meets all of them. Undefined where there is no pair. */
export async function runBinaryRounds(rounds: number): Promise<BinaryFigures | undefined> {
  const pair = await installPair();
  if (pair === undefined) return undefined;
  const folder = await Deno.makeTempDir({ prefix: "troupe-bench-" });
  try {
    progress("compiling");
    await Deno.mkdir(`${folder}/bundle`);
    await makeBundle(`${folder}/bundle`);
    await Deno.mkdir(`${folder}/nothing`);
    await Deno.writeTextFile(`${folder}/nothing/${mainFile}`, "Deno.exit();\n");
    const compile = (name: string, output: string) =>
      compileBundle({ folder: `${folder}/${name}`, output, ...pair, flags: programFlags });
    const [program, bare] = [`${folder}/troupe`, `${folder}/bare`];
    await compile("bundle", program);
    await compile("nothing", bare);
    const took = { bare: [] as number[], version: [] as number[], help: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      progress(`start ${round + 1} of ${rounds}`);
      took.bare.push(await startOnce(bare, folder));
      took.version.push(await startOnce(program, folder, "--version"));
      took.help.push(await startOnce(program, folder, "--help"));
    }
    progress("");
    return {
      bytes: { program: (await Deno.stat(program)).size, bare: (await Deno.stat(bare)).size },
      starts: { bare: startsOf(took.bare), version: startsOf(took.version), help: startsOf(took.help) },
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function startOnce(command: string, cwd: string, ...args: readonly string[]): Promise<number> {
  const startMs = performance.now();
  const { code, err } = await runProcess({ command, args, cwd, env: { HOME: cwd }, isCleared: true });
  if (code !== 0) throw new Error(`${command} ends with ${code}: ${err}`);
  return performance.now() - startMs;
}

function startsOf(times: readonly number[]): Starts {
  return { leastMs: Math.min(...times), medianMs: median(times) };
}

/** The figures as text. */
export function binaryText(found: BinaryFigures | undefined): string {
  if (found === undefined) return "No program was started: npm has no pair of Deno and base for this machine";
  const { bytes: { program, bare }, starts } = found;
  const mib = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MiB`;
  const against = (one: Starts) => (one.medianMs / starts.bare.medianMs).toFixed(2);
  return [
    `A compiled program: ${mib(program)}, of which ${mib(program - bare)} are ours`,
    `Start of one that ends at once: ${duration(starts.bare.medianMs)}; troupe --version ${
      duration(starts.version.medianMs)
    }, ${against(starts.version)} times that; troupe --help ${against(starts.help)} times (medians)`,
  ].join("\n");
}
