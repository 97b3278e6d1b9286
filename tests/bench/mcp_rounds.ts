/** Calls of an MCP server by all sides in one interleaved run: every round runs every case by every side once. */
import type { Child } from "./child.ts";
import { groupsOf, type McpCase, nameOfCase } from "./mcp_case.ts";
import type { McpAnswer } from "./mcp_protocol.ts";
import { progress } from "./progress.ts";
import type { Counts } from "./protocol.ts";
import type { FloorFigures } from "./turns.ts";
import { median, quantile, shuffle } from "./statistics.ts";
import type { Effect } from "./turn_case.ts";

/** One column of the table: a child, and what it is asked for. The first side is what the others are compared with. */
export interface McpRunner {
  readonly name: string;
  readonly child: Child;
  readonly effect: Effect;
}

/** Figures of one side. Times in milliseconds: of one call, or of one start. */
export interface McpSideFigures {
  readonly name: string;
  readonly samples: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  /** How many times as long as the first side: the median over rounds of both medians' ratio in the same round. */
  readonly ratio: number;
}

/** Figures of one case, or of connecting. */
export interface McpFigures {
  readonly name: string;
  readonly sides: readonly McpSideFigures[];
}

/** What turns of one side count for all calls of a group. */
export interface McpCounts {
  readonly asked: McpCase;
  readonly name: string;
  readonly counts: Counts;
}

/** What was gathered. */
export interface McpRoundsFigures {
  readonly cases: readonly McpFigures[];
  readonly connect: readonly McpFigures[];
  readonly counts: readonly McpCounts[];
  /** A governed turn without calls, which times of governed calls are less. */
  readonly emptyTurn: FloorFigures["commit"];
  /** The disk's own speed over the same rounds. */
  readonly floor: FloorFigures;
}

/** Options of {@linkcode runMcpRounds}. */
export interface McpRoundsOptions {
  readonly runners: readonly McpRunner[];
  /** Knows the disk that governed calls are written to. */
  readonly disk: Child;
  readonly cases: readonly McpCase[];
  /** Where the server by HTTP is. */
  readonly url: string;
  readonly rounds: number;
  /** Rounds before the first that counts, so that the code is compiled. */
  readonly warmUps: number;
  readonly random: () => number;
}

/** Answers of one side, round by round. */
type Answers = Map<McpRunner, McpAnswer[]>;
type CaseRecord = { readonly asked: McpCase; readonly answers: Answers };

/** Runs all rounds. One side works at a time, and starts the server anew each time. */
export async function runMcpRounds(options: McpRoundsOptions): Promise<McpRoundsFigures> {
  const { runners, disk, rounds, warmUps, random, url } = options;
  const records = options.cases.map((asked): CaseRecord => ({
    asked,
    answers: new Map(runners.map((runner) => [runner, []])),
  }));
  const floor = { flushes: [] as number[], commits: [] as number[] };
  for (let round = -warmUps; round < rounds; round++) {
    for (const { asked, answers } of shuffle(records, random)) {
      const name = nameOfCase(asked);
      progress(round < 0 ? `warming up: ${name}` : `round ${round + 1} of ${rounds}: ${name}`);
      for (const runner of shuffle(runners, random)) {
        const { child, effect } = runner;
        const answer = await child.ask({ do: "mcp", asked, effect, url, ...groupsOf(asked) });
        if (round >= 0) answers.get(runner)?.push(answer);
      }
    }
    const found = await disk.ask({ do: "floor", times: 10 });
    if (round < 0) continue;
    floor.flushes.push(...found.flushes);
    floor.commits.push(...found.commits);
  }
  progress("");
  return {
    ...figuresOf(records, runners),
    floor: { flush: spread(floor.flushes), commit: spread(floor.commits) },
  };
}

function spread(times: readonly number[]): FloorFigures["commit"] {
  return { medianMs: median(times), p99Ms: quantile(times, 0.99) };
}

function figuresOf(
  records: readonly CaseRecord[],
  runners: readonly McpRunner[],
): Omit<McpRoundsFigures, "floor"> {
  const all = records.flatMap(({ answers }) => [...answers.values()].flat());
  const emptyTurns = all.flatMap((answer) => answer.emptyTurns);
  return {
    cases: records.map(({ asked, answers }) =>
      compare(nameOfCase(asked), runners, (runner) => callTimes(asked, answers.get(runner) ?? []))
    ),
    connect: (["stdio", "http"] as const).map((transport) => {
      const name = transport === "stdio" ? "start, connect and list, stdio" : "connect and list, http";
      const ofTransport = records.filter(({ asked }) => asked.transport === transport);
      return compare(name, runners, (runner) => connectTimes(ofTransport, runner));
    }),
    counts: records.flatMap(({ asked, answers }) =>
      [...answers].flatMap(([{ name }, given]) => {
        const counts = sumCounts(given);
        return counts.turns === 0 ? [] : [{ asked, name, counts }];
      })
    ),
    emptyTurn: spread(emptyTurns),
  };
}

/** Times of one call, by round: those of a group, by its calls. */
function callTimes({ calls }: McpCase, answers: readonly McpAnswer[]): readonly (readonly number[])[] {
  return answers.map(({ times }) => times.map((ms) => ms / calls));
}

/** Every case of a round begins with a start. */
function connectTimes(records: readonly CaseRecord[], runner: McpRunner): readonly (readonly number[])[] {
  const rounds = records[0]?.answers.get(runner)?.length ?? 0;
  return Array.from({ length: rounds }, (_, round) =>
    records.flatMap(({ answers }) => {
      const answer = answers.get(runner)?.[round];
      return answer === undefined ? [] : [answer.connectMs];
    }));
}

function compare(
  name: string,
  runners: readonly McpRunner[],
  timesOf: (runner: McpRunner) => readonly (readonly number[])[],
): McpFigures {
  const [first] = runners;
  const base = first === undefined ? [] : timesOf(first);
  const sides = runners.map((runner): McpSideFigures => {
    const rounds = timesOf(runner);
    const all = rounds.flat();
    return {
      name: runner.name,
      samples: all.length,
      ...spread(all),
      ratio: median(rounds.map((times, round) => median(times) / median(base[round] ?? []))),
    };
  });
  return { name, sides };
}

function sumCounts(answers: readonly McpAnswer[]): Counts {
  const sum = { turns: 0, flushes: 0, entries: 0, cranks: 0, bytes: 0 };
  for (const { counts } of answers) {
    if (counts === undefined) continue;
    for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += counts[name];
  }
  return sum;
}
