/** Programs that only look, unless they are told to do more (B31, B32). */
import type { CommandRule } from "../../schemas/command_review.ts";
import { hasOption, operandsOf } from "./options.ts";

/** What one of {@linkcode readers} does besides looking; undefined if nothing. */
export function beyondReading(
  program: string,
  args: readonly string[],
): readonly [rule: CommandRule, why: string] | undefined {
  switch (program) {
    case "sed":
      return editing(args);
    case "sort":
      if (hasOption(args, "compress-program")) return ["project-code-execution", "sort runs a program"];
      return hasOption(args, "output", "o") ? ["file-write", "sort writes its result to a file"] : undefined;
    case "rg":
      return hasOption(args, "pre") || hasOption(args, "hostname-bin")
        ? ["project-code-execution", "rg runs a program"]
        : undefined;
    case "tree":
      return hasOption(args, "", "o") ? ["file-write", "tree writes its result to a file"] : undefined;
    case "uniq":
      return operandsOf(args, ["-f", "-s", "-w"]).length > 1
        ? ["file-write", "uniq writes to its second file"]
        : undefined;
    case "xxd":
      return operandsOf(args, ["-c", "-g", "-l", "-o", "-s", "-n"]).length > 1
        ? ["file-write", "xxd writes to its second file"]
        : undefined;
    case "file":
      return hasOption(args, "compile", "C") ? ["file-write", "file writes a list of kinds"] : undefined;
    case "date":
      return hasOption(args, "set", "s") ||
          operandsOf(args, ["-d", "-f", "-r"]).some((one) => !one.startsWith("+"))
        ? ["unknown-command", "date sets the clock"]
        : undefined;
    case "hostname":
      return operandsOf(args).length > 0 || hasOption(args, "file", "F")
        ? ["unknown-command", "hostname gives the machine a name"]
        : undefined;
    default:
      return undefined;
  }
}

/** Of the editor's commands, these only print: lines by number, and replacements without a flag that runs or writes. */
const printing =
  /^(?:(?:\d+|\$)?(?:,(?:\d+|\$))?[pdq=]|s([/|#,])(?:(?!\1)[^\\\n]|\\[^\n])*\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gpiI0-9]*)$/;

function editing(args: readonly string[]): readonly [CommandRule, string] | undefined {
  if (hasOption(args, "in-place", "i")) return ["file-write", "sed changes files in place"];
  if (hasOption(args, "file", "f")) return ["project-code-execution", "sed takes its commands from a file"];
  const given = args.flatMap((one, place) =>
    args[place - 1] === "-e" || args[place - 1] === "--expression" ? [one] : []
  );
  const [first] = operandsOf(args, ["-e", "--expression", "-l", "--line-length"]);
  const scripts = [
    ...given,
    ...args.flatMap((one) => /^(?:--expression=|-e(?=.))(.*)$/s.exec(one)?.[1] ?? []),
  ];
  const all = scripts.length > 0 ? scripts : first === undefined ? [] : [first];
  return all.every((one) => printing.test(one.trim()))
    ? undefined
    : ["file-write", "sed has commands that may write files or run programs"];
}
