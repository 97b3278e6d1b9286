/** What is played: tools, prompts, the model's part, clients' commands. Once as a script, once drawn by chance. */
import type { EffectClass, Mechanism } from "../../schemas/tool.ts";
import type { CancelScope } from "../../schemas/cancel.ts";
import type { SessionMessage } from "../../schemas/message.ts";
import type { Decision, QuestionSubject } from "../../schemas/question.ts";
import { ownTools } from "./own_tools.ts";
import { served } from "./served_tools.ts";
import { hire } from "./task_scenario.ts";

/** A tool of the play, and what its target outside is like. */
export interface Tool {
  readonly name: string;
  readonly effect: EffectClass;
  readonly mechanism?: Mechanism;
  readonly approval?: "prompt";
  readonly parallelSafe?: boolean;
  /** False for tools that only look: those may start before their intent is durable (K9). */
  readonly sideEffects?: boolean;
  readonly timeoutMs?: number;
  /** `stall`: never answers before it is aborted. `flaky`: may refuse, before anything happened. */
  readonly habit?: "stall" | "flaky";
  /** True if it opens a background task. */
  readonly opensTask?: boolean;
  /** True for a tool of the runtime itself: it does what it always does. */
  readonly isOwn?: boolean;
  /** The server that has it. */
  readonly server?: string;
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
  { name: "swap", effect: "conditional", mechanism: "precondition" },
  { name: "charge", effect: "non_idempotent", parallelSafe: true },
  { name: "stall", effect: "non_idempotent", habit: "stall", timeoutMs: 4_000 },
  { name: "wipe", effect: "non_idempotent", approval: "prompt" },
  // Two votes for the same at once are one question.
  { name: "vote", effect: "non_idempotent", approval: "prompt", parallelSafe: true },
];

/** The tool of a name. */
export function toolNamed(name: string): Tool {
  const tool = [...tools, hire, ...ownTools, ...served].find((one) => one.name === name);
  if (tool === undefined) throw new Error(`The play has no tool "${name}"`);
  return tool;
}

/**
 * What becomes of one attempt of a tool. `refuse` before anything happened; `break` after or before it applied; `late`
 * answers once it was given up, `twice` says everything two times (F18, F19). Of servers only: `garbage` applies and
 * answers what is no result; with `dies` the server ends by itself, before or after it applied; `changes` is well, and
 * the server has other tools from then on.
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
  | "poison"
  | "garbage"
  | "dies_before"
  | "dies_after"
  | "changes";

/** One call in a model's answer. */
export interface Call {
  readonly tool: string;
  readonly text?: string;
  /** In place of the text. `$ses`, `$tsk` and `$sch` stand for the id of that kind that the model was told of last. */
  readonly given?: { readonly [name: string]: string | number };
}

/** How the work of a task goes. `deaf`: it does not end when it is told to, only by itself. */
export type WorkFate = "exits" | "fails" | "breaks" | "runs_on" | "deaf" | "refused";

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
  /** Of a cancel: how much is stopped, and which call. */
  readonly scope?: CancelScope;
  readonly call?: string;
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
  /** Servers of each session. */
  readonly servers?: number;
  readonly commands: readonly PlannedCommand[];
  /** What the model says to a prompt at a step, from 0. A model may say something else each time (K3). */
  answer(prompt: string, step: number, isChild: boolean): ModelTurn;
  /** How the work of a task with this text goes. */
  work(text: string): WorkFate;
  /** How the start, the list or a look at a task of a server goes. */
  serves?(): Fate;
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
export const tooLong = "long ".repeat(60_000);

/** The message of a command, once the sessions' addresses are known. */
export function messageOf(command: PlannedCommand, relayTo: string | undefined): SessionMessage {
  if (command.kind === "cancel") {
    const { scope, call } = command;
    const what = { ...(scope === undefined ? {} : { scope }), ...(call === undefined ? {} : { call }) };
    return { type: "session.cancel", reason: command.text, ...what };
  }
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
    work: () => "exits",
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
