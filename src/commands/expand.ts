/** What a word of a shell becomes: the arguments that a program would get for it, as far as that can be known. */
import { forEachChild, type ParsedScript, type SyntaxNode, type Word, type WordPart } from "unbash";
import { type Field, unknownMark } from "./field.ts";
import type { Findings } from "./findings.ts";

/** A braces list or a split value has no more fields than this; what is beyond is not known. */
const fieldsMax = 64;

/** A piece of a word. Text that was not in quotes is split where it has spaces, if an expansion made it. */
interface Piece {
  readonly text: string;
  readonly isExact: boolean;
  readonly splits: boolean;
  /** Other texts that stand in the same place, each in a word of its own. */
  readonly others?: readonly string[];
}

/** What is known while a text is read. */
export interface Scope {
  readonly variables: Map<string, Field>;
  readonly home: string;
  readonly cwd: string;
  readonly findings: Findings;
  /** Told of each script inside a word; returns what it certainly prints, if that is known. */
  readonly enter: (script: ParsedScript | undefined) => string | undefined;
}

/** The arguments that a word becomes. One that is certainly nothing becomes none. */
export function fieldsOf(word: Word, scope: Scope): readonly Field[] {
  if (word.parts === undefined) return [tildeOf(word, { text: word.value, isExact: true }, scope)];
  let pieces: readonly (readonly Piece[])[] = [[]];
  for (const part of word.parts) {
    const made = piecesOf(part, scope);
    const choices = made.flatMap(({ others, ...piece }) =>
      others === undefined ? [] : others.map((text) => ({ ...piece, text }))
    );
    pieces = choices.length === 0
      ? pieces.map((before) => [...before, ...made])
      : pieces.flatMap((before) => choices.map((choice) => [...before, choice])).slice(0, fieldsMax);
  }
  return pieces.flatMap(joined).slice(0, fieldsMax).map((field) => tildeOf(word, field, scope));
}

/** The text of a word that is not split, such as the value of a variable. */
export function textOfWord(word: Word, scope: Scope): Field {
  const fields = fieldsOf(word, scope);
  return { text: fields.map(({ text }) => text).join(" "), isExact: fields.every(({ isExact }) => isExact) };
}

function tildeOf(word: Word, field: Field, { home, findings }: Scope): Field {
  if (!word.text.startsWith("~") || !field.text.startsWith("~")) return field;
  findings.add("shell-expansion", "~ becomes a home folder");
  const rest = field.text.slice(1);
  return rest === "" || rest.startsWith("/") ? { text: `${home}${rest}`, isExact: field.isExact } : field;
}

function joined(pieces: readonly Piece[]): readonly Field[] {
  const fields: { text: string; isExact: boolean }[] = [];
  let open: { text: string; isExact: boolean } | undefined;
  for (const { text, isExact, splits } of pieces) {
    const parts = splits ? text.split(/[ \t\n]+/) : [text];
    parts.forEach((part, place) => {
      if (place > 0) open = undefined;
      if (part === "" && splits) return;
      if (open === undefined) {
        open = { text: "", isExact: true };
        fields.push(open);
      }
      open.text += part;
      open.isExact &&= isExact;
    });
  }
  return fields;
}

function piecesOf(part: WordPart, scope: Scope): readonly Piece[] {
  const { findings } = scope;
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
      return [exact(part.value)];
    case "AnsiCQuoted":
      findings.add("shell-expansion", "a text with escapes");
      return [exact(part.value)];
    case "DoubleQuoted":
      // Empty quotes are an argument too.
      return [exact(""), ...part.parts.flatMap((one) => piecesOf(one, scope)).map(quoted)];
    case "LocaleString":
      findings.add("shell-expansion", "a text that is translated");
      return part.parts.flatMap((one) => piecesOf(one, scope)).map(quoted);
    case "Glob":
    case "ExtendedGlob":
      findings.add("filename-expansion", `${part.text.slice(0, 20)} becomes names of files`);
      search(part, scope);
      return [{ text: part.type === "Glob" ? part.value : part.text, isExact: false, splits: false }];
    case "BraceExpansion":
      findings.add("shell-expansion", "braces become several arguments");
      search(part, scope);
      return [bracesOf(part.text)];
    case "SimpleExpansion":
      return [variable(part.text.slice(1), scope)];
    case "ParameterExpansion":
      return [parameter(part, scope)];
    case "ArithmeticExpansion":
      findings.add("shell-expansion", "a sum is worked out");
      search(part, scope);
      return [unknown(true)];
    case "ProcessSubstitution":
      findings.add("process-substitution", "a command stands in place of a file");
      scope.enter(part.script);
      return [unknown(false)];
    case "CommandExpansion": {
      findings.add("command-substitution", "what a command prints becomes a part of another");
      const printed = scope.enter(part.script);
      return printed === undefined
        ? [unknown(true)]
        : [{ text: printed.replace(/\n+$/, ""), isExact: false, splits: true }];
    }
  }
}

/** Enters the scripts that lie anywhere inside a part. */
function search(node: SyntaxNode, scope: Scope): void {
  forEachChild(node, (child) => {
    if (child.type !== "Script") return search(child, scope);
    scope.findings.add("command-substitution", "what a command prints becomes a part of another");
    scope.enter(child);
  });
}

function exact(text: string): Piece {
  return { text, isExact: true, splits: false };
}

function unknown(splits: boolean): Piece {
  return { text: unknownMark, isExact: false, splits };
}

function quoted(piece: Piece): Piece {
  return { ...piece, splits: false };
}

function parameter(part: WordPart & { readonly type: "ParameterExpansion" }, scope: Scope): Piece {
  const { parameter: name, prefix, index, operation } = part;
  const known = variable(name, scope);
  if (operation === undefined && prefix === undefined && index === undefined) return known;
  if (operation?.type === "Default" && prefix === undefined && index === undefined) {
    const operand = textOfWord(operation.operand, scope);
    const takesOther = operation.operator.includes("+") ? known.text !== "" : known.text === "";
    const { text } = takesOther ? operand : known;
    if (operation.operator.endsWith("=") && takesOther) scope.variables.set(name, { text, isExact: false });
    return {
      text: operation.operator.includes("+") && !takesOther ? "" : text,
      isExact: false,
      splits: true,
    };
  }
  // The parser ends a pattern at the first slash, also at one inside a substitution: what is nested there is not seen.
  if (operation !== undefined && operation.type !== "Remove" && /[$<>]\(|`/.test(part.text)) {
    scope.findings.add("command-unreadable", "a command inside the pattern of a variable");
  }
  search(part, scope);
  return unknown(true);
}

/** A variable that nobody has set is empty: children get no others than those that are known here. */
function variable(name: string, scope: Scope): Piece {
  scope.findings.add("shell-expansion", `a variable is put in: ${name.slice(0, 40)}`);
  if (!/^[A-Za-z_]\w*$/.test(name) && !/^[@*\d]$/.test(name)) return unknown(true);
  const known = scope.variables.get(name);
  if (known !== undefined) return { text: known.text, isExact: false, splits: true };
  return { text: implied(name, scope), isExact: false, splits: true };
}

function implied(name: string, { home, cwd }: Scope): string {
  switch (name) {
    case "IFS":
      return " ";
    case "HOME":
      return home;
    case "PWD":
      return cwd;
    case "PATH":
    case "OLDPWD":
    case "RANDOM":
    case "REPLY":
    case "USER":
    case "UID":
      return unknownMark;
    default:
      return "";
  }
}

function bracesOf(text: string): Piece {
  const inner = /^\{([^{}"'`$\\]*,[^{}"'`$\\]*)\}$/.exec(text)?.[1];
  if (inner === undefined) return unknown(false);
  return { text: "", isExact: false, splits: false, others: inner.split(",") };
}
