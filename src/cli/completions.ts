/** `troupe completions`. */
import { defineCommand } from "./cli.ts";
import { commands } from "./command.ts";
import { completionText, type Shell, shells } from "./completion_text.ts";
import { wordsOf } from "./completion_words.ts";
import { exitCodes, UsageError } from "./exit.ts";

/** Prints completions for a shell. */
export const command = defineCommand({
  // Said to be optional so that a missing name is answered with those that there are.
  args: ["[SHELL]"],
  about: [
    "Prints what a shell needs to complete the commands, options and their choices: for bash, zsh or fish.",
    "  bash   source <(troupe completions bash)                                     in ~/.bashrc",
    "  zsh    source <(troupe completions zsh)                                      in ~/.zshrc, behind compinit",
    "  fish   troupe completions fish > ~/.config/fish/completions/troupe.fish      once",
  ],
  options: {},
  examples: ["troupe completions bash", "troupe completions fish > ~/.config/fish/completions/troupe.fish"],
  run: async ({ cli, args: [shell] }) => {
    const known = `known: ${shells.join(", ")}`;
    if (shell === undefined) {
      throw new UsageError("argument_missing", `troupe completions needs the name of a shell; ${known}`);
    }
    if (!isShell(shell)) {
      throw new UsageError(
        "argument_invalid",
        `There are no completions for ${JSON.stringify(shell)}; ${known}`,
      );
    }
    cli.terminal.out.write(completionText[shell](await wordsOf(commands)));
    return exitCodes.ok;
  },
});

function isShell(name: string): name is Shell {
  return (shells as readonly string[]).includes(name);
}
