/** The parts of the bench that need no children of their own: each once, in this process. */
import { binaryText, runBinaryRounds } from "./binary_rounds.ts";
import { accessText, runAccessRounds } from "./access_rounds.ts";
import { apiText, runApiRounds } from "./api_rounds.ts";
import { authoredText, runAuthoredRounds } from "./authored_rounds.ts";
import { catalogTable } from "./catalog_report.ts";
import { runCatalogRounds } from "./catalog_rounds.ts";
import { childrenText, runChildrenRounds } from "./children_rounds.ts";
import { drainFlood, floodText } from "./command_rounds.ts";
import type { Part } from "./durability.ts";
import { modelsText, runModelRounds } from "./model_rounds.ts";
import { netText, runNetRounds } from "./net_rounds.ts";
import type { Options } from "./options.ts";
import { redactTable } from "./redact_report.ts";
import { runRedactRounds } from "./redact_rounds.ts";
import { runTaskRounds, tasksText } from "./task_rounds.ts";

/** The start of a compiled program. */
export async function measureBinary({ isQuick, rounds }: Options): Promise<Part> {
  const found = await runBinaryRounds(rounds ?? (isQuick ? 7 : 25));
  return { figures: found ?? null, text: binaryText(found) };
}

/** Taking secrets out of texts. */
export function measureRedaction({ isQuick, rounds, seed }: Options): Part {
  const found = runRedactRounds({
    secrets: 200,
    characters: isQuick ? 500_000 : 2_000_000,
    rounds: rounds ?? (isQuick ? 3 : 9),
    seed,
  });
  return { figures: found, text: redactTable(found) };
}

/** Sealing catalogs. */
export async function measureCatalogs({ isQuick, rounds }: Options): Promise<Part> {
  const found = await runCatalogRounds(rounds ?? (isQuick ? 5 : 30));
  return { figures: found, text: catalogTable(found) };
}

/** Streams of models beside those of the bare package. */
export async function measureModels({ isQuick, rounds }: Options): Promise<Part> {
  const found = await runModelRounds(rounds ?? (isQuick ? 4 : 12));
  return { figures: found, text: modelsText(found) };
}

/** Guarded requests beside bare ones. */
export async function measureNet({ isQuick, rounds }: Options): Promise<Part> {
  const found = await runNetRounds({ rounds: rounds ?? (isQuick ? 5 : 15), requests: isQuick ? 100 : 400 });
  return { figures: found, text: netText(found) };
}

/** Agents of others beside agents that are not there. */
export async function measureAccess({ isQuick, rounds }: Options): Promise<Part> {
  const found = await runAccessRounds({ rounds: rounds ?? (isQuick ? 5 : 15), requests: isQuick ? 40 : 200 });
  return { figures: found, text: accessText(found) };
}

/** A flood of output. */
export async function measureCommands({ isQuick }: Options): Promise<Part> {
  const found = await drainFlood((isQuick ? 128 : 1_024) * 1_048_576);
  return { figures: found, text: floodText(found) };
}

/** Slow tools at once, and commands that are stopped. */
export async function measureTasks({ isQuick }: Options): Promise<Part> {
  const found = await runTaskRounds({ stops: isQuick ? 20 : 200 });
  return { figures: found, text: tasksText(found) };
}

/** Jailed tools. */
export async function measureAuthored({ isQuick }: Options): Promise<Part> {
  const found = await runAuthoredRounds(isQuick ? 50 : 300);
  return { figures: found, text: authoredText(found) };
}

/** Child agents beside as many sessions. */
export async function measureChildren({ isQuick }: Options): Promise<Part> {
  const found = await runChildrenRounds(isQuick ? 80 : 1_000);
  return { figures: found, text: childrenText(found) };
}

/** The API by HTTP: watchers, writers, births. */
export async function measureApi({ isQuick }: Options): Promise<Part> {
  const found = await runApiRounds(
    isQuick
      ? { watchers: 200, sessions: 50, seconds: 5, spawns: 200 }
      : { watchers: 1_000, sessions: 200, seconds: 60, spawns: 1_000 },
  );
  return { figures: found, text: apiText(found) };
}
