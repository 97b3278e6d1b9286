/** The commands in a text for a shell, with all that is nested in it, in the order in which they would run. */
import { forEachChild, parse, type ParsedScript, type SyntaxNode } from "unbash";
import type { Assignment, Command, HereDoc, Redirection, Statement } from "unbash";
import { limits } from "../../schemas/limits.ts";
import { fieldsOf, type Scope, textOfWord } from "./expand.ts";
import { exactly, type Field, type Step, unknownField, unknownMark } from "./field.ts";
import { type Findings, shown } from "./findings.ts";

/** Turns of one loop that are looked at; later ones run the same commands. */
const turnsMax = 16;

/** Who judges what a text is made of. */
export interface Judge {
  readonly home: string;
  readonly cwd: string;
  readonly findings: Findings;
  /** Judges one command. Returns what it certainly prints, if that is known. */
  step(step: Step): string | undefined;
  /** Judges one redirection to or from a file. */
  file(target: Field, isWritten: boolean): void;
  /** Judges a variable that a command, or all commands from here on, are given. */
  variable(name: string): void;
}

/** Where in a text we are. */
interface Feed {
  /** What a command reads, where it is known. */
  readonly input: string | undefined;
  readonly isFed: boolean;
}

const unfed: Feed = { input: undefined, isFed: false };

/** Reads a text. Returns what it certainly prints, if that is known. */
export function walkShell(text: string, judge: Judge, depth: number): string | undefined {
  const { findings } = judge;
  if (depth > limits.commandDepthMax) {
    return void findings.add(
      "command-too-complex",
      `more than ${limits.commandDepthMax} commands inside each other`,
    );
  }
  if (text.length > limits.commandTextCharactersMax) {
    return void findings.add(
      "command-too-complex",
      `more than ${limits.commandTextCharactersMax} characters`,
    );
  }
  if (/\n/.test(text.trim())) findings.add("complex-shell", "more than one line");
  // deno-lint-ignore no-control-regex -- these are what is looked for.
  if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(text)) {
    findings.add("complex-shell", "characters that control a terminal");
  }
  return new Walk(judge, depth).script(parse(text));
}

class Walk {
  readonly #judge: Judge;
  readonly #depth: number;
  readonly #scope: Scope;

  constructor(judge: Judge, depth: number, variables: ReadonlyMap<string, Field> = new Map()) {
    this.#judge = judge;
    this.#depth = depth;
    const { home, cwd, findings } = judge;
    const enter = (script: ParsedScript | undefined) => this.#enter(script);
    this.#scope = { variables: new Map(variables), home, cwd, findings, enter };
  }

  script(script: ParsedScript, feed: Feed = unfed): string | undefined {
    const [error] = script.errors ?? [];
    if (error !== undefined) {
      return void this.#judge.findings.add("command-unreadable", `no shell command: ${error.message}`);
    }
    return this.#list(script.commands, feed);
  }

  /** A script inside a word has variables of its own, and begins with ours. */
  #enter(script: ParsedScript | undefined): string | undefined {
    const { findings } = this.#judge;
    if (script === undefined) {
      return void findings.add("command-unreadable", "a substitution that cannot be read");
    }
    if (this.#depth + 1 > limits.commandDepthMax) {
      return void findings.add("command-too-complex", "too many substitutions inside each other");
    }
    return new Walk(this.#judge, this.#depth + 1, this.#scope.variables).script(script);
  }

  #list(statements: readonly Statement[], feed: Feed): string | undefined {
    let printed: string | undefined = "";
    for (const { command, background } of statements) {
      if (background === true) this.#note("complex-shell", "& lets a command run beside others");
      const one = this.#node(command, feed);
      printed = one === undefined || printed === undefined ? undefined : printed + one;
    }
    return printed;
  }

  #note(rule: Parameters<Findings["add"]>[0], why: string): void {
    this.#judge.findings.add(rule, why);
  }

  #node(node: SyntaxNode, feed: Feed): string | undefined {
    switch (node.type) {
      case "Command":
        return this.#command(node, feed);
      case "AndOr":
        if (node.operators.includes("||")) this.#note("complex-shell", "|| runs a command if another fails");
        for (const one of node.commands) this.#node(one, feed);
        return undefined;
      case "Pipeline":
        return this.#pipeline(node.commands, feed);
      case "Redirected": {
        const input = this.#redirections(node.redirects);
        return this.#node(node.command, input === undefined ? feed : { input, isFed: true });
      }
      case "For":
      case "Select":
        return this.#loop(node, feed);
      case "Function":
        this.#function(node.name.value, node.body);
        return this.#compound(node, feed);
      default:
        return this.#compound(node, feed);
    }
  }

  #pipeline(commands: readonly SyntaxNode[], feed: Feed): string | undefined {
    if (commands.length < 2) return commands[0] && this.#node(commands[0], feed);
    this.#note("pipeline", "what a command prints goes to another");
    let input = feed.input;
    let isFed = feed.isFed;
    for (const one of commands) {
      input = this.#node(one, { input, isFed });
      isFed = true;
    }
    return input;
  }

  /** Everything in a compound is looked at, whether it would run or not. */
  #compound(node: SyntaxNode, feed: Feed): undefined {
    if (node.type !== "CompoundList" && node.type !== "Word") {
      this.#note("complex-shell", "loops, conditions, groups or functions");
    }
    forEachChild(node, (child) => {
      if (child.type === "Statement") this.#list([child], feed);
      else if (child.type === "Word") void fieldsOf(child, this.#scope);
      else if (child.type === "Script") this.#enter(child);
      else this.#compoundChild(child, feed);
    });
  }

  #compoundChild(child: SyntaxNode, feed: Feed): void {
    switch (child.type) {
      case "Command":
      case "AndOr":
      case "Pipeline":
      case "Redirected":
      case "For":
      case "Select":
      case "Function":
        return void this.#node(child, feed);
      default:
        return this.#compound(child, feed);
    }
  }

  #loop(node: SyntaxNode & { readonly type: "For" | "Select" }, feed: Feed): undefined {
    this.#note("complex-shell", "a loop");
    const values = (node.wordlist ?? []).flatMap((word) => fieldsOf(word, this.#scope));
    const turns = values.length === 0 ? [unknownField] : values.slice(0, turnsMax);
    for (const value of turns) {
      this.#scope.variables.set(node.name.value, value);
      this.#list(node.body.commands, feed);
    }
  }

  /** A function that starts itself more than once, or beside itself, never ends (DM-92). */
  #function(name: string, body: SyntaxNode): void {
    let selves = 0;
    let isMany = false;
    const look = (node: SyntaxNode): void => {
      if (node.type === "Command" && node.name?.value === name) selves += 1;
      if (node.type === "Pipeline" && node.commands.length > 1) isMany = true;
      if (node.type === "Statement" && node.background === true) isMany = true;
      forEachChild(node, look);
    };
    look(body);
    if (selves > 1 || (selves === 1 && isMany)) {
      this.#note("fork-bomb", `the function ${shown(name)} starts itself beside itself`);
    }
  }

  #command(node: Command, feed: Feed): string | undefined {
    const ownInput = this.#redirections(node.redirects);
    const now = ownInput === undefined ? feed : { input: ownInput, isFed: true };
    const prefixes = node.prefix.filter((one): one is Assignment => one.type === "Assignment");
    for (const one of prefixes) this.#assign(one, node.name !== undefined);
    if (node.name === undefined) return "";
    const words: Field[] = [...fieldsOf(node.name, this.#scope)];
    for (const one of node.args) {
      if (one.type === "Word") words.push(...fieldsOf(one, this.#scope));
      else words.push(this.#assign(one, false));
    }
    if (words.length === 0) return "";
    const printed = this.#judge.step({ words, ...now, depth: this.#depth });
    return node.redirects.some(({ type }) => type === "Redirect") ? undefined : printed;
  }

  #assign({ name, value, append, index }: Assignment, isForOne: boolean): Field {
    const { variables } = this.#scope;
    if (index !== undefined) void fieldsOf(index, this.#scope);
    const field = value.type === "Word" ? textOfWord(value, this.#scope) : unknownField;
    if (value.type === "ArrayValue") { for (const one of value.elements) void fieldsOf(one, this.#scope); }
    this.#judge.variable(name);
    if (isForOne) this.#note("environment-overlay", `a variable is set for a command: ${name.slice(0, 40)}`);
    // What is set for one command is not seen in its own words; taking it for seen is on the safe side.
    variables.set(
      name,
      append === true ? { ...field, text: `${variables.get(name)?.text ?? ""}${field.text}` } : field,
    );
    return exactly(`${name}=${field.text}`);
  }

  /** Returns what is read from them, if that is known; {@linkcode unknownMark} if something is read. */
  #redirections(redirects: readonly Redirection[]): string | undefined {
    let input: string | undefined;
    for (const one of redirects) {
      if (one.type === "HereDoc") input = this.#hereDocument(one);
      else if (one.type === "HereString") {
        this.#note("shell-redirection", "a text is read as input");
        input = one.target === undefined ? undefined : textOfWord(one.target, this.#scope).text;
      } else if (one.target !== undefined) {
        const reads = this.#redirect(one.operator, textOfWord(one.target, this.#scope));
        if (reads) input = unknownMark;
      }
    }
    return input;
  }

  #hereDocument({ body, delimiter }: HereDoc): string {
    this.#note("complex-shell", "a text in the command is read as input");
    if (delimiter?.quoted === true || body.parts === undefined) return body.text;
    const { pos, end, text, parts } = body;
    return textOfWord({
      type: "Word",
      pos,
      end,
      text: `"${text}`,
      value: text,
      parts: [{
        type: "DoubleQuoted",
        pos,
        end,
        text,
        parts: parts.filter((one) =>
          one.type === "Literal" || one.type === "SimpleExpansion" || one.type === "ParameterExpansion" ||
          one.type === "CommandExpansion" || one.type === "ArithmeticExpansion"
        ),
      }],
    }, this.#scope).text;
  }

  /** True if it is read from. */
  #redirect(operator: string, target: Field): boolean {
    const isCopy = (operator === ">&" || operator === "<&") && /^(?:\d+-?|-)$/.test(target.text);
    if (isCopy || (target.isExact && target.text === "/dev/null")) return false;
    const isWritten = operator !== "<" && operator !== "<&";
    this.#note(
      "shell-redirection",
      `${isWritten ? "output goes to" : "input comes from"} ${shown(target.text)}`,
    );
    this.#judge.file(target, isWritten);
    return !isWritten || operator === "<>";
  }
}
