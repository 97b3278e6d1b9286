/** Has a program run tools of an agent's own, in jails that are the program itself: one that works, and some that would do harm. */
import { runProcess } from "./process.ts";
import type { Program, Tell } from "./scenario.ts";

/** A tool by its name: what stands in its file, and what must be seen of its call. */
interface Tool {
  readonly body: string;
  readonly sees: RegExp;
}

const tools: { readonly [name: string]: Tool } = {
  counts: {
    body: "(await ctx.files.read('agent.yaml')).split('\\n').length as number",
    sees: /\b5\b/,
  },
  reaches: { body: "Deno.readTextFileSync('/etc/passwd')", sees: /Requires read access/ },
  calls_out: {
    body: "await fetch('http://127.0.0.1:1/')",
    sees: /Requires net access|not defined|not a function/,
  },
  starts: {
    body: "new Deno.Command('/bin/true').outputSync()",
    sees: /Requires run access|not a constructor|undefined/,
  },
  makes_code: { body: "new Function('return 40 + 2')()", sees: /Code generation from strings/ },
  fills_heap: {
    body:
      "await (async () => { const all = []; for (;;) all.push(new Array(1_000_000).fill(all.length)); })()",
    sees: /jail|ended|memory/,
  },
};

/** Trusts them, and calls each. True if all went as it must. */
export async function playAuthored(program: Program, tell: Tell): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-tools-" });
  const start = (...args: readonly string[]) =>
    runProcess({
      command: program.command,
      args: [...program.args, ...args],
      cwd: folder,
      env: { HOME: folder, NO_COLOR: "1", ...program.env },
      isCleared: true,
    });
  try {
    await Deno.mkdir(`${folder}/agent/tools`, { recursive: true });
    const agent = "name: maker\nmodel: scripted/script.yaml\ncapabilities: [fs.read, 'tool.call:*']\n\n";
    await Deno.writeTextFile(`${folder}/agent/agent.yaml`, agent);
    await Deno.writeTextFile(`${folder}/agent/script.yaml`, "answers: [{ text: none }]\n");
    for (const [name, { body }] of Object.entries(tools)) {
      const text = `export default defineTool(({ z }) => ({
  name: "${name}", description: "Tries one thing", input: z.object({}),
  permissions: { read: ["."] },
  execute: async (_: object, ctx) => (${body}),
}));
`;
      await Deno.writeTextFile(`${folder}/agent/tools/${name}.ts`, text);
    }
    const trusted = await start("trust", "./agent", "--yes");
    let isWell = trusted.code === 0;
    if (!isWell) tell("tools are trusted", `exit code ${trusted.code}\n${trusted.out}${trusted.err}`);
    for (const [name, { sees }] of Object.entries(tools)) {
      const { code, out, err } = await start("call", "./agent", name, "{}", "--workspace", "./agent");
      const isRight = sees.test(out + err) && (code === 0) === (name === "counts");
      tell(`the agent's own tool ${name}`, isRight ? undefined : `exit code ${code}\n${out}${err}`.trim());
      isWell &&= isRight;
    }
    return isWell;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
