/** `search_files`: lines of the workspace's text files that contain a pattern. */
import { z } from "zod";
import { limits } from "../../schemas/limits.ts";
import type { ToolResultEnvelope } from "../../schemas/tool.ts";
import { createGlob, createLiteralMatcher, createMatcher, type Matcher } from "./matcher.ts";
import { accept, type Checked } from "./path.ts";
import { type BuiltinTool, defineTool, errorEnvelope, textEnvelope, type ToolUseContext } from "./tool.ts";
import { head, visible } from "./visible.ts";
import { walk } from "./walk.ts";
import type { TextRead } from "./workspace.ts";

/** What can be asked of {@linkcode searchText}. */
export const searchTextInput = z.strictObject({
  pattern: z.string().min(1).max(limits.regexCharactersMax).describe("Text to find in a line"),
  regex: z.boolean().default(false)
    .describe("If true, the pattern is a regular expression, without look-around and back-references"),
  path: z.string().max(limits.pathCharactersMax).default(".")
    .describe("Folder or file to search, relative to the workspace; without it, all of the workspace"),
  glob: z.string().min(1).max(limits.regexCharactersMax / 4).optional()
    .describe(
      "Only files of this form, such as *.ts; with a slash, such as src/**/*.ts, it is the whole path",
    ),
});

/** Larger files are skipped, in bytes: nobody wrote them by hand. */
const fileBytesMax = 2 * 1_048_576;
/** Only this much of a line is searched, in characters. */
const lineCharactersMax = 10_000;
/** Only this much of a line is shown, in characters. */
const shownCharactersMax = 160;
/** Longest time for the lines of one file, and for all files, in milliseconds. */
const fileDurationMsMax = 250;
const searchDurationMsMax = 10_000;
/** How long a search may hold the event loop, but for one file, in milliseconds. */
const heldMsMax = 20;
/** Files read at once: reading waits for the disk, matching does not. */
const readsAtOnce = 8;

/** Finds lines in the text files of the workspace: at most 50, in the order of paths and lines (DM-16, DM-17). */
export const searchFiles: BuiltinTool = defineTool({
  name: "search_files",
  title: "Search files",
  description: "Finds lines in the text files of the workspace; answers `path:line: text`, at most 50. " +
    "Skips binary and very large files, .git and node_modules.",
  resource: { kind: "file", scope: "workspace" },
  capability: "fs.read",
  parallelSafe: true,
  inputSchema: searchTextInput,
  run: (wanted, use) => searchText(wanted, use),
});

/** All that a search needs of its surroundings. */
export type SearchUse = Pick<ToolUseContext, "cwd" | "signal" | "clock">;

/** Finds lines, at most `linesMax`. Ends soon after the signal aborts, with what it has. */
export async function searchText(
  wanted: z.output<typeof searchTextInput>,
  use: SearchUse,
  linesMax: number = limits.searchResultsMax,
): Promise<ToolResultEnvelope> {
  const matcher = wanted.regex ? createMatcher(wanted.pattern) : accept(createLiteralMatcher(wanted.pattern));
  if (!matcher.ok) return errorEnvelope(matcher.failure);
  const paths = await pathsOf(wanted.path, wanted.glob, use);
  if (!paths.ok) return errorEnvelope(paths.failure);
  const search = new Search(matcher.value, use, Math.min(linesMax, limits.searchResultsMax));
  await search.run(paths.value.paths);
  return textEnvelope(search.report(paths.value.cut));
}

interface Paths {
  readonly paths: readonly string[];
  readonly cut: boolean;
}

/** The files to search. A path that is itself a file is taken as it is. */
async function pathsOf(path: string, glob: string | undefined, use: SearchUse): Promise<Checked<Paths>> {
  const filter = glob === undefined ? undefined : createGlob(glob);
  if (filter?.ok === false) return filter;
  const walked = await walk(use.cwd, path, { depthMax: limits.pathComponentsMax, signal: use.signal });
  if (!walked.ok) {
    const isFile = walked.failure.code === "path_not_folder";
    const plain = use.cwd.relative(path);
    return isFile && plain.ok ? accept({ paths: [plain.value], cut: false }) : walked;
  }
  const hasFolder = glob?.includes("/") ?? false;
  const paths = walked.value.entries.filter(({ path, kind }) => {
    if (kind !== "file") return false;
    const subject = hasFolder ? path : path.slice(path.lastIndexOf("/") + 1);
    return filter === undefined || filter.value.find(subject, () => false) >= 0;
  });
  return accept({ paths: paths.map((entry) => entry.path), cut: walked.value.cut });
}

/** One search while it runs. */
class Search {
  readonly #matcher: Matcher;
  readonly #use: SearchUse;
  readonly #linesMax: number;
  readonly #endsAtMs: number;
  readonly #lines: string[] = [];
  readonly #notes = { binary: 0, large: 0, unreadable: 0, slow: 0, longLines: 0 };
  #letGoAtMs: number;
  #stopped: "" | "full" | "late" = "";

  constructor(matcher: Matcher, use: SearchUse, linesMax: number) {
    this.#matcher = matcher;
    this.#use = use;
    this.#linesMax = linesMax;
    this.#letGoAtMs = use.clock.now();
    this.#endsAtMs = this.#letGoAtMs + searchDurationMsMax;
  }

  async run(paths: readonly string[]): Promise<void> {
    for (let at = 0; at < paths.length && this.#stopped === ""; at += readsAtOnce) {
      const group = paths.slice(at, at + readsAtOnce);
      const reads = await Promise.all(group.map((path) => this.#use.cwd.readText(path, fileBytesMax)));
      for (const [index, read] of reads.entries()) {
        this.#search(group[index] ?? "", read);
        await this.#letOthersRun();
      }
    }
  }

  /** A cancel can be heard, and others work, only while the search lets go of the event loop. */
  async #letOthersRun(): Promise<void> {
    const { clock } = this.#use;
    if (clock.now() - this.#letGoAtMs < heldMsMax) return;
    await new Promise<void>((resolve) => clock.defer(resolve));
    this.#letGoAtMs = clock.now();
  }

  #search(path: string, read: Checked<TextRead>): void {
    if (this.#stopped !== "") return;
    if (!read.ok) return this.#skip(read.failure.code);
    const endsAtMs = Math.min(this.#use.clock.now() + fileDurationMsMax, this.#endsAtMs);
    const isOver = () => this.#use.signal.aborted || this.#use.clock.now() >= endsAtMs;
    for (const [index, line] of read.value.text.split(/\r?\n/).entries()) {
      if (index % 64 === 63 && isOver()) break;
      const searched = head(line, lineCharactersMax);
      if (searched.length < line.length) this.#notes.longLines++;
      const end = this.#matcher.find(searched, isOver);
      if (end < 0) continue;
      if (this.#lines.length >= this.#linesMax) {
        this.#stopped = "full";
        return;
      }
      this.#lines.push(`${visible(path)}:${index + 1}: ${excerpt(searched, end)}`);
    }
    if (this.#use.signal.aborted || this.#use.clock.now() >= this.#endsAtMs) this.#stopped = "late";
    else if (isOver()) this.#notes.slow++;
  }

  #skip(code: string): void {
    if (code === "file_not_text") this.#notes.binary++;
    else if (code === "file_too_large") this.#notes.large++;
    else this.#notes.unreadable++;
  }

  /** The lines found, then what was not looked at. */
  report(isWalkCut: boolean): string {
    const { binary, large, unreadable, slow, longLines } = this.#notes;
    const skipped = [
      binary > 0 ? `${binary} not text` : "",
      large > 0 ? `${large} too large` : "",
      unreadable > 0 ? `${unreadable} not readable` : "",
      slow > 0 ? `${slow} in part, because they took too long` : "",
    ].filter((note) => note !== "");
    const notes = [
      this.#stopped === "full" ? `${this.#linesMax} lines shown, there are more; narrow the search` : "",
      this.#stopped === "late" ? "stopped before the end, because it took too long; narrow the search" : "",
      isWalkCut
        ? `only the first ${limits.walkEntriesMax} files and folders were looked at; give a path`
        : "",
      skipped.length > 0 ? `files skipped: ${skipped.join(", ")}` : "",
      longLines > 0 ? `${longLines} lines searched in their first ${lineCharactersMax} characters only` : "",
    ].filter((note) => note !== "");
    const found = this.#lines.length === 0 ? ["[nothing found]"] : this.#lines;
    return [...found, ...notes.map((note) => `[${note}]`)].join("\n");
  }
}

/** The part of a line around the end of a match. */
function excerpt(line: string, end: number): string {
  if (line.length <= shownCharactersMax) return line;
  const start = Math.max(0, Math.min(end - shownCharactersMax / 2, line.length - shownCharactersMax));
  const part = head(line.slice(start), shownCharactersMax);
  const shown = start > 0 ? part.replace(/^[\udc00-\udfff]/, "") : part;
  return `${start > 0 ? "…" : ""}${shown}${start + part.length < line.length ? "…" : ""}`;
}
