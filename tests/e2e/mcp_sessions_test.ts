/** Two sessions of one owner whose servers have the same name: each sees and reaches its own. */
import assert from "node:assert/strict";
import { callOf, linesIn, onMcpStage, planned, withOwner, writeMcpAgent } from "./mcp_stage.ts";
import type { Stage } from "./troupe.ts";

interface Listed {
  readonly entries: readonly {
    readonly canonicalName: string;
    readonly definition: { readonly title: string };
  }[];
}

/** An agent whose server `docs` has a tool that the other agent's has not, and one that both have. */
async function writeAgent(stage: Stage, own: string, foreign: string): Promise<void> {
  const inputSchema = { type: "object" };
  const tools = [{ name: own, inputSchema }, { name: "search", title: `Search of ${own}`, inputSchema }];
  await stage.write({ [`${own}.json`]: JSON.stringify(tools) });
  const plan = { name: own, tools: stage.path(`${own}.json`), ledger: stage.path(`${own}.ledger`) };
  await writeMcpAgent(stage, {
    folder: own === "alpha" ? "agent" : own,
    servers: { docs: planned(stage, plan) },
    answers: [
      { calls: [callOf(`docs__${own}`), callOf("docs__search"), callOf(`docs__${foreign}`)] },
      { expect: "No tool is named", text: "done" },
    ],
  });
}

Deno.test("MCP tools are those of the session's own servers: there is no index of their names for all (DM-15)", async () => {
  await onMcpStage(async (stage) => {
    await writeAgent(stage, "alpha", "beta");
    await writeAgent(stage, "beta", "alpha");
    await withOwner(stage, async ({ session, prompt, begin }) => {
      const other = await begin("beta");
      const ended = await Promise.all([prompt("go"), other.prompt("go")]);
      assert.deepEqual(ended.map(({ outcome, text }) => [outcome, text]), [
        ["completed", "done"],
        ["completed", "done"],
      ]);
      for (const [own, root] of [["alpha", session], ["beta", other.session]] as const) {
        assert.deepEqual((await linesIn(stage.path(`${own}.ledger`))).map(({ tool }) => tool), [
          own,
          "search",
        ]);
        const { entries } = JSON.parse(await stage.output("catalog", root, "--json")) as Listed;
        assert.deepEqual(entries.map(({ canonicalName, definition: { title } }) => [canonicalName, title]), [
          [`mcp.docs.${own}`, own],
          ["mcp.docs.search", `Search of ${own}`],
        ]);
      }
    });
  });
});
