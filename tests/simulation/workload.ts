/** How much of a play is played. Most seeds play little of it, so that many can be played; some play all. */
import type { Call, Dice, ModelTurn, PlannedCommand, Scenario } from "./scenario.ts";

/** What is left of a play; all of what is not named. */
export interface Workload {
  readonly sessions?: number;
  readonly commands?: number;
  readonly tools?: number;
  /** Which tool is the first of those that are left. */
  readonly tool?: number;
  /** Answers of the model that may hold calls, in each turn. */
  readonly rounds?: number;
}

/** Draws how much is played: a large play now and then, small ones otherwise. */
export function drawWorkload(dice: Dice): Workload {
  if (dice.chance(0.1)) return {};
  return {
    sessions: dice.pick([1, 1, 2]),
    commands: 1 + dice.below(3),
    tools: 2 + dice.below(2),
    tool: dice.below(64),
    rounds: 1 + dice.below(2),
  };
}

/** What the largest play has, and no run plays more of. */
const whole = { sessions: 4, commands: 16, tools: 32, rounds: 4 };

/** The workload with half of everything, then with half of one thing after another. */
export function halved(workload: Workload): Workload[] {
  const now = { ...whole, ...workload };
  const names = (Object.keys(whole) as (keyof typeof whole)[]).filter((name) => now[name] > 1);
  const half = (name: keyof typeof whole): Workload => ({ [name]: Math.floor(now[name] / 2) });
  const all = names.reduce((less, name) => ({ ...less, ...half(name) }), workload);
  return [...names.length > 1 ? [all] : [], ...names.map((name) => ({ ...workload, ...half(name) }))];
}

/** The play with no more than that in it. What it draws by chance is drawn as before. */
export function cut(scenario: Scenario, workload: Workload): Scenario {
  const { sessions = Infinity, commands = Infinity, tools = Infinity, tool = 0, rounds = Infinity } =
    workload;
  const kept = Math.min(scenario.sessions, sessions);
  const first = tool % Math.max(1, scenario.tools.length);
  const menu = [...scenario.tools.slice(first), ...scenario.tools.slice(0, first)].slice(0, tools);
  const names = new Set(menu.map(({ name }) => name));
  const all = new Map(scenario.tools.map(({ name }, index) => [name, index]));
  const swap = (call: Call): Call => {
    const index = all.get(call.tool);
    const other = index === undefined ? undefined : menu[index % menu.length];
    return names.has(call.tool) || other === undefined ? call : { ...call, tool: other.name };
  };
  return {
    ...scenario,
    sessions: kept,
    tools: menu,
    commands: scenario.commands.slice(0, commands).map((command) => moved(command, kept)),
    answer: (...asked): ModelTurn => {
      const turn = scenario.answer(...asked);
      return { ...turn, calls: asked[1] < rounds ? turn.calls.map(swap) : [] };
    },
  };
}

/** A command to a session that is there. */
function moved(command: PlannedCommand, sessions: number): PlannedCommand {
  const { to, relayTo } = command;
  return {
    ...command,
    to: to % sessions,
    ...(relayTo === undefined ? {} : { relayTo: relayTo < 0 ? relayTo : relayTo % sessions }),
  };
}
