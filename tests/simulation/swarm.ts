/** Plays drawn by chance: models say something else each time, tools, works and servers fail in every way they can. */
import type { Plan } from "./plan.ts";
import { familyTools, scheduleTools, taskTools } from "./own_tools.ts";
import {
  type Call,
  type Dice,
  type Fate,
  long,
  type PlannedCommand,
  poisons,
  type Scenario,
  type Tool,
  tooLong,
  tools,
} from "./scenario.ts";
import { markOf } from "./rights_judges.ts";
import { servedNames } from "./served_tools.ts";
import { hire } from "./task_scenario.ts";

/** What a play has besides tools that act at once. */
interface Extras {
  readonly tools: readonly Tool[];
  readonly servers: number;
}

function drawExtras(dice: Dice, theme: Plan["theme"]): Extras {
  const has = (name: Plan["theme"], probability: number) =>
    theme === name || (theme === "mixed" && dice.chance(probability));
  const family = has("family", 0.12) ? familyTools : [];
  const tasks = has("tasks", 0.15) ? [hire, ...taskTools] : [];
  const schedules = has("schedules", 0.08) ? scheduleTools : [];
  const servers = has("servers", 0.12) ? 1 + dice.below(2) : 0;
  return { tools: [...family, ...tasks, ...schedules], servers };
}

/** A play drawn by chance: the model says something else each time it is asked, tools fail in every way they can. */
export function swarmScenario(dice: Dice, theme: Plan["theme"]): Scenario {
  const sessions = theme === "letters" ? 2 : theme === "mixed" ? 1 + dice.below(3) : 1;
  const extras = drawExtras(dice, theme);
  const calm = dice.chance(0.3);
  const slowness = dice.chance(0.4) ? 0.3 : 0;
  let poisonsLeft = dice.below(3);
  const takePoison = (probability: number) =>
    poisonsLeft > 0 && dice.chance(probability) && poisonsLeft-- > 0;
  const often = 0.3 + 0.4 * dice.next();
  const plain = tools.filter(() => dice.chance(extras.tools.length > 0 ? often / 3 : often));
  const special = [...extras.tools.map(({ name }) => name), ...servedNames(extras.servers)];
  const menu = [...plain.map(({ name }) => name), ...special];
  // What falls due gives prompts, and those make more that falls due.
  let schedulesLeft = 4;
  const draw = (isChild: boolean): Call => {
    if (dice.chance(0.04)) return { tool: "nothing" };
    const from = special.length > 0 && !isChild && dice.chance(0.5) ? special : menu;
    const tool = dice.pick(from);
    if (tool === "schedule_manage" && schedulesLeft-- <= 0) return { tool, given: { action: "list" } };
    return callOf(dice, tool);
  };
  return {
    sessions,
    tools: [...plain, ...extras.tools],
    servers: extras.servers,
    commands: swarmCommands({ dice, sessions, theme, isPoison: () => takePoison(0.1) }),
    answer: (_text, step, isChild) => {
      if (!calm && dice.chance(0.08)) {
        return { text: "", calls: [], error: dice.pick(["retryable", "final"]) };
      }
      if (takePoison(0.06)) return { text: dice.chance(0.2) ? tooLong : poisons.answer, calls: [] };
      const most = isChild ? 0 : 2;
      const count = step > most || menu.length === 0 || dice.chance(isChild ? 0.5 : 0.2)
        ? 0
        : 1 + dice.below(3);
      const calls = Array.from({ length: count }, () => draw(isChild));
      return { text: dice.chance(0.04) ? long : `answer ${step}`, calls };
    },
    fate: (tool, _attempt, isRepeat) => {
      if (isRepeat && dice.chance(0.3)) return "refuse";
      if (tool.isOwn === true) return "ok";
      if (tool.server !== undefined && dice.chance(0.3)) return dice.pick(ofServers);
      if (tool.habit === "stall") return dice.pick(["stall", "stall_applied", "late", "ok"]);
      if (tool.habit === "flaky" && dice.chance(0.5)) return "refuse";
      if (takePoison(0.06)) return "poison";
      if (calm || dice.chance(0.6)) return dice.chance(0.03) ? "long" : "ok";
      return dice.pick([
        "no",
        "no",
        "no",
        "break_before",
        "break_after",
        "stall",
        "stall_applied",
        "refuse",
        "late",
        "twice",
      ]);
    },
    work: () =>
      calm ? "exits" : dice.pick(["exits", "exits", "fails", "breaks", "runs_on", "deaf", "refused"]),
    serves: () => calm || dice.chance(0.85) ? "ok" : dice.pick(["stall", "break_before", "dies_before"]),
    isSlow: () => dice.chance(slowness),
    decide: (subject) =>
      subject.kind === "approval"
        ? dice.pick(["allow", "allow", "deny", "always_allow_for_session"])
        : dice.pick(["run_again", "mark_applied", "mark_not_applied", "abandon"]),
  };
}

const ofServers: readonly Fate[] = ["garbage", "dies_before", "dies_after", "changes", "late", "twice"];

/** A call of a tool, with arguments that it takes. */
function callOf(dice: Dice, tool: string): Call {
  const text = dice.pick(["x", "y", "z"]);
  switch (tool) {
    case "subagent_spawn":
      return { tool, given: { content: `child ${text}`, scope: dice.pick(["turn", "conversation"]) } };
    case "subagent_send":
      return { tool, given: { child_id: "$ses", content: `more ${text}` } };
    case "subagent_wait":
      return {
        tool,
        given: { ...dice.pick([{ child_id: "$ses" }, { child_ids: "$all" }]), timeout_seconds: 3 },
      };
    case "subagent_close":
      return { tool, given: { child_id: "$ses", strictness: dice.pick(["graceful", "forced"]) } };
    case "delegate_task":
      return {
        tool,
        given: { goal: `goal ${text}`, notify_policy: dice.pick(["return_to_parent", "silent"]) },
      };
    case "task_control":
      return { tool, given: { task: "$tsk", action: "cancel" } };
    case "task_status":
      return { tool, given: { task: "$tsk" } };
    case "schedule_manage":
      return dice.chance(0.7)
        ? { tool, given: { action: "create", prompt: `due ${text}`, in_s: 1 + dice.below(60) } }
        : { tool, given: { action: "delete", id: "$sch" } };
    case "subagent_list":
    case "task_list":
      return { tool };
    default:
      return { tool, text };
  }
}

interface Draw {
  readonly dice: Dice;
  readonly sessions: number;
  readonly theme: Plan["theme"];
  readonly isPoison: () => boolean;
}

function swarmCommands({ dice, sessions, theme, isPoison }: Draw): PlannedCommand[] {
  const commands: PlannedCommand[] = [];
  const isMixed = theme !== "letters" && theme !== "catalogs";
  const count = sessions + dice.below(5) + (isMixed ? 0 : 3);
  for (let index = 0; index < count; index++) {
    const key = `k${index + 1}`;
    const isFirst = index < sessions;
    const to = isFirst ? index : isMixed ? dice.below(sessions) : 0;
    const kind = isFirst ? "prompt" : dice.pick(kinds[theme]);
    const isLate = index > 0 && isMixed && kind !== "cancel" && dice.chance(0.5);
    const after = isLate ? [`k${1 + dice.below(index)}`] : [];
    const relayTo = isMixed ? dice.below(sessions + 1) - 1 : sessions - 1;
    commands.push({
      key,
      to,
      kind,
      text: `${isPoison() ? poisons.input : "swarm"} ${key} ${markOf(key)}`,
      after,
      ...(kind === "relay" ? { relayTo } : {}),
      ...(kind === "cancel" ? drawCancel(dice) : {}),
    });
  }
  return commands;
}

/** A cancel of the turn, mostly; of one call of it, of all below it, or of the session's work as a whole. */
function drawCancel(dice: Dice): Pick<PlannedCommand, "scope" | "call" | "during"> {
  const scope = dice.pick(["usual", "usual", "turn", "call", "subtree", "session"] as const);
  return {
    ...(scope === "usual" ? {} : { scope }),
    ...(scope === "call" ? { call: `call/${dice.below(2)}.${dice.below(2)}` } : {}),
    ...(dice.chance(0.8) ? { during: dice.pick(["harm", "repeat"]) } : {}),
  };
}

const usual = ["prompt", "prompt", "cancel", "cancel", "relay", "catalog"] as const;
const kinds: { readonly [T in Plan["theme"]]: readonly PlannedCommand["kind"][] } = {
  mixed: usual,
  family: ["prompt", "prompt", "prompt", "cancel"],
  tasks: ["prompt", "prompt", "prompt", "cancel"],
  servers: ["prompt", "prompt", "prompt", "cancel"],
  schedules: ["prompt", "prompt", "cancel"],
  letters: ["relay"],
  catalogs: ["catalog", "catalog", "prompt"],
};
