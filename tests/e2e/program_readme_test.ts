/** README's program that brings tools: run as it is written, over the pipe of the troupe that it starts. */
import assert from "node:assert/strict";
import { ownProgram } from "../../src/host/own_program.ts";

const self = ownProgram((name) => Deno.env.get(name));
const root = new URL("../../", import.meta.url).pathname;

Deno.test({
  name: "README's program brings a tool to an agent, and is called for it (CM-33, CM-109)",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const readme = await Deno.readTextFile(`${root}README.md`);
    const [, section = ""] = readme.split("\n## A program that brings tools\n");
    const [body = ""] = section.split("\n## ");
    const [shell = "", program = "", ...more] = [...body.matchAll(/```\w+\n([^]*?)```/g)].map((
      [, one = ""],
    ) => one);
    assert.deepEqual(more, []);
    const folder = await Deno.makeTempDir();
    try {
      await Deno.mkdir(`${folder}/bin`);
      const words = [self.command, ...self.args].map((word) => `'${word}'`).join(" ");
      await Deno.writeTextFile(`${folder}/bin/troupe`, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
      const source = program.replace("@troupe/troupe/client", `${root}src/client.ts`);
      await Deno.writeTextFile(`${folder}/program.ts`, source);
      const env = {
        ...self.env,
        PATH: `${folder}/bin:${Deno.env.get("PATH")}`,
        TROUPE_STORE: `${folder}/store.db`,
        XDG_CONFIG_HOME: `${folder}/config`,
        XDG_DATA_HOME: `${folder}/data`,
      };
      const made = await new Deno.Command("sh", { args: ["-euc", shell], cwd: folder }).output();
      assert.equal(made.code, 0, new TextDecoder().decode(made.stderr));
      const args = ["run", "-A", "--quiet", "--no-check", "--config", `${root}deno.json`, "program.ts"];
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: folder, env })
        .output();
      const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
      assert.equal(code, 0, err);
      assert.match(out ?? "", /^looked for order 7$/m);
      assert.match(out ?? "", /^completed Order 7 is on its way\.$/m);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
