/** Programs and words of the shell that run a text as commands: which text. */
import type { CommandRule } from "../../schemas/command_review.ts";
import { type Field, unknownMark } from "./field.ts";

const shells: ReadonlySet<string> = new Set("ash bash csh dash fish ksh mksh rbash sh tcsh zsh".split(" "));

/** What a shell is to run. */
export interface ShellText {
  /** Texts that are commands. */
  readonly texts: readonly string[];
  readonly findings: readonly (readonly [rule: CommandRule, why: string])[];
  /** True if its arguments are no paths. */
  readonly isWhole: boolean;
}

/** What a shell, or a word like `eval`, is to run; undefined for all other programs. */
export function shellText(
  program: string,
  args: readonly Field[],
  feed: { readonly input: string | undefined; readonly isFed: boolean },
): ShellText | undefined {
  const texts = args.map(({ text }) => text);
  switch (program) {
    case "eval":
      return textual([texts.join(" ")], "eval runs a text as a command");
    case "trap": {
      const [action = "-"] = texts.filter((one) => one !== "--");
      return textual(action === "-" || /^-[lp]$/.test(action) ? [] : [action], "trap runs a text later");
    }
    case "alias":
      return textual(texts.flatMap((one) => /=(.*)$/s.exec(one)?.[1] ?? []), "alias gives a text a name");
    case ".":
    case "source":
      return { texts: [], findings: [["project-code-execution", "runs a file as commands"]], isWhole: false };
    default:
      return shells.has(program) ? shellOf(texts, feed) : undefined;
  }
}

function textual(texts: readonly string[], why: string): ShellText {
  const findings: (readonly [CommandRule, string])[] = [["complex-shell", why]];
  if (texts.some((one) => one.includes(unknownMark))) findings.push(hidden);
  return { texts, findings, isWhole: true };
}

const hidden = ["project-code-execution", "what is run is known only when it is"] as const;

function shellOf(
  args: readonly string[],
  { input, isFed }: { readonly input: string | undefined; readonly isFed: boolean },
): ShellText {
  const { takesText, readsInput, rest, startup } = optionsOf(args);
  const own: (readonly [CommandRule, string])[] = startup
    ? [["project-code-execution", "a shell that reads a file as it starts"]]
    : [];
  const [operand] = rest;
  if (takesText) {
    const made = textual(operand === undefined ? [] : [operand], "starts a shell of its own");
    return { ...made, findings: [...made.findings, ...own] };
  }
  if (operand !== undefined && !readsInput) {
    return {
      texts: [],
      findings: [["project-code-execution", "a shell runs a file"], ...own],
      isWhole: false,
    };
  }
  const isHidden = input === undefined ? isFed : input.includes(unknownMark);
  const made = textual(input === undefined ? [] : [input], "starts a shell that runs what it reads");
  return { ...made, findings: [...made.findings, ...(isHidden ? [hidden] : []), ...own] };
}

function optionsOf(args: readonly string[]) {
  let takesText = false;
  let readsInput = false;
  let startup = false;
  for (let place = 0; place < args.length; place++) {
    const one = args[place] ?? "";
    if (one === "--" || one === "-") return { takesText, readsInput, startup, rest: args.slice(place + 1) };
    if (!/^[-+]./.test(one)) return { takesText, readsInput, startup, rest: args.slice(place) };
    if (one.startsWith("--")) {
      if (/^--(?:rcfile|init-file|login|interactive)/.test(one)) startup = true;
      if (/^--(?:rcfile|init-file)$/.test(one)) place += 1;
      if (/^--command(?:=|$)/.test(one)) takesText = true;
      continue;
    }
    if (one.includes("c")) takesText = true;
    if (one.includes("s")) readsInput = true;
    if (/[li]/.test(one)) startup = true;
    if (/[oO]$/.test(one)) place += 1;
  }
  return { takesText, readsInput, startup, rest: [] };
}
