/** What a shell may complete: every command with its options, read from the tables that the command line itself uses. */
import type { CommandRow } from "./cli.ts";
import type { OptionSpec } from "./options.ts";

/** One command. */
export interface Words {
  /** The words by which it is called, `mcp add`; empty for troupe itself. */
  readonly path: string;
  readonly commands: readonly Described[];
  readonly options: readonly Described[];
  /** Values of options that take one of a few, by the option. */
  readonly choices: ReadonlyMap<string, readonly string[]>;
  /** Options that take any other value: a file, say. */
  readonly valued: readonly string[];
  /** True if an argument may stand where no option does. */
  readonly takesArgs: boolean;
}

/** A word, and what it means. */
export interface Described {
  readonly word: string;
  readonly about: string;
}

type Table = { readonly [name: string]: CommandRow };

/** Reads a table, and all tables below it. */
export async function wordsOf(table: Table): Promise<readonly Words[]> {
  const top: Words = {
    path: "",
    commands: [...rowsOf(table), { word: "help", about: "show the help of a command" }],
    options: [{ word: "--help", about: "show the help" }, { word: "--version", about: "print the version" }],
    choices: new Map(),
    valued: [],
    takesArgs: false,
  };
  return [top, ...await below(table, "")];
}

async function below(table: Table, before: string): Promise<readonly Words[]> {
  const found = await Promise.all(
    Object.entries(table).map(async ([name, row]) => {
      const path = `${before}${name}`;
      const { command } = await row.load();
      const specs = Object.entries(command.options).filter(([, { isHidden = false }]) => !isHidden);
      const own: Words = {
        path,
        commands: rowsOf(command.commands ?? {}),
        options: [...specs.map(describe), { word: "--help", about: "show the help" }],
        choices: new Map(specs.flatMap(([option, spec]) => choicesOf(`--${option}`, spec))),
        valued: specs.flatMap(([option, { kind }]) =>
          kind === "text" || kind === "number" ? [`--${option}`] : []
        ),
        takesArgs: command.args.some((arg) => arg !== "[COMMAND]"),
      };
      return [own, ...await below(command.commands ?? {}, `${path} `)];
    }),
  );
  return found.flat();
}

function rowsOf(table: Table): readonly Described[] {
  return Object.entries(table).map(([word, { summary }]) => ({ word, about: summary }));
}

function describe([name, { help }]: readonly [name: string, spec: OptionSpec]): Described {
  return { word: `--${name}`, about: help };
}

function choicesOf(word: string, spec: OptionSpec): readonly (readonly [string, readonly string[]])[] {
  return spec.kind === "choice" ? [[word, spec.choices]] : [];
}
