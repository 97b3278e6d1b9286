/** Judges the commands of one text or list of arguments, one after the other. */
import { isExecutionVariable } from "../../actors/variable_names.ts";
import { limits } from "../../schemas/limits.ts";
import { type Danger, dangerOf, fileDanger } from "./danger.ts";
import { exactly, type Field, type Step, textsOf, unknownField, unknownMark } from "./field.ts";
import { type Findings, shown } from "./findings.ts";
import { findSteps } from "./find_steps.ts";
import { operandsOf, pathsIn } from "./options.ts";
import type { Places } from "./place.ts";
import { printedBy } from "./printed.ts";
import {
  deleters,
  evaluators,
  patternFirst,
  programFolders,
  readers,
  runners,
  shellWords,
  talkers,
  textual,
  versions,
  writers,
} from "./programs.ts";
import { beyondReading } from "./reader.ts";
import { type Judge, walkShell } from "./shell_tree.ts";
import { shellText } from "./shells.ts";
import { elevators, unwrap, type Wrapped } from "./wrappers.ts";

/** Judges commands by what their programs are for, and where their paths lead. */
export class CommandJudge implements Judge {
  readonly findings: Findings;
  readonly #places: Places;
  readonly #seen = new Set<string>();

  constructor(places: Places, findings: Findings) {
    this.#places = places;
    this.findings = findings;
  }

  get home(): string {
    return this.#places.home;
  }

  get cwd(): string {
    return this.#places.cwd;
  }

  /** True if nothing was there to be judged. */
  get isIdle(): boolean {
    return this.#seen.size === 0;
  }

  step(step: Step): string | undefined {
    const texts = textsOf(step.words);
    this.#seen.add(JSON.stringify(texts));
    if (this.#seen.size > limits.commandPartsMax || step.depth > limits.commandDepthMax) {
      const why =
        `more than ${limits.commandPartsMax} commands, or ${limits.commandDepthMax} inside each other`;
      return void this.findings.add("command-too-complex", why);
    }
    const [name = "", ...args] = texts;
    if (name.trim() === "") return void this.findings.add("empty-command", "no program is named");
    if (name.includes(unknownMark)) {
      return void this.findings.add("unknown-command", "which program runs is known only when it does");
    }
    const program = this.#programOf(name);
    this.#addDanger(dangerOf(program, args, this.#places));
    if (this.#enter(program, step)) return undefined;
    if (evaluators.has(program)) this.#judgeNames(program, args);
    this.#judgeKind(program, args, name);
    this.#judgePaths(program, args);
    return printedBy(program, args, step.input);
  }

  file(target: Field, isWritten: boolean): void {
    if (isWritten) {
      this.#addDanger(fileDanger(target.text, this.#places));
      this.findings.add("file-write", `writes to ${shown(target.text)}`);
    }
    this.#judgePath(target.text);
  }

  variable(name: string): void {
    if (!isExecutionVariable(name)) return;
    this.findings.add("project-code-execution", `sets ${name.slice(0, 40)}, which decides what programs run`);
  }

  #addDanger(danger: Danger | undefined): void {
    if (danger !== undefined) this.findings.add(...danger);
  }

  /** What a program is called, if it is one of the machine's; one that is a file of somebody is judged as such. */
  #programOf(name: string): string {
    const place = name.lastIndexOf("/") + 1;
    const folder = name.slice(0, place);
    if (folder === "" || programFolders.test(folder)) return name.slice(place);
    if (this.#places.isOutside(name)) this.findings.add("path-outside-workspace", `runs ${shown(name)}`);
    this.findings.add("project-code-execution", `runs the file ${shown(name)}`);
    return name.slice(place);
  }

  /** Judges what a command runs in its turn. True if that is all that it does. */
  #enter(program: string, { words, input, isFed, depth }: Step): boolean {
    const args = words.slice(1);
    const script = shellText(program, args, { input, isFed });
    if (script !== undefined) {
      for (const [rule, why] of script.findings) this.findings.add(rule, why);
      for (const text of script.texts) walkShell(text, this, depth + 1);
      if (!script.isWhole) this.#judgePaths(program, textsOf(args));
      return true;
    }
    const wrapped = unwrap(program, args);
    if (wrapped !== undefined) return this.#enterWrapped(program, wrapped, { words, input, isFed, depth });
    if (program === "find") {
      for (const inner of findSteps(args)) {
        this.findings.add("complex-shell", "find runs a command for what it finds");
        this.step({ words: inner, input: undefined, isFed: false, depth: depth + 1 });
      }
    }
    return false;
  }

  #enterWrapped(program: string, { inner, isOpen, sets, text }: Wrapped, step: Step): boolean {
    const { input, isFed, depth } = step;
    if (elevators.has(program)) {
      this.findings.add("unknown-command", `${program} runs a command with other rights, or elsewhere`);
    }
    if (sets !== undefined && sets.length > 0) {
      this.findings.add(
        "environment-overlay",
        `sets variables for a command: ${sets.slice(0, 3).join(", ").slice(0, 80)}`,
      );
      for (const one of sets) this.variable(one);
    }
    const folder = program === "env" ? folderOf(textsOf(step.words)) : undefined;
    if (folder !== undefined) {
      this.findings.add("cwd-change", "env runs a command in another folder");
      this.#places.go(folder);
    }
    this.#judgePaths(program, textsOf(step.words.slice(1, step.words.length - inner.length)));
    if (text !== undefined) {
      this.findings.add("complex-shell", `${program} reads a text as a command`);
      walkShell(text, this, depth + 1);
      return true;
    }
    if (inner.length === 0) return true;
    if (isOpen === true) {
      this.findings.add("complex-shell", `${program} gives a command what it reads`);
      const given = input === undefined
        ? [unknownField]
        : input.split(/\s+/).filter((one) => one !== "").map(exactly);
      this.step({ words: [...inner, ...given], input: undefined, isFed: false, depth: depth + 1 });
    } else this.step({ words: inner, input, isFed, depth: depth + 1 });
    return true;
  }

  #judgeKind(program: string, args: readonly string[], name: string): void {
    if (readers.has(program)) {
      const beyond = beyondReading(program, args);
      if (beyond !== undefined) this.findings.add(...beyond);
      if (program === "find") this.#judgeFind(args);
    } else if (shellWords.has(program)) return;
    else if (program === "env") return;
    else if (program === "cd" || program === "pushd" || program === "popd") {
      this.findings.add("cwd-change", `${program} goes to another folder`);
      this.#places.go(operandsOf(args)[0] ?? "~");
    } else if (deleters.has(program)) this.findings.add("file-delete", `${program} deletes files`);
    else if (writers.has(program)) this.findings.add("file-write", `${program} writes files`);
    else if (talkers.has(program)) this.findings.add("network-access", `${program} talks to other machines`);
    else if (runners.has(program)) {
      if (versions.has(program) && args.length === 1 && args[0] === "--version") return;
      this.findings.add("project-code-execution", `${program} runs code that is not seen here`);
    } else if (!name.includes("/")) {
      this.findings.add("unknown-command", `nothing is known of ${shown(program)}`);
    }
  }

  /** A subscript is worked out wherever a name may have one, also in quotes: `let 'a[$(…)]'` runs the command. */
  #judgeNames(program: string, args: readonly string[]): void {
    const isLooking = program === "[" || program === "test" || program === "printf";
    if (isLooking && !args.includes("-v")) return;
    if (args.some((one) => /[$<>]\(|`/.test(one))) {
      this.findings.add("command-unreadable", `a command inside a name that ${program} works out`);
    }
    // What a variable holds is worked out in its turn, and nobody sees here what that is.
    const isSum = program === "let" || args.some((one) => /^-\w*i/.test(one));
    if (isSum) this.findings.add("shell-expansion", `${program} works out a sum`);
  }

  #judgeFind(args: readonly string[]): void {
    if (args.includes("-delete")) this.findings.add("file-delete", "find deletes what it finds");
    if (args.some((one) => /^-f(?:ls|print0?|printf)$/.test(one))) {
      this.findings.add("file-write", "find writes what it finds to a file");
    }
  }

  #judgePaths(program: string, args: readonly string[]): void {
    if (textual.has(program)) return;
    const hasOwn = args.some((one) => /^(?:-e|-f|--regexp|--file|--expression|--from-file)/.test(one));
    const pattern = patternFirst.has(program) && !hasOwn ? operandsOf(args)[0] : undefined;
    let isPattern = pattern !== undefined;
    for (const one of args) {
      if (isPattern && one === pattern) isPattern = false;
      else for (const path of pathsIn(one)) this.#judgePath(path);
    }
  }

  #judgePath(path: string): void {
    if (path === "" || path === "-" || this.#places.isHarmlessDevice(path)) return;
    if (this.#places.isOutside(path)) {
      this.findings.add("path-outside-workspace", `${shown(path)} is outside of the workspace`);
    }
    if (this.#places.isSecret(path)) {
      this.findings.add("sensitive-path", `${shown(path)} usually holds secrets`);
    }
  }
}

/** The folder in which `env` runs a command, if it is told one. */
function folderOf(texts: readonly string[]): string | undefined {
  const place = texts.findIndex((one) => /^(?:-C|--chdir)/.test(one));
  const own = texts[place]?.replace(/^(?:-C|--chdir=?)/, "");
  return own === "" ? texts[place + 1] : own;
}
