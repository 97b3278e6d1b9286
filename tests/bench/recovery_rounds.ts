/** Recovery: a process is killed, and the next one starts on what it left; until it is ready, and until it answers. */
import { Child } from "./child.ts";
import { progress } from "./progress.ts";
import type { FillRequest, RecoverAnswer } from "./protocol.ts";
import { median } from "./statistics.ts";
import { duration, grouped, tableOf } from "./table.ts";

const script = new URL("./durable_child.ts", import.meta.url);
const config = new URL("../../deno.json", import.meta.url);

/** One store, and how it was left. */
export interface RecoveryCase extends Omit<FillRequest, "do" | "location"> {
  /** Also without the snapshot of the session that is asked. */
  readonly isBare?: boolean;
}

/** What starts on that store took. Medians over the repeats, in milliseconds. */
export interface RecoveryFigures extends RecoveryCase {
  readonly readyMs: number;
  readonly answeredMs: number;
  readonly cpuMs: number;
  readonly found: Pick<RecoverAnswer, "open" | "roots" | "entries">;
}

function startChild(): Promise<Child> {
  return Child.start({ name: "durable", script, config });
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for await (const { name } of Deno.readDir(from)) await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
}

/** Every repeat is a process of its own on a copy of its own: a start changes what it finds. */
async function measure(asked: RecoveryCase, repeats: number, folder: string): Promise<RecoveryFigures> {
  const { isBare = false, sessions, entries, isOpen } = asked;
  const filled = `${folder}/filled`;
  await Deno.mkdir(filled);
  progress(`filling ${sessions} sessions`);
  const filler = await startChild();
  const location = `${filled}/store.db`;
  const session = await filler.ask({ do: "fill", location, sessions, entries, isOpen });
  await filler.kill();
  const answers: RecoverAnswer[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    progress(`recovering ${sessions} sessions, ${repeat + 1} of ${repeats}`);
    const copy = `${folder}/copy-${repeat}`;
    await copyFolder(filled, copy);
    const child = await startChild();
    answers.push(await child.ask({ do: "recover", location: `${copy}/store.db`, session, isBare }));
    await child.kill();
    await Deno.remove(copy, { recursive: true });
  }
  await Deno.remove(filled, { recursive: true });
  const { open = 0, roots = 0, entries: length = 0 } = answers[0] ?? {};
  return {
    ...asked,
    readyMs: median(answers.map(({ readyMs }) => readyMs)),
    answeredMs: median(answers.map(({ answeredMs }) => answeredMs)),
    cpuMs: median(answers.map(({ cpuMs }) => cpuMs)),
    found: { open, roots, entries: length },
  };
}

/** Runs all cases, one after another. */
export async function runRecoveryRounds(
  cases: readonly RecoveryCase[],
  repeats: number,
): Promise<readonly RecoveryFigures[]> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-bench-recovery-" });
  try {
    const found: RecoveryFigures[] = [];
    for (const one of cases) found.push(await measure(one, repeats, folder));
    return found;
  } finally {
    progress("");
    await Deno.remove(folder, { recursive: true });
  }
}

/** The figures as text. */
export function recoveryText(figures: readonly RecoveryFigures[]): string {
  const rows = figures.map(({ sessions, entries, isOpen, isBare, readyMs, answeredMs, cpuMs, found }) => [
    `${grouped(sessions)} ${sessions === 1 ? "session" : "sessions"} of ${grouped(entries)} entries, ${
      isOpen ? "all in a turn" : "all at rest"
    }${isBare === true ? ", no snapshot" : ""}`,
    grouped(found.open),
    duration(readyMs),
    duration(answeredMs),
    duration(cpuMs),
  ]);
  return tableOf(["after a kill, a new process", "open roots", "ready", "first answer", "processor"], rows);
}
