/** The help texts, made from the tables. */
import type { Command, CommandRow } from "./cli.ts";
import { exitCodes, exitMeanings } from "./exit.ts";
import type { OptionSpec } from "./options.ts";
import type { Style } from "./style.ts";

/** `troupe --help`. */
export function helpOfAll(commands: { readonly [name: string]: CommandRow }, style: Style): string {
  const rows = Object.entries(commands).map(([name, { summary }]) => [name, summary] as const);
  const codes = Object.entries(exitMeanings).map(([name, meaning]) =>
    [String(exitCodes[name as keyof typeof exitCodes]), meaning] as const
  );
  return [
    "troupe runs AI agents as supervised, journaled, replayable actors.",
    "",
    style.bold("Usage"),
    "  troupe COMMAND [ARGUMENTS] [OPTIONS]",
    "  troupe COMMAND --help",
    "",
    style.bold("Commands"),
    ...columns(rows),
    "",
    style.bold("Examples"),
    "  troupe demo",
    '  troupe run demo "Look around"',
    '  troupe run ./my-agent "Explain src/main.ts" --workspace .',
    "  troupe log last",
    "  troupe replay last",
    "",
    style.bold("Exit codes"),
    ...columns(codes),
    "",
  ].join("\n");
}

/** `troupe COMMAND --help`. */
export function helpOf(name: string, row: CommandRow, command: Command, style: Style): string {
  const options = [
    ...Object.entries(command.options)
      .filter(([, { isHidden }]) => isHidden !== true)
      .map(([option, spec]) => [wordsOf(option, spec), spec.help] as const),
    ["--help, -h", "show this"] as const,
  ];
  return [
    `troupe ${name}: ${row.summary}.`,
    "",
    style.bold("Usage"),
    `  ${["troupe", name, ...command.args, "[OPTIONS]"].join(" ")}`,
    "",
    ...command.about,
    "",
    ...below(command, style),
    style.bold("Options"),
    ...columns(options),
    "",
    style.bold("Examples"),
    ...command.examples.map((example) => `  ${example}`),
    "",
  ].join("\n");
}

function below({ commands }: Command, style: Style): readonly string[] {
  if (commands === undefined) return [];
  const rows = Object.entries(commands).map(([name, { summary }]) => [name, summary] as const);
  return [style.bold("Commands"), ...columns(rows), ""];
}

function wordsOf(name: string, spec: OptionSpec): string {
  const short = spec.short === undefined ? "" : `, -${spec.short}`;
  if (spec.kind === "flag") return `--${name}${short}`;
  return `--${name}${short} ${spec.kind === "choice" ? spec.choices.join("|") : spec.value}`;
}

function columns(rows: readonly (readonly [left: string, right: string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
