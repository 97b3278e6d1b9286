/** `troupe catalog --explain`: which tools were discovered, are enabled and are told to a model, and why. */
import assert from "node:assert/strict";
import { type Line, onMcpStage, planned, trustAgent, withOwner, writeMcpAgent } from "./mcp_stage.ts";
import { assertRefused, linesOf, type Stage } from "./troupe.ts";

const inputSchema = { type: "object" };

/** An agent whose server has 60 tools; a step tells of five, one of them built in. */
async function writeAgent(stage: Stage): Promise<void> {
  const names = [
    ...Array.from({ length: 57 }, (_, at) => `list_gadget_${at}`),
    "get_refund",
    "delete_order",
    "search_pages",
  ];
  await stage.write({ "tools.json": JSON.stringify(names.map((name) => ({ name, inputSchema }))) });
  await writeMcpAgent(stage, {
    servers: { shop: planned(stage, { name: "shop", tools: stage.path("tools.json") }) },
    answers: [{ text: "done" }, { text: "done" }],
  });
  const agent = {
    name: "tester",
    model: "scripted/script.yaml",
    tools: ["read_file"],
    capabilities: ["fs.read", "mcp.connect:*", "mcp.call:*"],
    exposure: { tools_max: 5 },
    overrides: { "mcp.shop.search_pages": { enabled: false } },
  };
  await stage.write({ "agent/agent.yaml": JSON.stringify(agent) });
}

function rowOf(out: string, name: string): string {
  const row = out.split("\n").find((line) => line.startsWith(`${name} `));
  assert.ok(row !== undefined, `no ${name} in:\n${out}`);
  return row.replace(/ +/g, " ");
}

Deno.test("catalog explains which tools a session's model is told of, for people and for programs (AR-12, AR-13)", async () => {
  await onMcpStage(async (stage) => {
    await writeAgent(stage);
    await withOwner(stage, async ({ prompt, session }) => {
      await prompt("Give the refund for the order");
      const plain = await stage.run("catalog", session, "--explain");
      assert.match(
        rowOf(plain.out, "mcp.shop.get_refund"),
        /exposed it has to do with the prompt; score \d+, /,
      );
      assert.match(rowOf(plain.out, "read_file"), /exposed the agent lists it; /);
      assert.match(
        rowOf(plain.out, "mcp.shop.list_gadget_56"),
        /enabled the budget of tools is used up; score 0, /,
      );
      const off = rowOf(plain.out, "mcp.shop.search_pages");
      assert.match(off, /discovered overrides in agent\.yaml switch it off/);
      const risky = rowOf(plain.out, "mcp.shop.delete_order");
      assert.match(risky, /critical: the name says "delete", /);
      assert.match(risky, / auto mcp, mcp \(shop: mcp\/shop\.yaml\) mcp:dynamic [0-9a-f]{12}$/);
      assert.match(plain.err, /^61 discovered, 60 of them enabled, 5 of these told to the model$/m);

      const asked = await stage.output("catalog", session, "--explain", "--prompt", "Find gadget 56");
      assert.match(rowOf(asked, "mcp.shop.list_gadget_56"), /exposed it has to do with the prompt/);

      const [json] = linesOf(await stage.output("catalog", session, "--explain", "--json"));
      const tools = json?.["tools"] as readonly Line[];
      const refund = tools.find(({ entry }) => (entry as Line)["canonicalName"] === "mcp.shop.get_refund");
      assert.deepEqual([refund?.["set"], refund?.["reason"]], ["exposed", "relevant"]);
      assert.match(String((refund?.["entry"] as Line)["hash"]), /^sha256:/);

      // What is explained is what was told: the journal says the same.
      const told = linesOf(await stage.output("log", session, "--json"))
        .find(({ type }) => type === "turn.exposed")?.["body"] as Line;
      const names = tools.filter(({ set }) => set === "exposed").map(({ entry }) =>
        (entry as Line)["canonicalName"]
      );
      assert.deepEqual(told["names"], names);
      assert.match(await stage.output("log", session), /turn\.exposed .*5 /);
    });
    assertRefused(await stage.run("catalog", "agent", "--prompt", "x"), 2, "option_invalid", "--explain");
    assertRefused(await stage.run("catalog", "agent", "--refresh"), 2, "option_invalid", "session");
  });
});

Deno.test("catalog explains an agent that has not run: nothing is started for it (AR-12)", async () => {
  await onMcpStage(async (stage) => {
    await writeAgent(stage);
    await stage.output(...trustAgent);
    const plain = await stage.run("catalog", "./agent", "--explain");
    assert.match(rowOf(plain.out, "read_file"), /exposed all enabled tools fit the budget; /);
    assert.match(plain.err, /^1 discovered, 1 of them enabled, 1 of these told to the model$/m);
    assert.match(plain.err, /^Not shown: tools of the MCP servers shop/m);
  });
});
