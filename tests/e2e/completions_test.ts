/** `troupe completions`: what shells are given, and what bash makes of it. */
import assert from "node:assert/strict";
import { assertRefused, onStage } from "./troupe.ts";

/** Asks the script as bash does when the tabulator is pressed behind these words. */
const ask = `
ask() {
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
  _troupe; echo "\${COMPREPLY[*]}"
}
`;

Deno.test("completions know every command, option and choice, and leave the rest to the shell", async () => {
  await onStage(async (stage) => {
    const script = await stage.output("completions", "bash");
    const cases: readonly (readonly [line: string, wanted: string])[] = [
      ["troupe rep", "replay"],
      ["troupe mcp rem", "remove"],
      ["troupe help compl", "completions"],
      ["troupe run ./a --answer ''", "allow deny wait"],
      ["troupe run --works", "--workspace"],
      ["troupe mcp add --np", "--npm"],
      ["troupe mcp add x --npm ''", ""],
      ["troupe run ''", ""],
      ["troupe nobody ''", await commandsOf(stage)],
      ["troupe ''", await commandsOf(stage)],
    ];
    const text = script + ask + cases.map(([line]) => `ask ${line}`).join("\n");
    const { success, stdout, stderr } = await new Deno.Command("bash", { args: ["-c", text] }).output();
    const decoder = new TextDecoder();
    assert.ok(success, decoder.decode(stderr));
    const answers = decoder.decode(stdout).split("\n");
    for (const [at, [line, wanted]] of cases.entries()) assert.equal(answers[at], wanted, line);
  });
});

async function commandsOf(stage: { output(...args: readonly string[]): Promise<string> }): Promise<string> {
  const help = await stage.output("--help");
  const lines = /\nCommands\n([^]*?)\n\n/.exec(help)?.[1]?.split("\n") ?? [];
  return [...lines.map((line) => line.trim().split(" ")[0]), "help"].join(" ");
}

Deno.test("completions of zsh and fish name the same commands, with what they do", async () => {
  await onStage(async (stage) => {
    const [zsh, fish] = [await stage.output("completions", "zsh"), await stage.output("completions", "fish")];
    assert.match(zsh, /^#compdef troupe\n/);
    assert.match(zsh, /'replay:replay a session or an exported file, and compare'/);
    assert.match(zsh, /"run --answer"\) compadd -- allow deny wait; return ;;/);
    assert.match(fish, /-n "__troupe_at ''" -a replay -d 'replay a session/);
    assert.match(fish, /-n "__troupe_at 'run'" -l answer -x -a "allow deny wait"/);
    assert.match(fish, /-n "__troupe_at 'mcp list'" -f\n/);
    assertRefused(await stage.run("completions"), 2, "argument_missing", "known: bash, zsh, fish");
    assertRefused(await stage.run("completions", "tcsh"), 2, "argument_invalid", "known: bash, zsh, fish");
  });
});
