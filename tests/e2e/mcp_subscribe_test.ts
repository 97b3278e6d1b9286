/** Resources that an agent subscribes to: what it is told, and when, through a real owner and a real server. */
import assert from "node:assert/strict";
import {
  type Answer,
  bodiesOf,
  callOf,
  entriesOf,
  type Held,
  type Line,
  linesIn,
  markOf,
  onMcpStage,
  planned,
  testProcesses,
  theMarked,
  trustAgent,
  until,
  withOwner,
  writeMcpAgent,
} from "./mcp_stage.ts";
import type { Stage } from "./troupe.ts";

const offers = { resources: [{ uri: "x:a", name: "a" }], subscribes: true };

async function writeWatcher(stage: Stage, later: readonly Answer[]): Promise<void> {
  const plan = { name: "docs", offers, ledger: stage.path("ledger") };
  await writeMcpAgent(stage, {
    servers: { docs: planned(stage, plan) },
    answers: [
      { calls: [callOf("docs__subscribe_resource", { uri: "x:a" })] },
      { calls: [callOf("docs__search")] },
      { text: "first" },
      ...later,
    ],
  });
  await stage.output(...trustAgent);
}

/** How often the session was told so far. */
async function updatesIn({ host, session }: Held): Promise<number> {
  let count = 0;
  for await (const page of host.readPages(session)) {
    count += page.filter(({ kind, type }) => kind === "input" && type === "resource.updated").length;
  }
  return count;
}

/** What each step of the model was given besides, by the kinds of items. */
function givenIn(entries: readonly Line[]): readonly string[] {
  return bodiesOf(entries, "intent", "model.generate").map(({ args }) =>
    ((args as Line)["append"] as readonly Line[]).map(({ type }) => type).join(" ")
  );
}

Deno.test("agent that subscribed to a resource is told at its next turn that it changed, once however often it did (CM-34)", async () => {
  await onMcpStage(async (stage) => {
    await writeWatcher(stage, [{ text: "second" }, { text: "third" }]);
    let session = "";
    await withOwner(stage, async (held) => {
      session = held.session;
      assert.equal((await held.prompt("go")).outcome, "completed");
      await until("the session is told", async () => await updatesIn(held) > 0);
      assert.equal((await held.prompt("again")).text, "second");
      assert.equal((await held.prompt("and again")).text, "third");
    });
    const entries = await entriesOf(stage, session);
    assert.deepEqual(givenIn(entries).slice(0, 4), ["prompt", "result", "result", "notice prompt"]);
    const [told] = bodiesOf(entries, "input", "resource.updated").map(({ message }) => message);
    assert.deepEqual(told, { type: "resource.updated", server: "docs", uri: "x:a" });
    assert.match(await stage.output("replay", session, "--strict"), /no divergence/);
  });
});

testProcesses("subscription is made again with a server that was started anew (CM-34)", async (stage) => {
  const config = { policy: { effects: { "mcp.docs.*": "idempotent" } } };
  // A connection may not have noticed yet that its server is gone: whoever calls starts it for certain,
  // and calls once more if the call was lost.
  await writeWatcher(stage, [{ calls: [callOf("docs__search")] }, { text: "second" }]);
  await withOwner(stage, async (held) => {
    assert.equal((await held.prompt("go")).outcome, "completed");
    Deno.kill(theMarked(markOf(stage, "docs")), "SIGKILL");
    assert.equal((await held.prompt("again")).outcome, "completed");
    const asked = async () =>
      (await linesIn(stage.path("ledger"))).filter(({ method }) => method === "resources/subscribe");
    await until("it is subscribed again", async () => (await asked()).length === 2);
    assert.deepEqual((await asked()).map(({ params }) => (params as Line)["uri"]), ["x:a", "x:a"]);
  }, config);
});
