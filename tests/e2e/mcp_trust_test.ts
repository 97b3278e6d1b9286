/** How far a server is trusted, who says so, where it is seen, and what it changes. */
import assert from "node:assert/strict";
import { type Line, linesIn, onMcpStage, planned, writeMcpAgent } from "./mcp_stage.ts";
import { assertRefused, linesOf, type Stage } from "./troupe.ts";

const place = ["--agent", "agent", "--workspace", "ws"];
const inputSchema = { type: "object", properties: {} };
/** What a server says of itself that nobody has looked into. */
const safe = { readOnlyHint: true, idempotentHint: true, destructiveHint: false };

async function writeServer(stage: Stage, more: Line = {}): Promise<void> {
  const tools = ["read_page", "make_page"].map((name) => ({ name, inputSchema, annotations: safe }));
  await stage.write({ "tools.json": JSON.stringify(tools) });
  const plan = { name: "docs", tools: stage.path("tools.json"), ledger: stage.path("ledger") };
  await writeMcpAgent(stage, {
    servers: { docs: planned(stage, plan, { risk: "low", ...more }) },
    capabilities: ["mcp.connect:docs", "mcp.call:docs"],
    answers: [],
  });
}

function trust(stage: Stage, ...more: readonly string[]) {
  return stage.output("mcp", "trust", "docs", ...place, "--yes", ...more);
}

/** The level that the list shows, and what a session's catalog says of the two tools. */
async function seen(stage: Stage) {
  const [listed] = linesOf(await stage.output("mcp", "list", ...place, "--json"));
  await stage.run("mcp", "call", "docs", "read_page", ...place, "--answer", "allow");
  const { entries } = JSON.parse(await stage.output("catalog", "last", "--json"));
  const rated = entries.filter(({ canonicalName }: Line) => /^mcp\.docs\./.test(String(canonicalName))).map(
    (one: { readonly provenance: Line; readonly definition: Line }) => {
      const { riskLevel, effectClass, sideEffects } = one.definition;
      assert.deepEqual([effectClass, sideEffects], ["non_idempotent", true]);
      return `${one.provenance["trust"]} ${riskLevel}`;
    },
  );
  return [listed?.["trust"], ...rated];
}

Deno.test("server is of unknown trust until an operator trusts it, and audited once he says so: that rates its tools, its own words do not (AR-8, AR-10)", async () => {
  await onMcpStage(async (stage) => {
    await writeServer(stage);
    assert.deepEqual(await seen(stage), ["unknown", "unknown high", "unknown medium"]);
    await trust(stage);
    assert.deepEqual(await seen(stage), ["third_party", "third_party medium", "third_party medium"]);
    assert.match(await trust(stage, "--level", "team_audited"), /^docs \(trusted as third_party\)$/m);
    assert.deepEqual(await seen(stage), ["team_audited", "team_audited medium", "team_audited low"]);
    // Trusting once more, without a word about how far, changes nothing.
    assert.match(await trust(stage), /^docs \(trusted as team_audited\)\n[^]*Trusted already/m);

    assert.match(await stage.output("trust"), /^docs +\S+ \S+ +team_audited /m);
    assert.match(await stage.output("mcp", "check", "docs", ...place), /^ {2}trust +team_audited$/m);
    assert.match(await stage.output("inspect", "last"), /^mcp\.docs\.read_page +\w+ +team_audited /m);

    await trust(stage, "--level", "third_party");
    assert.deepEqual(await seen(stage), ["third_party", "third_party medium", "third_party medium"]);
    // What was audited is this declaration, and no other.
    await trust(stage, "--level", "team_audited");
    await writeServer(stage, { env: { MODE: "other" } });
    assert.deepEqual(await seen(stage), ["unknown", "unknown high", "unknown medium"]);
    assertRefused(
      await stage.run("mcp", "trust", "docs", ...place, "--yes", "--level", "trusted_local"),
      2,
      "option_invalid",
      "team_audited or third_party",
    );
  });
});

Deno.test("policy that ends at a risk lets the reading tools of an audited server pass, and no others (AR-8)", async () => {
  await onMcpStage(async (stage) => {
    await stage.write({ "config/troupe/troupe.yaml": "policy: { risk_ceiling: low }\n" });
    await writeServer(stage);
    await trust(stage);
    const call = (name: string) => stage.run("mcp", "call", "docs", name, ...place);
    assertRefused(await call("read_page"), 1, "policy_denied", "read_page");
    await trust(stage, "--level", "team_audited");
    assert.match((await call("read_page")).out, /^docs found/);
    assertRefused(await call("make_page"), 1, "policy_denied", "make_page");
    assert.deepEqual((await linesIn(stage.path("ledger"))).map(({ tool }) => tool), ["read_page"]);
  });
});
