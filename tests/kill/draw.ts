/** What a round does, drawn from its number: the same number is the same round. */
import { createRandom } from "../support/world.ts";
import { effects } from "./outside.ts";
import type { Part, Step } from "./scene.ts";
import { type Cell, cells } from "./table.ts";

/** The kinds of rounds. */
export const kinds = ["planned", "random", "recovery", "command", "paused", "fenced", "damage"] as const;
/** A kind of round. */
export type Kind = (typeof kinds)[number];

/** How a file is damaged between two starts. */
export const damages = [
  "cut_log",
  "flip_log",
  "flip_file",
  "flip_snapshot",
  "flip_lock",
  "truncate_file",
  "zero_page",
] as const;
/** How a file is damaged. */
export type Damage = (typeof damages)[number];

/** A round as it is to be played. */
export interface Draw {
  readonly number: number;
  readonly kind: Kind;
  readonly cell: Cell | undefined;
  readonly damage: Damage | undefined;
  readonly parts: readonly Part[];
  /** Milliseconds from an acknowledgement, or a start, to each kill. */
  readonly killsAfterMs: readonly number[];
  /** True if targets that are held are held before their effect, else behind it. */
  readonly holdsBefore: boolean;
  readonly random: () => number;
}

/** The kinds of ten rounds that follow one another: six of ten walk through the table. */
const sequence: readonly Kind[] = [
  "planned",
  "planned",
  "random",
  "planned",
  "damage",
  "planned",
  "planned",
  "recovery",
  "planned",
  "planned",
];
/** Every so many rounds, a planned one gives way to one of these. */
const rarities: readonly Kind[] = ["command", "paused", "command", "fenced"];
const rarityEvery = 12;

/** Draws a round. */
export function drawRound(number: number, only?: Kind): Draw {
  const random = createRandom(number * 7_919);
  const kind = only ?? kindOf(number);
  const before = Array.from({ length: number - 1 }, (_, index) => kindOf(index + 1));
  const nth = (wanted: Kind) => only === wanted ? number - 1 : before.filter((one) => one === wanted).length;
  const cell = kind === "planned" ? cells[nth("planned") % cells.length] : undefined;
  const damage = kind === "damage" ? damages[nth("damage") % damages.length] : undefined;
  const kills = kind === "recovery" ? 3 : 1;
  return {
    number,
    kind,
    cell,
    damage,
    parts: cell === undefined ? drawParts(random, kind) : [partOf(cell)],
    killsAfterMs: Array.from({ length: kills }, () => Math.floor(random() * 300)),
    holdsBefore: random() < 0.5,
    random,
  };
}

function kindOf(number: number): Kind {
  if (number % rarityEvery === 0) return rarities[(number / rarityEvery - 1) % rarities.length] ?? "command";
  return sequence[(number - 1) % sequence.length] ?? "planned";
}

/** Large enough for several commits. */
const largeCharacters = 1_500_000;

function partOf({ point, effect, carrier }: Cell): Part {
  const size = point === "P13" ? { size: largeCharacters } : {};
  const first = { carrier, effect, id: "id-1-1", ...size };
  // What comes behind an outcome is a commit of its own if a call waits for it.
  const next = { carrier: "http", effect: "conditional", id: "id-1-2" } as const;
  return { name: "part1", turns: [point === "P10" ? [first, next] : [first]] };
}

function drawParts(random: () => number, kind: Kind): readonly Part[] {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  // The fenced and the real command have one session: that of the command.
  const count = kind === "command" || kind === "fenced" ? 1 : 2 + Math.floor(random() * 2);
  return Array.from({ length: count }, (_, session) => {
    const name = `part${session + 1}`;
    let calls = 0;
    let hasChild = false;
    const step = (): Step => {
      calls += 1;
      const id = `id-${session + 1}-${calls}`;
      // What fences, or is fenced, must be under way: a file is written at once.
      const carrier = calls === 1 && (kind === "fenced" || kind === "command")
        ? pick(["stdio", "http", "command"] as const)
        : pick(["stdio", "http", "file", "command", "background", "child", "http", "stdio"] as const);
      if (carrier === "child" && hasChild) return { carrier: "file", effect: "non_idempotent", id };
      hasChild ||= carrier === "child";
      const effect = carrier === "stdio" || carrier === "http" ? pick(effects) : "non_idempotent";
      const size = random() < 0.15 ? { size: 100_000 } : {};
      return { carrier, effect, id, ...size };
    };
    const turns = Array.from(
      { length: 1 + Math.floor(random() * 2) },
      () => Array.from({ length: 1 + Math.floor(random() * 3) }, step),
    );
    // Due while its owner is stopped.
    const first: readonly Step[] = kind === "paused" && session === 0
      ? [{ carrier: "schedule", effect: "conditional", id: "id-1-0" }]
      : [];
    return { name, turns: turns.map((turn, index) => index === 0 ? [...first, ...turn] : turn) };
  });
}
