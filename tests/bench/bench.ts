/** `deno task bench`: speed and sizes of governed turns, beside the same job done by others. */
import { allocationFlags } from "./allocation.ts";
import { Child } from "./child.ts";
import { type GovernedFigures, governedTable, partsTable } from "./governed_report.ts";
import { mcpCases } from "./mcp_case.ts";
import { mcpCountsTable, mcpTable } from "./mcp_report.ts";
import { startHttpEcho } from "./mcp_http_server.ts";
import { type McpRunner, runMcpRounds } from "./mcp_rounds.ts";
import { runScaleRounds, scaleText } from "./mcp_scale_rounds.ts";
import { helpText, type Options, parseOptions } from "./options.ts";
import { progress } from "./progress.ts";
import * as report from "./report.ts";
import * as smallParts from "./small_parts.ts";
import { measureCommits, measureLong, measureRecovery, type Part } from "./durability.ts";
import { createRandom } from "./statistics.ts";
import type { TurnCase } from "./turn_case.ts";
import { casesOf, runRounds } from "./turns.ts";

const ourScript = new URL("./ours.ts", import.meta.url);
const ourConfig = new URL("../../deno.json", import.meta.url);
const mcpScript = new URL("./mcp_child.ts", import.meta.url);
const peerScript = new URL("./peers/ai_sdk.ts", import.meta.url);
const peerConfig = new URL("./peers/deno.json", import.meta.url);

const tenTogether: TurnCase = { calls: 10, shape: "together", effect: "idempotent" };
const oneCall: TurnCase = { calls: 1, shape: "together", effect: "idempotent" };

/** As many calls as one answer of a model may hold. */
const governedCases: readonly TurnCase[] = [
  { calls: 64, shape: "together", effect: "idempotent" },
  { calls: 64, shape: "together", effect: "non_idempotent" },
];

/** All figures, as they are written to the file of `--json`. */
type Figures = { [section: string]: unknown };

function startOurs(name: string, kind: "file" | "memory", v8Flags: readonly string[] = []): Promise<Child> {
  return Child.start({ name, script: ourScript, config: ourConfig, args: [kind], v8Flags });
}

/** Starts the peers; without their packages the bench goes on alone. */
async function startPeers(options: Options, v8Flags: readonly string[] = []): Promise<readonly Child[]> {
  if (options.isAlone) return [];
  try {
    return [await Child.start({ name: "AI SDK", script: peerScript, config: peerConfig, v8Flags })];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    console.error(`Without the AI SDK: ${why}; its packages come from the cache or from the network`);
    return [];
  }
}

async function withChildren<T>(
  children: readonly Child[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } finally {
    progress("");
    for (const child of children) await child.end();
  }
}

async function measureTurns(options: Options, figures: Figures): Promise<void> {
  const ours = await startOurs("ours", "file");
  const memory = await startOurs("in memory", "memory");
  const peers = await startPeers(options);
  await withChildren([ours, memory, ...peers], async () => {
    const found = await runRounds({
      runners: { ours, memory, peers },
      cases: casesOf(options.isQuick),
      rounds: options.rounds ?? (options.isQuick ? 3 : 15),
      warmUps: options.isQuick ? 1 : 4,
      random: createRandom(options.seed),
    });
    figures["turns"] = found;
    say(report.countsTable(found.cases));
    say(report.turnsTable(found.cases));
    say(report.costTable(found));
  });
}

async function measureGoverned({ isQuick, rounds }: Options, figures: Figures): Promise<void> {
  const child = await startOurs("in memory", "memory");
  await withChildren([child], async () => {
    const found: GovernedFigures[] = [];
    for (const asked of governedCases) {
      progress(`governed calls: ${asked.effect}`);
      const request = { asked, rounds: rounds ?? (isQuick ? 20 : 150), warmUps: isQuick ? 20 : 60 };
      found.push({ asked, ...await child.ask({ do: "governed", ...request }) });
    }
    figures["governed"] = found;
    say(governedTable(found));
    for (const one of found) say(partsTable(one));
  });
}

async function measureMcp(options: Options, figures: Figures): Promise<void> {
  const start = (name: string, side: string) =>
    Child.start({ name, script: mcpScript, config: ourConfig, args: [side] });
  const sdk = await start("SDK", "sdk");
  const client = await start("client", "client");
  const governed = await start("governed", "governed");
  const runners: readonly McpRunner[] = [
    { name: "SDK", child: sdk, effect: "idempotent" },
    { name: "client", child: client, effect: "idempotent" },
    { name: "idempotent", child: governed, effect: "idempotent" },
    { name: "non-idempotent", child: governed, effect: "non_idempotent" },
  ];
  await withChildren([sdk, client, governed], async () => {
    const server = await startHttpEcho();
    const found = await runMcpRounds({
      runners,
      url: server.url,
      disk: governed,
      cases: mcpCases,
      rounds: options.rounds ?? (options.isQuick ? 3 : 15),
      warmUps: options.isQuick ? 1 : 2,
      random: createRandom(options.seed),
    });
    await server.stop();
    figures["mcp"] = found;
    say(mcpCountsTable(found.counts));
    say(mcpTable(found));
  });
}

async function measureScale({ isQuick, rounds }: Options, figures: Figures): Promise<void> {
  const found = await runScaleRounds(rounds ?? (isQuick ? 2 : 9));
  figures["scale"] = found;
  say(scaleText(found));
}

async function measureAllocations(options: Options, figures: Figures): Promise<void> {
  const ours = await startOurs("ours", "file", allocationFlags);
  const peers = await startPeers(options, allocationFlags);
  await withChildren([ours, ...peers], async () => {
    const found: report.AllocationFigures[] = [];
    const cases = options.isQuick
      ? [tenTogether]
      : casesOf(false).filter(({ effect }) => effect === "idempotent");
    for (const asked of cases) {
      progress("counting what is allocated");
      const turns = Math.ceil((options.isQuick ? 10 : 30) / Math.max(1, asked.calls / 20));
      const runners = [];
      for (const child of [ours, ...peers]) {
        runners.push({
          name: child.name,
          ...await child.ask({ do: "allocation", asked, turns, warmUps: 30 }),
        });
      }
      found.push({ asked, runners });
    }
    progress("");
    figures["allocation"] = found;
    say(report.allocationTable(found));
  });
}

async function measureSession({ isQuick }: Options, figures: Figures, child: Child): Promise<void> {
  const turns = isQuick ? 150 : 1_000;
  progress(`running ${turns} turns in one session`);
  const found = await child.ask({ do: "session", asked: oneCall, turns, warmUps: isQuick ? 30 : 100 });
  figures["session"] = found;
  say(report.sessionText(oneCall, found));
}

async function measureReplay({ isQuick }: Options, figures: Figures, child: Child): Promise<void> {
  progress("recording a session and replaying it");
  const [turns, repeats] = isQuick ? [40, 5] : [400, 15];
  const found = await child.ask({ do: "replay", asked: tenTogether, turns, repeats });
  figures["replay"] = found;
  say(report.replayText(found));
}

async function measureSplit({ isQuick }: Options, figures: Figures, child: Child): Promise<void> {
  progress("profiling turns");
  const [turns, warmUps] = isQuick ? [100, 30] : [600, 150];
  const found = await child.ask({ do: "split", asked: tenTogether, turns, warmUps });
  figures["split"] = found;
  say(report.splitText(tenTogether, found));
}

function show(section: string, figures: Figures, part: Part): void {
  figures[section] = part.figures;
  say(part.text);
}

/** The parts that one child of ours does alone, one after another. */
const lonely = {
  session: measureSession,
  replay: measureReplay,
  split: measureSplit,
  long: async (options: Options, figures: Figures, child: Child) =>
    show("long", figures, await measureLong(options, child)),
} as const;

async function measureAlone(options: Options, figures: Figures): Promise<void> {
  const wanted = options.only.filter((section) => section in lonely) as (keyof typeof lonely)[];
  const child = await startOurs("ours", "file", ["--expose-gc"]);
  await withChildren([child], async () => {
    for (const section of wanted) await lonely[section](options, figures, child);
  });
}

function say(text: string): void {
  progress("");
  console.log(`${text}\n`);
}

function loadText(): string {
  return Deno.loadavg().map((load) => load.toFixed(2)).join(" ");
}

/** The parts that are found in one go. */
const small = {
  redact: smallParts.measureRedaction,
  net: smallParts.measureNet,
  models: smallParts.measureModels,
  access: smallParts.measureAccess,
  commands: smallParts.measureCommands,
  tasks: smallParts.measureTasks,
  children: smallParts.measureChildren,
  authored: smallParts.measureAuthored,
  api: smallParts.measureApi,
  catalog: smallParts.measureCatalogs,
  binary: smallParts.measureBinary,
  commits: measureCommits,
  recovery: measureRecovery,
} as const;

/** The parts in their order; one child of ours does some of them, one after another. */
const parts: readonly (readonly [
  sections: readonly string[],
  measure: (options: Options, figures: Figures) => void | Promise<void>,
])[] = [
  [["turns"], measureTurns],
  [["governed"], measureGoverned],
  [["mcp"], measureMcp],
  [["scale"], measureScale],
  [["allocation"], measureAllocations],
  [Object.keys(lonely), measureAlone],
  ...Object.entries(small).map(([section, measure]) =>
    [
      [section],
      async (options: Options, figures: Figures) => show(section, figures, await measure(options)),
    ] as const
  ),
];

async function main(args: readonly string[]): Promise<number> {
  let options: Options;
  try {
    options = parseOptions(args);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 2;
  }
  if (options.isHelp) {
    console.log(helpText);
    return 0;
  }
  const { deno, v8 } = Deno.version;
  const conditions = { deno, v8, cores: navigator.hardwareConcurrency, seed: options.seed };
  const figures: Figures = { conditions, loadBefore: Deno.loadavg() };
  say(`deno ${deno}, ${conditions.cores} cores, load ${loadText()}, seed ${options.seed}`);
  for (const [section, measure] of parts) {
    if (options.only.some((one) => section.includes(one))) await measure(options, figures);
  }
  figures["loadAfter"] = Deno.loadavg();
  say(`Load at the end: ${loadText()}. What is not measured: see --help.`);
  if (options.jsonFile !== undefined) {
    await Deno.writeTextFile(options.jsonFile, `${JSON.stringify(figures, null, 2)}\n`);
  }
  return 0;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
