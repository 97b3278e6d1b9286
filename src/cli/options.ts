/** Options of commands: strict, typed by their table, and with a hint for what was probably meant. */
import { nearest } from "../../actors/nearest.ts";
import { UsageError } from "./exit.ts";

interface Described {
  /** One line for `--help`. */
  readonly help: string;
  /** One letter, without its dash. */
  readonly short?: string;
  /** True for what no user needs: it works, and `--help` says nothing of it. */
  readonly isHidden?: boolean;
}

/** One option: a flag, or one that takes a value, shown as `value` in `--help`. */
export type OptionSpec =
  | Described & { readonly kind: "flag" }
  | Described & { readonly kind: "text"; readonly value: string }
  /** May be given more than once. */
  | Described & { readonly kind: "list"; readonly value: string }
  | Described & { readonly kind: "number"; readonly value: string; readonly min: number }
  | Described & { readonly kind: "choice"; readonly choices: readonly string[] };

/** The options of one command by name, without their dashes. */
export interface OptionSpecs {
  readonly [name: string]: OptionSpec;
}

type ValueOf<O> = O extends { readonly kind: "flag" } ? boolean
  : O extends { readonly kind: "list" } ? readonly string[]
  : O extends { readonly kind: "number" } ? number | undefined
  : O extends { readonly choices: readonly (infer C)[] } ? C | undefined
  : string | undefined;

/** The values of a command's options; a flag that was not given is false, any other is undefined. */
export type OptionValues<S> = { readonly [K in keyof S]: ValueOf<S[K]> };

/** What was given on the command line, sorted. */
export interface Parsed<S> {
  readonly options: OptionValues<S>;
  readonly args: readonly string[];
}

/** Sorts arguments by a table of options. `--` ends the options. Throws {@linkcode UsageError}. */
export function parseOptions<S extends OptionSpecs>(argv: readonly string[], specs: S): Parsed<S> {
  const values = new Map<string, string | number | boolean>();
  const lists = new Map<string, string[]>();
  const args: string[] = [];
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? "";
    if (word === "--") {
      args.push(...argv.slice(at + 1));
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      args.push(word);
      continue;
    }
    const { name, spec, shown, inline } = find(word, specs);
    if (values.has(name) && spec.kind !== "list") {
      throw new UsageError("option_repeated", `The option ${shown} is given twice: give it once`);
    }
    // `--store --json` is a forgotten value, not a file of that name; `--store=--json` says it is one.
    const isNext = spec.kind !== "flag" && inline === undefined && argv[at + 1]?.startsWith("--") === false;
    const value = valueOf(spec, isNext ? argv[++at] : inline, shown);
    values.set(name, value);
    if (spec.kind === "list") lists.set(name, [...lists.get(name) ?? [], String(value)]);
  }
  const options: { [name: string]: unknown } = {};
  for (const [name, spec] of Object.entries(specs)) {
    options[name] = spec.kind === "list"
      ? lists.get(name) ?? []
      : values.get(name) ?? (spec.kind === "flag" ? false : undefined);
  }
  return { options: options as OptionValues<S>, args };
}

interface Found {
  readonly name: string;
  readonly spec: OptionSpec;
  /** The option as it was written, without its value. */
  readonly shown: string;
  /** What stands behind `=`. */
  readonly inline: string | undefined;
}

function find(word: string, specs: OptionSpecs): Found {
  const equals = word.indexOf("=");
  const shown = equals < 0 ? word : word.slice(0, equals);
  const inline = equals < 0 ? undefined : word.slice(equals + 1);
  const isLong = shown.startsWith("--");
  const given = shown.slice(isLong ? 2 : 1);
  const name = isLong ? given : Object.keys(specs).find((one) => specs[one]?.short === given);
  const spec = name !== undefined && Object.hasOwn(specs, name) ? specs[name] : undefined;
  if (name !== undefined && spec !== undefined) return { name, spec, shown, inline };
  const near = nearest(given, Object.keys(specs).filter((one) => specs[one]?.isHidden !== true));
  const hint = near === undefined ? "see --help" : `did you mean --${near}?`;
  throw new UsageError("option_unknown", `There is no option ${JSON.stringify(shown)}: ${hint}`);
}

function valueOf(spec: OptionSpec, text: string | undefined, shown: string): string | number | boolean {
  if (spec.kind === "flag") {
    if (text === undefined) return true;
    throw new UsageError("option_invalid", `The option ${shown} takes no value`);
  }
  const wanted = spec.kind === "choice" ? spec.choices.join(" or ") : spec.value;
  if (text === undefined || text === "") {
    throw new UsageError("option_invalid", `The option ${shown} needs a value: ${wanted}`);
  }
  if (spec.kind === "text" || spec.kind === "list") return text;
  if (spec.kind === "choice") {
    if (spec.choices.includes(text)) return text;
    throw new UsageError(
      "option_invalid",
      `The option ${shown} takes ${wanted}, not ${JSON.stringify(text)}`,
    );
  }
  const number = Number(text);
  if (/^[0-9]+$/.test(text) && Number.isSafeInteger(number) && number >= spec.min) return number;
  throw new UsageError("option_invalid", `The option ${shown} takes a whole number of at least ${spec.min}`);
}
