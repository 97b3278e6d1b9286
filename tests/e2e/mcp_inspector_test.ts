/** MCP Inspector's CLI at `troupe serve --mcp`, where `npm install -g @modelcontextprotocol/inspector` has put it. */
import assert from "node:assert/strict";
import { ownProgram } from "../../src/host/own_program.ts";
import { onStage } from "./troupe.ts";

const self = ownProgram((name) => Deno.env.get(name));
const program = "mcp-inspector";

async function isThere(): Promise<boolean> {
  for (const folder of (Deno.env.get("PATH") ?? "").split(":")) {
    try {
      await Deno.stat(`${folder}/${program}`);
      return true;
    } catch { /* It is looked for in the next one. */ }
  }
  return false;
}

const canRun = await isThere();
if (!canRun) console.log(`MCP Inspector does not look at the server: there is no ${program} in PATH`);

Deno.test({
  name: "MCP Inspector's CLI lists the tools of troupe serve --mcp and calls one",
  ignore: !canRun,
  fn: () =>
    onStage(async (stage) => {
      const env = {
        ...self.env,
        PATH: Deno.env.get("PATH") ?? "",
        HOME: stage.folder,
        TROUPE_STORE: stage.path("store.db"),
        XDG_CONFIG_HOME: stage.path("config"),
        XDG_DATA_HOME: stage.path("data"),
      };
      const words = [self.command, ...self.args].map((word) => `'${word}'`).join(" ");
      await stage.write({ "troupe.sh": `#!/bin/sh\nexec ${words} "$@"\n` });
      const given = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
      const inspect = async (...asked: readonly string[]) => {
        const { code, stdout, stderr } = await new Deno.Command(program, {
          args: ["--cli", ...given, "sh", stage.path("troupe.sh"), "serve", "--mcp", "demo", ...asked],
          cwd: stage.folder,
          env,
        }).output();
        const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
        assert.equal(code, 0, `${out}\n${err}`);
        return JSON.parse(out ?? "");
      };
      const { tools } = await inspect("--method", "tools/list");
      assert.ok(tools.some(({ name }: { readonly name: string }) => name === "ask"));
      const asked = ["--tool-name", "spawn", "--tool-arg", "agent=demo"];
      const { structuredContent } = await inspect("--method", "tools/call", ...asked);
      assert.equal(structuredContent.is_new, true);
      assert.match(structuredContent.key, /^key_/);
    }),
});
