/** How much a tool has to do with some words: by its words alone, never by a model, the same for the same input. */
import type { CatalogEntry, ResolvedCatalog } from "../schemas/catalog.ts";
import { limits } from "../schemas/limits.ts";
import { compare } from "./naming.ts";

/** What a word counts by where it stands: the name says more than the description. */
const weights = { name: 6, server: 4, title: 3, description: 1 } as const;

/** Words that say nothing of what is wanted. */
const stopWords = new Set(
  ("a all also an and any are as at be but by can could do does for from give go has have help how i if in into is it its just " +
    "let like make me my need new no not now of on one or our out please should show so some tell than that the their them then " +
    "there these they this to up us use using want was we what when where which who will with would you your")
    .split(" "),
);

/** Words longer than this are no words. In characters. */
const wordCharactersMax = 64;
const wordsPerToolMax = 400;

/** A tool's words with what they count. */
interface Indexed {
  readonly entry: CatalogEntry;
  readonly words: ReadonlyMap<string, number>;
}

/** A catalog's enabled tools, and how many of them have each word. */
interface Index {
  readonly tools: readonly Indexed[];
  readonly counts: ReadonlyMap<string, number>;
}

/** A catalog never changes, so one is indexed once: reading this memo is as pure as arithmetic. */
const indexes = new WeakMap<ResolvedCatalog, Index>();

/** The distinct words of a text that mean something, in their first order: lower case, without plural endings. */
export function wordsOf(text: string): readonly string[] {
  const pieces = text.slice(0, limits.exposureTextCharactersMax)
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? [];
  const words = pieces.filter((word) =>
    word.length > 1 && word.length <= wordCharactersMax && !stopWords.has(word)
  );
  return [...new Set(words.map(stem))];
}

/** Close enough that "files" finds "file" and "queries" finds "query"; both sides lose the same. */
function stem(word: string): string {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (word.length > 4 && /(?:sh|ch|ss|x|z)es$/.test(word)) return word.slice(0, -2);
  if (word.length > 3 && word.endsWith("s") && !word.endsWith("ss")) return word.slice(0, -1);
  return word;
}

/** The score of every enabled tool of a catalog for some words, by canonical name; 0 is left out. */
export function scoresOf(catalog: ResolvedCatalog, words: readonly string[]): ReadonlyMap<string, number> {
  const { tools, counts } = indexOf(catalog);
  const known = words.flatMap((word) => {
    const count = counts.get(word);
    return count === undefined ? [] : [{ word, rarity: rarityOf(count, tools.length) }];
  });
  const scores = new Map<string, number>();
  for (const { entry, words: own } of tools) {
    let score = 0;
    for (const { word, rarity } of known) score += (own.get(word) ?? 0) * rarity;
    if (score > 0) scores.set(entry.canonicalName, score);
  }
  return scores;
}

/** The tools that have most to do with a query, best first. */
export function findTools(catalog: ResolvedCatalog, query: string): readonly CatalogEntry[] {
  const scores = scoresOf(catalog, wordsOf(query));
  const scoreOf = ({ canonicalName }: CatalogEntry) => scores.get(canonicalName) ?? 0;
  return catalog.entries.filter((entry) => scoreOf(entry) > 0)
    .sort((left, right) => scoreOf(right) - scoreOf(left) || compare(left.canonicalName, right.canonicalName))
    .slice(0, limits.toolsFoundMax);
}

/** A word that few tools have tells them apart. In whole numbers: no rounding may differ between two machines. */
function rarityOf(count: number, tools: number): number {
  if (count * 16 <= tools) return 4;
  if (count * 8 <= tools) return 3;
  return count * 4 <= tools ? 2 : 1;
}

function indexOf(catalog: ResolvedCatalog): Index {
  const known = indexes.get(catalog);
  if (known !== undefined) return known;
  const tools = catalog.entries.filter(({ enabled }) => enabled)
    .map((entry) => ({ entry, words: wordsOfEntry(entry) }));
  const counts = new Map<string, number>();
  for (const { words } of tools) {
    for (const word of words.keys()) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const index = { tools, counts };
  indexes.set(catalog, index);
  return index;
}

function wordsOfEntry({ sourceKind, canonicalName, definition }: CatalogEntry): ReadonlyMap<string, number> {
  const server = sourceKind === "mcp" ? canonicalName.split(".")[1] ?? "" : "";
  const places = [
    [definition.name, weights.name],
    [server, weights.server],
    [definition.title, weights.title],
    [definition.description, weights.description],
  ] as const;
  const words = new Map<string, number>();
  for (const [text, weight] of places) {
    for (const word of wordsOf(text)) {
      if (words.size >= wordsPerToolMax) return words;
      if (!words.has(word)) words.set(word, weight);
    }
  }
  return words;
}
