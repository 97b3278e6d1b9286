/** README's Python program that starts troupe as its child: run as it is written. */
import assert from "node:assert/strict";
import { ownProgram } from "../../src/host/own_program.ts";

const self = ownProgram((name) => Deno.env.get(name));

async function hasPython(): Promise<boolean> {
  try {
    return (await new Deno.Command("python3", { args: ["--version"], stdout: "null", stderr: "null" })
      .output()).success;
  } catch {
    return false;
  }
}

const isPosix = Deno.build.os !== "windows";
const canRun = isPosix && await hasPython();
if (isPosix && !canRun) console.log("README's Python program is not run: there is no python3 in PATH");

Deno.test({
  name: "README's Python program spawns, asks and watches an agent over a pipe, with what Python comes with",
  ignore: !canRun,
  fn: async () => {
    const readme = await Deno.readTextFile(new URL("../../README.md", import.meta.url));
    const [, section = ""] = readme.split("\n## From another program\n");
    const [, program = ""] = /```python\n([^]*?)```/.exec(section.split("\n## ")[0] ?? "") ?? [];
    const folder = await Deno.makeTempDir();
    try {
      await Deno.mkdir(`${folder}/bin`);
      const words = [self.command, ...self.args].map((word) => `'${word}'`).join(" ");
      await Deno.writeTextFile(`${folder}/bin/troupe`, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
      await Deno.writeTextFile(`${folder}/program.py`, program);
      const { code, stdout, stderr } = await new Deno.Command("python3", {
        args: ["program.py"],
        cwd: folder,
        env: {
          ...self.env,
          PATH: `${folder}/bin:${Deno.env.get("PATH")}`,
          TROUPE_STORE: `${folder}/store.db`,
          XDG_CONFIG_HOME: `${folder}/config`,
          XDG_DATA_HOME: `${folder}/data`,
        },
      }).output();
      const text = new TextDecoder().decode(stdout);
      assert.equal(code, 0, text + new TextDecoder().decode(stderr));
      assert.match(text, /^completed \S/m);
      assert.match(text, /^called \w+/m);
      assert.match(text, /^ended 0$/m);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
