/** What every command is given: its arguments, and all of the process that it may use. */
import type { OwnProgram } from "../mcp/connections.ts";
import type { Seams } from "../seams.ts";
import type { ExitCode } from "./exit.ts";
import type { OptionSpecs, OptionValues } from "./options.ts";
import type { Terminal } from "./terminal.ts";

/** Why the process is asked to end: `interrupt` is Ctrl-C, `terminate` comes from the system. */
export type Interrupt = "interrupt" | "terminate";

/** The process as commands see it. Made once, by `main.ts`. */
export interface Cli {
  readonly terminal: Terminal;
  readonly seams: Seams;
  /** A variable of the environment; undefined if it is absent or empty. */
  readonly env: (name: string) => string | undefined;
  readonly cwd: string;
  /** How this program is started once more. */
  readonly self: OwnProgram;
  /** Hears of Ctrl-C from now on, instead of dying of it. Returns how to stop. */
  readonly onInterrupt: (listener: (kind: Interrupt) => void) => () => void;
}

/** One call of a command. */
export interface Call<S extends OptionSpecs> {
  readonly cli: Cli;
  readonly options: OptionValues<S>;
  /** Arguments that are no options, as many as the command takes. */
  readonly args: readonly string[];
}

/** A command as a table of commands knows it. */
export interface CommandRow {
  /** One line for `--help`. */
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: Command }>;
}

/** What a command's file exports as `command`. */
export interface Command<S extends OptionSpecs = OptionSpecs> {
  /** Commands of its own, by the word that follows its name: `troupe mcp add`. */
  readonly commands?: { readonly [name: string]: CommandRow };
  /**
   * Arguments in order, for example `AGENT`; those in brackets, `[NAME]`, may be left out, and what ends in `...` stands
   * for any number.
   */
  readonly args: readonly string[];
  /** What the command does, for its `--help`: lines of at most 100 characters. */
  readonly about: readonly string[];
  readonly options: S;
  readonly examples: readonly string[];
  run(call: Call<S>): Promise<ExitCode>;
}

/** Checks a command's own types and forgets them, so that all commands fit one table. */
export function defineCommand<S extends OptionSpecs>(command: Command<S>): Command {
  return command as unknown as Command;
}

/** The option `--json`, the same everywhere. */
export const jsonOption = { kind: "flag", help: "print JSON, for programs" } as const;

/** The option `--debug`, for what names secrets that were taken out. */
export const debugOption = {
  kind: "flag",
  help:
    "with --json: fingerprints of the secrets that were taken out, which tell equal ones apart from others",
} as const;

/** The option `--store`, the same everywhere. */
export const storeOption = {
  kind: "text",
  value: "STORE",
  help: "a file, or a remote KV's address; default: $TROUPE_STORE, troupe.yaml, or the data folder",
} as const;
