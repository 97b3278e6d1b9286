/** MCP servers that come, go and change between turns; the turn that runs sees nothing of it. */
import assert from "node:assert/strict";
import {
  bodiesOf,
  callOf,
  declare,
  entriesOf,
  findMarked,
  firstTurn,
  type Line,
  linesIn,
  markOf,
  nextTurn,
  onMcpStage,
  planned,
  testProcesses,
  theMarked,
  untilCalled,
  untilNone,
  withOwner,
  writeMcpAgent,
} from "./mcp_stage.ts";
import type { Stage } from "./troupe.ts";

/** When a session asked for its catalog anew, and when its turns ended, in the order of its journal. */
function stepsIn(entries: readonly Line[]): readonly string[] {
  return entries.flatMap(({ kind, type, body }) => {
    if (kind === "message" && type === "catalog.renew") return ["renewal"];
    const value = kind === "reply" ? (body as Line)["value"] as Line : {};
    return value["turn"] === undefined ? [] : [`end of turn ${value["turn"]}`];
  });
}

/** The epochs of a session's catalogs, each once, in the order of its journal. */
function epochsIn(entries: readonly Line[]): readonly unknown[] {
  const issued = bodiesOf(entries, "input", "catalog.issued").map(({ message }) => message as Line);
  return [...new Set(issued.map(({ catalog }) => (catalog as Line)["epoch"]))];
}

// AR-42, AR-43
Deno.test("server that was added is seen by the next turn, its calls pass capability and approval; one that was removed is unknown (AR-42, AR-43)", async () => {
  await onMcpStage(async (stage) => {
    const docs = planned(stage, { name: "docs", started: stage.path("docs") });
    await writeMcpAgent(stage, {
      servers: { docs },
      capabilities: ["mcp.connect:*", "mcp.call:docs", "mcp.call:more", "mcp.call:asks"],
      answers: [
        { calls: [callOf("docs__search"), callOf("more__search")] },
        { text: "first" },
        { calls: ["docs", "more", "asks", "other"].map((server) => callOf(`${server}__search`)) },
        { text: "second" },
        { calls: [callOf("docs__search"), callOf("more__search")] },
        { text: "second" },
      ],
    });
    const first = await stage.run(...firstTurn, "--answer", "allow");
    assert.match(first.out, /✗ more__search {2}not_found/);
    assert.match(first.out, /✓ mcp\.docs\.search .* docs found [^]*first\nturn 1 completed/);

    const ledger = stage.path("other");
    await declare(stage, {
      more: planned(stage, { name: "more" }),
      asks: planned(stage, { name: "asks" }, { approval_policy: "prompt" }),
      other: planned(stage, { name: "other", ledger }),
    });
    const second = await stage.run(...nextTurn, "--answer", "allow");
    for (const server of ["docs", "more", "asks"]) {
      assert.match(second.out, new RegExp(`✓ mcp\\.${server}\\.search .* ${server} found`), second.err);
    }
    assert.equal(second.out.match(/^ {2}\? /gm)?.length, 1);
    assert.match(second.out, /\? mcp\.asks\.search {2}allow by operator local/);
    assert.match(second.out, /✗ other__search {2}denied {2}.* needs the capability "mcp\.call:other"/);
    assert.deepEqual(await linesIn(ledger), []);

    for (const server of ["docs", "asks", "other"]) await Deno.remove(stage.path(`agent/mcp/${server}.yaml`));
    const third = await stage.run(...nextTurn, "--answer", "allow");
    assert.match(third.out, /✗ docs__search {2}not_found/);
    assert.match(third.out, /✓ mcp\.more\.search .* more found/);
    assert.equal((await linesIn(stage.path("docs"))).length, 2);
    assert.deepEqual(epochsIn(await entriesOf(stage, "last")), [1, 2, 3, 4]);
    const replayed = await stage.output("replay", "last", "--strict");
    assert.equal(replayed.match(/no divergence/g)?.length, 6, replayed);
  });
});

// AR-42
testProcesses(
  "turn that runs sees no change of its servers, the next one does, and a removed server ends at once (AR-42)",
  async (stage) => {
    const ledger = stage.path("ledger");
    await writeMcpAgent(stage, {
      servers: { docs: planned(stage, { name: "docs", ledger }, { approval_policy: "prompt" }) },
      answers: [
        { calls: [callOf("docs__wait", { file: stage.path("go") })] },
        { expect: "docs found", calls: [callOf("more__search")] },
        { expect: "not_found", text: "first" },
        { calls: [callOf("more__search")] },
        { expect: "more found", text: "second" },
        { calls: [callOf("docs__search")] },
        { expect: "not_found", calls: [callOf("more__search")] },
        { expect: "more found", text: "third" },
      ],
    });
    await withOwner(stage, async (held) => {
      const running = held.prompt("one");
      await untilCalled(ledger);
      await declare(stage, { more: planned(stage, { name: "more" }) });
      await held.redeclare();
      await stage.write({ go: "" });
      const first = await running;
      assert.deepEqual([first.outcome, first.text], ["completed", "first"], first.failure?.message);
      assert.deepEqual(findMarked(markOf(stage, "more")), []);
      const second = await held.prompt("two");
      assert.deepEqual([second.outcome, second.text], ["completed", "second"], second.failure?.message);
      const [docs, more] = ["docs", "more"].map((server) => theMarked(markOf(stage, server)));

      await Deno.remove(stage.path("agent/mcp/docs.yaml"));
      await held.redeclare();
      await untilNone(markOf(stage, "docs"));
      assert.deepEqual(findMarked(markOf(stage)), [more]);
      assert.notEqual(docs, more);
      const third = await held.prompt("three");
      assert.deepEqual([third.outcome, third.text], ["completed", "third"], third.failure?.message);
    });
    assert.deepEqual(findMarked(markOf(stage)), []);
    assert.deepEqual(
      stepsIn(await entriesOf(stage, "last")),
      [1, 2, 3].flatMap((turn) => ["renewal", `end of turn ${turn}`]),
    );
    assert.match(await stage.output("replay", "last", "--strict"), /no divergence/);
  },
);

async function writeTools(stage: Stage, tools: readonly (readonly [name: string, required: string])[]) {
  const listed = tools.map(([name, required]) => ({
    name,
    inputSchema: { type: "object", properties: { [required]: { type: "string" } }, required: [required] },
  }));
  await stage.write({ "tools.json": JSON.stringify(listed) });
}

// AR-45
Deno.test("server whose tools changed between turns opens a new epoch, and crashes nothing (AR-45)", async () => {
  await onMcpStage(async (stage) => {
    // Half of what was approved changes: more, and the whole server would wait.
    await writeTools(stage, [["search", "q"], ["keep", "at"]]);
    await writeMcpAgent(stage, {
      servers: { docs: planned(stage, { name: "docs", tools: stage.path("tools.json") }) },
      answers: [
        { calls: [callOf("docs__search", { q: "1" })] },
        { text: "first" },
        { calls: [callOf("docs__search", { q: "2" })] },
        {
          expect: "arguments",
          calls: [callOf("docs__search", { query: "4" }), callOf("docs__list", { at: "5" })],
        },
        { text: "second" },
        { calls: [callOf("docs__search", { query: "6" })] },
        { text: "third" },
      ],
    });
    await stage.output(...firstTurn, "--answer", "allow");
    await writeTools(stage, [["search", "query"], ["keep", "at"], ["list", "at"]]);
    const second = await stage.output(...nextTurn, "--answer", "allow");
    assert.match(second, /✗ docs__search {2}invalid {2}.*query/);
    // What changed waits for an approval; what came is there at once.
    assert.match(second, /✗ docs__search {2}denied {2}.*not any more what was approved/);
    assert.match(second, /docs found \{"at":"5"\}[^]*second\nturn 2 completed/);
    await stage.output("mcp", "trust", "docs", "--agent", "agent", "--workspace", "ws", "--yes");
    const third = await stage.output(...nextTurn, "--answer", "allow");
    assert.match(third, /docs found \{"query":"6"\}[^]*third\nturn 3 completed/);
    assert.deepEqual(epochsIn(await entriesOf(stage, "last")), [1, 2, 3, 4]);
    const replayed = await stage.output("replay", "last", "--strict");
    assert.equal(replayed.match(/no divergence/g)?.length, 3, replayed);
  });
});
