/** Real servers whose tools change, refuse and vanish: what the next turn has, and what the journal says of it. */
import assert from "node:assert/strict";
import {
  bodiesOf,
  callOf,
  type Held,
  type Line,
  linesIn,
  markOf,
  onMcpStage,
  planned,
  testProcesses,
  theMarked,
  until,
  untilNone,
  withOwner,
  writeMcpAgent,
} from "./mcp_stage.ts";
import type { Stage } from "./troupe.ts";

async function writeTools(stage: Stage, ...names: readonly string[]): Promise<void> {
  const tools = names.map((name) => ({ name, inputSchema: { type: "object" } }));
  await stage.write({ "tools.json": JSON.stringify(tools) });
}

/** What the owner's own journal says of a root, without a command for it. */
async function heldEntries(held: Held, root: string): Promise<Line[]> {
  const entries: Line[] = [];
  for await (const page of held.host.readPages(root as never)) entries.push(...page as unknown as Line[]);
  return entries;
}

/** Waits until a session's journal has more entries of a kind than it had. */
async function untilMore(held: Held, type: string, before: number): Promise<void> {
  await until(`more than ${before} entries ${type}`, async () => await countOf(held, type) > before);
}

async function countOf(held: Held, type: string): Promise<number> {
  return bodiesOf(await heldEntries(held, held.session), "input", type).length;
}

async function completes(held: Held, text: string): Promise<void> {
  const { outcome, failure } = await held.prompt(text);
  assert.equal(outcome, "completed", failure?.message);
}

/** The rules by which a server's tools were listed, and those by which the session asked, in order. */
async function rulesIn(
  held: Held,
): Promise<{ readonly listed: unknown[]; readonly asked: unknown[] }> {
  const id = held.session.replace("session/", "");
  const listed = bodiesOf(await heldEntries(held, `connection/docs@${id}`), "note", "connection.listed");
  const asked = bodiesOf(await heldEntries(held, held.session), "note", "catalog.renewing");
  return { listed: listed.map(({ rule }) => rule), asked: asked.map(({ rule }) => rule) };
}

Deno.test("server that says that its tools changed is listed once, before the next turn, and the log says so in words (AR-14, AR-15)", async () => {
  await onMcpStage(async (stage) => {
    await writeTools(stage, "search");
    await writeMcpAgent(stage, {
      servers: { docs: planned(stage, { name: "docs", tools: stage.path("tools.json"), announces: true }) },
      answers: [
        { calls: [callOf("docs__search")] },
        { expect: "docs found", text: "first" },
        { calls: [callOf("docs__search"), callOf("docs__fresh")] },
        { expect: "docs found", text: "second" },
      ],
    });
    await withOwner(stage, async (held) => {
      await completes(held, "one");
      await untilMore(held, "catalog.stale", 0);
      await writeTools(stage, "search", "fresh");
      await completes(held, "two");
      const { listed, asked } = await rulesIn(held);
      assert.deepEqual([listed, asked], [["connect", "list_changed"], ["declared", "list_changed"]]);
      const id = held.session.replace("session/", "");
      const log = await stage.output("log", `catalog/${id}`);
      assert.match(
        log,
        /catalog\.changed +epoch \d: 1 added \(mcp\.docs\.fresh\)/,
      );
      assert.match(
        await stage.output("log", held.session),
        /catalog\.stale +docs it said that its tools changed/,
      );
      assert.match(
        await stage.output("log", `connection/docs@${id}`),
        /connection\.listed +docs 2 tools, others than before: it said that its tools changed/,
      );
    });
    assert.match(await stage.output("replay", "last", "--strict"), /no divergence/);
  });
});

Deno.test("server that does not know a call is listed once; the model is told, and the call is not repeated (AR-15, AR-4)", async () => {
  await onMcpStage(async (stage) => {
    const ledger = stage.path("ledger");
    await writeTools(stage, "search", "lost");
    await writeMcpAgent(stage, {
      servers: { docs: planned(stage, { name: "docs", tools: stage.path("tools.json"), ledger }) },
      answers: [
        { calls: [callOf("docs__search")] },
        { text: "first" },
        { calls: [callOf("docs__lost"), callOf("docs__lost")] },
        { expect: "known from the next turn on", text: "second" },
        { calls: [callOf("docs__lost"), callOf("docs__search")] },
        { expect: "docs", text: "third" },
      ],
    });
    await withOwner(stage, async (held) => {
      await completes(held, "one");
      await writeTools(stage, "search");
      await completes(held, "two");
      await untilMore(held, "catalog.issued", 2);
      await completes(held, "three");
      const { listed, asked } = await rulesIn(held);
      assert.deepEqual([listed, asked], [["connect", "call_refused"], ["declared"]]);
      const calls = (await linesIn(ledger)).map(({ tool }) => tool);
      assert.deepEqual(calls, ["search", "lost", "lost", "search"]);
    });
  });
});

testProcesses(
  "server that was lost is asked again before the next turn, and its tools are gone if it does not come back (AR-14, AR-15, AR-4)",
  async (stage) => {
    await writeTools(stage, "search");
    await writeMcpAgent(stage, {
      servers: { docs: planned(stage, { name: "docs", tools: stage.path("tools.json") }) },
      answers: [{ text: "first" }, { text: "second" }, { calls: [callOf("docs__search")] }, {
        expect: "not_found",
        text: "third",
      }],
    });
    await withOwner(stage, async (held) => {
      const lose = async () => {
        const before = await countOf(held, "catalog.stale");
        Deno.kill(theMarked(markOf(stage, "docs")), "SIGKILL");
        await untilNone(markOf(stage, "docs"));
        await untilMore(held, "catalog.stale", before);
      };
      await completes(held, "one");
      await lose();
      await completes(held, "two");
      assert.deepEqual(await rulesIn(held), {
        listed: ["connect", "reconnect"],
        asked: ["declared", "disconnect"],
      });
      await Deno.remove(stage.path("tools.json"));
      await lose();
      await completes(held, "three");
      const id = held.session.replace("session/", "");
      assert.match(
        await stage.output("log", `catalog/${id}`),
        /catalog\.changed +epoch \d: 1 removed \(mcp\.docs\.search\)/,
      );
      // What it was is kept: the first two turns can be replayed.
      assert.match(await stage.output("replay", held.session, "--strict"), /no divergence/);
    });
  },
);

Deno.test("person asks the open servers of a session for their tools by hand (AR-15)", async () => {
  await onMcpStage(async (stage) => {
    await writeTools(stage, "search");
    await writeMcpAgent(stage, {
      servers: { docs: planned(stage, { name: "docs", tools: stage.path("tools.json") }) },
      answers: [{ text: "first" }, { calls: [callOf("docs__fresh")] }, {
        expect: "docs found",
        text: "second",
      }],
    });
    await withOwner(stage, async (held) => {
      const early = await stage.run("catalog", "last", "--refresh");
      assert.match(early.err, /^docs not open: its next start asks it$/m);
      await completes(held, "one");
      await writeTools(stage, "search", "fresh");
      const asked = await stage.run("catalog", held.session, "--refresh");
      assert.match(asked.err, /^docs asked again$/m);
      await untilMore(held, "catalog.issued", 2);
      assert.match(await stage.output("catalog", held.session), /^mcp\.docs\.fresh /m);
      await completes(held, "two");
      assert.deepEqual((await rulesIn(held)).listed, ["connect", "manual"]);
    });
    const alone = await stage.run("catalog", "last", "--refresh");
    assert.match(alone.err, /owner_missing/);
  });
});
