/**
 * Which of a turn's enabled tools a model is told of in one step (AR-12, AR-13): by what is wanted and by a budget. Pure,
 * so that the same catalog, words and calls give the same set, live and in replay. It is about room, not about rights: a
 * tool that is enabled and not exposed can be called by its name, and passes the same gates.
 */
import type { ExposureBudget } from "../schemas/agent.ts";
import type { CatalogEntry, ResolvedCatalog } from "../schemas/catalog.ts";
import { limits } from "../schemas/limits.ts";
import type { ToolSpec } from "../schemas/tool.ts";
import { compare } from "./naming.ts";
import { findTools, scoresOf, wordsOf } from "./relevance.ts";

/** What a step may need tools for. Names are those that models call. */
export interface Wishes {
  /** What the turn was asked. */
  readonly prompt: string;
  /** Tools that the turn has called so far. */
  readonly called: readonly string[];
  /** Tools that earlier turns of the session called. */
  readonly calledBefore: readonly string[];
  /** What the turn looked for with `tools_list`. */
  readonly queries: readonly string[];
}

/** Nothing is known of what is wanted. */
export const noWishes: Wishes = { prompt: "", called: [], calledBefore: [], queries: [] };

/** Why a tool is exposed, or not: the first that holds. */
export type ExposureReason =
  | "disabled"
  | "all_fit"
  | "builtin"
  | "called"
  | "looked_for"
  | "relevant"
  | "room_left"
  | "tools_full"
  | "characters_full";

/** What was decided of one tool. */
export interface ExposureVerdict {
  readonly entry: CatalogEntry;
  readonly isExposed: boolean;
  readonly reason: ExposureReason;
  /** How much it has to do with the prompt, with what was called before added. */
  readonly score: number;
  /** What telling a model of it takes. */
  readonly characters: number;
}

/** What a model is told of. */
export interface Exposure {
  /** True if every enabled tool is exposed. */
  readonly isWhole: boolean;
  /** The exposed tools in the catalog's order (LC-6), as a model is told of them. */
  readonly specs: readonly ToolSpec[];
  /** Their canonical names, in the same order. */
  readonly names: readonly string[];
}

/** A tool that an earlier turn called counts like a word of its name that few tools have. */
const calledBeforeScore = 24;

/** One enabled tool, as a model would be told of it. */
interface Told {
  readonly entry: CatalogEntry;
  readonly spec: ToolSpec;
  readonly characters: number;
}

interface Whole extends Exposure {
  readonly tools: readonly Told[];
  readonly characters: number;
}

/** A catalog never changes, so what all of it takes is reckoned once. */
const wholes = new WeakMap<ResolvedCatalog, Whole>();

/** Chooses what a model is told of in a step. */
export function expose(catalog: ResolvedCatalog, wishes: Wishes, budget: ExposureBudget = {}): Exposure {
  const whole = wholeOf(catalog);
  if (fits(whole, boundsOf(budget))) return whole;
  const chosen = new Set(
    choose(catalog, wishes, budget).filter(({ isExposed }) => isExposed).map(({ entry }) => entry),
  );
  const tools = whole.tools.filter(({ entry }) => chosen.has(entry));
  return {
    isWhole: tools.length === whole.tools.length,
    specs: tools.map(({ spec }) => spec),
    names: tools.map(({ entry }) => entry.canonicalName),
  };
}

/** The verdict on every tool of a catalog, in its order: what `expose` chooses, and why. */
export function explainExposure(
  catalog: ResolvedCatalog,
  wishes: Wishes,
  budget: ExposureBudget = {},
): readonly ExposureVerdict[] {
  const whole = wholeOf(catalog);
  const isWhole = fits(whole, boundsOf(budget));
  const verdicts = new Map(choose(catalog, wishes, budget).map((verdict) => [verdict.entry, verdict]));
  return catalog.entries.map((entry) => {
    const verdict = verdicts.get(entry);
    if (verdict === undefined) {
      return {
        entry,
        isExposed: false,
        reason: "disabled",
        score: 0,
        characters: charactersOf(specOf(entry)),
      };
    }
    return isWhole ? { ...verdict, isExposed: true, reason: "all_fit" } : verdict;
  });
}

/** What a model is told of at most. */
interface Bounds {
  readonly tools_max: number;
  readonly characters_max: number;
}

/** The bounds that a budget sets, with those of the runtime where it says nothing. */
export function boundsOf({ tools_max, characters_max }: ExposureBudget): Bounds {
  return {
    tools_max: tools_max ?? limits.toolsExposedDefault,
    characters_max: characters_max ?? limits.exposedCharactersDefault,
  };
}

function fits({ tools, characters }: Whole, bounds: Bounds): boolean {
  return tools.length <= bounds.tools_max && characters <= bounds.characters_max;
}

/** A tool in the order in which room is given away. */
interface Candidate extends Told {
  readonly reason: "builtin" | "called" | "looked_for" | "relevant" | "room_left";
  readonly rank: number;
  readonly score: number;
}

const ranks = { builtin: 0, called: 1, looked_for: 2, relevant: 3, room_left: 3 } as const;

function choose(
  catalog: ResolvedCatalog,
  wishes: Wishes,
  budget: ExposureBudget,
): readonly ExposureVerdict[] {
  const bounds = boundsOf(budget);
  let [tools, characters] = [0, 0];
  return candidates(catalog, wishes).map(({ entry, score, reason, characters: own }): ExposureVerdict => {
    // The agent lists its built-in tools one by one: they are in, and take their room first.
    const isFull = tools >= bounds.tools_max && reason !== "builtin";
    const isTooLong = characters + own > bounds.characters_max && reason !== "builtin";
    if (isFull || isTooLong) {
      const full = isFull ? "tools_full" : "characters_full";
      return { entry, isExposed: false, reason: full, score, characters: own };
    }
    [tools, characters] = [tools + 1, characters + own];
    return { entry, isExposed: true, reason, score, characters: own };
  });
}

function candidates(catalog: ResolvedCatalog, wishes: Wishes): readonly Candidate[] {
  const scores = scoresOf(catalog, wordsOf(wishes.prompt));
  const called = new Set(wishes.called);
  const before = new Set(wishes.calledBefore);
  const found = new Set(wishes.queries.flatMap((query) => findTools(catalog, query)));
  const all = wholeOf(catalog).tools.map((tool): Candidate => {
    const { entry } = tool;
    const bonus = before.has(entry.providerName) ? calledBeforeScore : 0;
    const score = (scores.get(entry.canonicalName) ?? 0) + bonus;
    const reason = isBuiltIn(entry)
      ? "builtin"
      : called.has(entry.providerName)
      ? "called"
      : found.has(entry)
      ? "looked_for"
      : score > 0
      ? "relevant"
      : "room_left";
    return { ...tool, reason, rank: ranks[reason], score };
  });
  return all.sort((left, right) =>
    left.rank - right.rank || right.score - left.score || sourceRank(left) - sourceRank(right) ||
    compare(left.entry.canonicalName, right.entry.canonicalName)
  );
}

function isBuiltIn({ sourceKind }: CatalogEntry): boolean {
  return sourceKind === "troupe" || sourceKind === "runtime";
}

/** Where nothing else tells two tools apart, the agent's own come before those of servers. */
function sourceRank({ entry }: Told): number {
  return entry.sourceKind === "mcp" ? 1 : 0;
}

function wholeOf(catalog: ResolvedCatalog): Whole {
  const known = wholes.get(catalog);
  if (known !== undefined) return known;
  const tools = catalog.entries.filter(({ enabled }) => enabled).map((entry): Told => {
    const spec = specOf(entry);
    return { entry, spec, characters: charactersOf(spec) };
  });
  const whole: Whole = {
    isWhole: true,
    tools,
    specs: tools.map(({ spec }) => spec),
    names: tools.map(({ entry }) => entry.canonicalName),
    characters: tools.reduce((sum, tool) => sum + tool.characters, 0),
  };
  wholes.set(catalog, whole);
  return whole;
}

function charactersOf({ name, description, inputSchema }: ToolSpec): number {
  return name.length + description.length + JSON.stringify(inputSchema).length;
}

function specOf({ providerName, definition }: CatalogEntry): ToolSpec {
  const { title, description, inputSchema } = definition;
  return {
    name: providerName,
    description: description === "" ? title : `${title}: ${description}`,
    inputSchema,
  };
}
