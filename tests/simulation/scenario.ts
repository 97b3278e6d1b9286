/** What is played: tools, prompts, the model's part, clients' commands. Once as a script, once drawn by chance. */
import type { EffectClass } from "../../schemas/tool.ts";
import type { SessionMessage } from "../../schemas/message.ts";
import type { Decision, QuestionSubject } from "../../schemas/question.ts";
import type { Plan } from "./plan.ts";
import { hire } from "./task_scenario.ts";

/** A tool of the play, and what its target outside is like. */
export interface Tool {
  readonly name: string;
  readonly effect: EffectClass;
  readonly mechanism?: "key" | "verify";
  readonly approval?: "prompt";
  readonly parallelSafe?: boolean;
  /** False for tools that only look: those may start before their intent is durable (K9). */
  readonly sideEffects?: boolean;
  readonly timeoutMs?: number;
  /** `stall`: never answers before it is aborted. `flaky`: may refuse, before anything happened. */
  readonly habit?: "stall" | "flaky";
  /** True if it opens a background task. */
  readonly opensTask?: boolean;
}

/** Every tool of the play. */
export const tools: readonly Tool[] = [
  { name: "peek", effect: "idempotent", parallelSafe: true, sideEffects: false },
  { name: "peep", effect: "idempotent", approval: "prompt", sideEffects: false },
  { name: "poke", effect: "idempotent" },
  { name: "sleep", effect: "idempotent", sideEffects: false, habit: "stall", timeoutMs: 3_000 },
  { name: "flaky", effect: "idempotent", habit: "flaky" },
  { name: "book", effect: "conditional", mechanism: "key", parallelSafe: true },
  { name: "flaky_book", effect: "conditional", mechanism: "key", habit: "flaky" },
  { name: "stall_book", effect: "conditional", mechanism: "key", habit: "stall", timeoutMs: 2_000 },
  { name: "mail", effect: "conditional", mechanism: "verify" },
  { name: "charge", effect: "non_idempotent", parallelSafe: true },
  { name: "stall", effect: "non_idempotent", habit: "stall", timeoutMs: 4_000 },
  { name: "wipe", effect: "non_idempotent", approval: "prompt" },
  // Two votes for the same at once are one question.
  { name: "vote", effect: "non_idempotent", approval: "prompt", parallelSafe: true },
];

/** The tool of a name. */
export function toolNamed(name: string): Tool {
  const tool = [...tools, hire].find((one) => one.name === name);
  if (tool === undefined) throw new Error(`The play has no tool "${name}"`);
  return tool;
}

/**
 * What becomes of one attempt of a tool. `refuse` before anything happened; `break` after or before it applied; `late`
 * answers once it was given up, `twice` says everything two times (F18, F19).
 */
export type Fate =
  | "ok"
  | "long"
  | "no"
  | "break_before"
  | "break_after"
  | "stall"
  | "stall_applied"
  | "late"
  | "twice"
  | "refuse"
  | "poison";

/** One call in a model's answer. */
export interface Call {
  readonly tool: string;
  readonly text?: string;
}

/** A model's answer: no calls end the turn. `error` is a failure of the provider instead. */
export interface ModelTurn {
  readonly text: string;
  readonly calls: readonly Call[];
  readonly error?: "retryable" | "final";
}

/** One command that a client means to give, again and again until it is answered. */
export interface PlannedCommand {
  readonly key: string;
  /** Index of the session that gets it. */
  readonly to: number;
  /** For a relay: index of the session that it goes on to; -1 for one that does not exist. */
  readonly relayTo?: number;
  readonly kind: "prompt" | "cancel" | "relay" | "catalog";
  readonly text: string;
  /** Not given before these were answered. */
  readonly after: readonly string[];
  /**
   * Not given before this tool runs in that session, or the session waits for any effect that could hurt, or for one
   * that is repeated after a crash; unless all else has ended.
   */
  readonly during?: string | "harm" | "repeat";
}

/** What a run plays. All of it is asked in the same order by the same seed. */
export interface Scenario {
  readonly sessions: number;
  /** The tools that its agents have. */
  readonly tools: readonly Tool[];
  readonly commands: readonly PlannedCommand[];
  /** What the model says to a prompt at a step, from 0. A model may say something else each time (K3). */
  answer(prompt: string, step: number): ModelTurn;
  /** `attempt` of the invocation, and whether the runtime repeats it after a crash. */
  fate(tool: Tool, attempt: number, isRepeat: boolean): Fate;
  /** True if the next performer takes its time to tell what it knows. */
  isSlow(): boolean;
  decide(subject: QuestionSubject): Decision;
}

/** Texts that break the machines of the simulation: see `poisonous.ts`. */
export const poisons = { input: "poison-input", answer: "poison-answer", result: "poison-result" } as const;

/** Text that is kept as a blob, and text that no unit can hold (K18). */
export const long = "long ".repeat(4_000);
const tooLong = "long ".repeat(60_000);

/** The message of a command, once the sessions' addresses are known. */
export function messageOf(command: PlannedCommand, relayTo: string | undefined): SessionMessage {
  if (command.kind === "cancel") return { type: "session.cancel", reason: command.text };
  if (command.kind === "relay") return { type: "session.relay", to: relayTo ?? "", text: command.text };
  return { type: "session.prompt", text: command.text };
}

const script: { readonly [prompt: string]: readonly (readonly Call[])[] } = {
  work: [
    [{ tool: "peek", text: "a" }, { tool: "peek", text: "b" }, { tool: "charge", text: "c" }],
    [{ tool: "book", text: "d" }, { tool: "mail", text: "e" }, { tool: "nothing" }],
    [{ tool: "wipe", text: "f" }],
  ],
  cancel: [[{ tool: "stall", text: "g" }, { tool: "peek", text: "h" }]],
  deadline: [[{ tool: "sleep", text: "i" }, { tool: "stall", text: "j" }]],
  flaky: [
    [{ tool: "flaky", text: "k" }, { tool: "flaky_book", text: "l" }],
    [{ tool: "vote", text: "v" }, { tool: "vote", text: "v" }, { tool: "vote", text: "w" }],
  ],
  ask: [[{ tool: "book", text: "m" }]],
};

/**
 * The script of the issue: tools of all classes, an approval, a parallel stage, a cancel while a harmful call is pending,
 * deadlines, back-off timers, two sessions that write to each other, a poisonous input. The same every time.
 */
export function scriptedScenario(): Scenario {
  const prompt = (key: string, text: string, to = 0, after: readonly string[] = []): PlannedCommand => ({
    key,
    to,
    kind: "prompt",
    text: `${text} ${key}`,
    after,
  });
  return {
    sessions: 2,
    tools,
    commands: [
      prompt("k1", "work"),
      prompt("k2", "flaky", 1),
      prompt("k3", "cancel", 0, ["k1"]),
      { key: "k4", to: 0, kind: "cancel", text: "enough", after: ["k1"], during: "stall" },
      prompt("k5", poisons.input, 1, ["k2"]),
      { key: "k6", to: 0, relayTo: 1, kind: "relay", text: "ask k6", after: ["k3"] },
      { key: "k7", to: 1, relayTo: 0, kind: "relay", text: "plain k7", after: ["k5"] },
      prompt("k8", "deadline", 0, ["k6"]),
      { key: "k9", to: 1, kind: "catalog", text: "other tools", after: ["k7"] },
      prompt("k10", "plain", 1, ["k9"]),
    ],
    answer: (text, step) => {
      const [tag = "", key] = text.split(" ");
      return { text: `answer ${step} to ${key}`, calls: script[tag]?.[step] ?? [] };
    },
    fate: (tool, attempt) => {
      if (tool.habit === "stall") return "stall_applied";
      return tool.habit === "flaky" && attempt === 1 ? "refuse" : "ok";
    },
    isSlow: () => false,
    decide: (subject) => subject.kind === "approval" ? "allow" : "mark_applied",
  };
}

/** Draws by chance. */
export interface Dice {
  /** In [0, 1). */
  readonly next: () => number;
  /** A whole number below `count`. */
  below(count: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
}

/** Dice from a source of chance. */
export function createDice(next: () => number): Dice {
  const below = (count: number) => Math.floor(next() * count);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error("Cannot pick from nothing");
      return item;
    },
  };
}

/** A play drawn by chance: the model says something else each time it is asked, tools fail in every way they can. */
export function swarmScenario(dice: Dice, theme: Plan["theme"]): Scenario {
  const sessions = { letters: 2, catalogs: 1, mixed: 1 + dice.below(3) }[theme];
  const calm = dice.chance(0.3);
  const slowness = dice.chance(0.4) ? 0.3 : 0;
  let poisonsLeft = dice.below(3);
  const takePoison = (probability: number) =>
    poisonsLeft > 0 && dice.chance(probability) && poisonsLeft-- > 0;
  const often = 0.3 + 0.4 * dice.next();
  const menu = tools.filter(() => dice.chance(often));
  return {
    sessions,
    tools: menu,
    commands: swarmCommands({ dice, sessions, theme, isPoison: () => takePoison(0.1) }),
    answer: (_text, step) => {
      if (!calm && dice.chance(0.08)) {
        return { text: "", calls: [], error: dice.pick(["retryable", "final"]) };
      }
      if (takePoison(0.06)) return { text: dice.chance(0.2) ? tooLong : poisons.answer, calls: [] };
      const count = step > 2 || menu.length === 0 || dice.chance(0.2) ? 0 : 1 + dice.below(3);
      const calls = Array.from({ length: count }, (): Call => {
        if (dice.chance(0.04)) return { tool: "nothing" };
        return { tool: dice.pick(menu).name, text: dice.pick(["x", "y", "z"]) };
      });
      return { text: dice.chance(0.04) ? long : `answer ${step}`, calls };
    },
    fate: (tool, _attempt, isRepeat) => {
      if (isRepeat && dice.chance(0.3)) return "refuse";
      if (tool.habit === "stall") return dice.pick(["stall", "stall_applied", "late", "ok"]);
      if (tool.habit === "flaky" && dice.chance(0.5)) return "refuse";
      if (takePoison(0.06)) return "poison";
      if (calm || dice.chance(0.6)) return dice.chance(0.03) ? "long" : "ok";
      return dice.pick([
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
    isSlow: () => dice.chance(slowness),
    decide: (subject) =>
      subject.kind === "approval"
        ? dice.pick(["allow", "allow", "deny", "always_allow_for_session"])
        : dice.pick(["run_again", "mark_applied", "mark_not_applied", "abandon"]),
  };
}

interface Draw {
  readonly dice: Dice;
  readonly sessions: number;
  readonly theme: Plan["theme"];
  readonly isPoison: () => boolean;
}

function swarmCommands({ dice, sessions, theme, isPoison }: Draw): PlannedCommand[] {
  const commands: PlannedCommand[] = [];
  const isMixed = theme === "mixed";
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
      text: isPoison() ? `${poisons.input} ${key}` : `swarm ${key}`,
      after,
      ...(kind === "relay" ? { relayTo } : {}),
      ...(kind === "cancel" && dice.chance(0.8) ? { during: dice.pick(["harm", "repeat"]) } : {}),
    });
  }
  return commands;
}

const kinds: { readonly [T in Plan["theme"]]: readonly PlannedCommand["kind"][] } = {
  mixed: ["prompt", "prompt", "cancel", "cancel", "relay", "catalog"],
  letters: ["relay"],
  catalogs: ["catalog", "catalog", "prompt"],
};
