/** A server's process that is killed takes its own calls and tools with it, and those of no other (rest_for_one). */
import assert from "node:assert/strict";
import type { ActingHost } from "../../src/host/host.ts";
import { RootViews } from "../../src/why/root_view.ts";
import { readTree, type TreeLine } from "../../src/why/tree.ts";
import {
  callOf,
  linesIn,
  markOf,
  planned,
  testProcesses,
  theMarked,
  untilCalled,
  withOwner,
  writeMcpAgent,
} from "./mcp_stage.ts";

async function treeOf(host: ActingHost, session: string): Promise<readonly TreeLine[]> {
  const nowMs = Date.now();
  const { lines } = await readTree(await RootViews.open(host), { session, sessionsMax: 10, nowMs });
  return lines;
}

/** `name state restarts` of the connections in a tree. */
function connectionsIn(lines: readonly TreeLine[]): readonly string[] {
  return lines.filter(({ address }) => address.startsWith("connection/"))
    .map(({ name, state, restarts }) =>
      `${name.replace(/^connection\/(.*)@.*$/, "$1")} ${state} ${restarts}`
    );
}

testProcesses(
  "server that is killed while two have calls is opened anew for its own call; the other one goes on as it was",
  async (stage) => {
    const parallel = { supports_parallel_tool_calls: true };
    const traces = (name: string) => ({
      name,
      ledger: stage.path(name),
      started: stage.path(`${name}.started`),
    });
    await writeMcpAgent(stage, {
      servers: {
        doomed: planned(stage, traces("doomed"), parallel),
        well: planned(stage, traces("well"), parallel),
      },
      answers: [
        {
          calls: ["doomed", "well"].map((name) => callOf(`${name}__wait`, { file: stage.path("go") })),
        },
        { text: "finished" },
        { calls: [callOf("doomed__search"), callOf("well__search")] },
        { text: "again" },
      ],
    });
    const config = { policy: { effects: { "mcp.doomed.*": "idempotent" } } };
    await withOwner(stage, async ({ host, session, prompt }) => {
      const turn = prompt("hi");
      await Promise.all(["doomed", "well"].map((name) => untilCalled(stage.path(name))));
      const well = theMarked(markOf(stage, "well"));
      const before = await treeOf(host, session);
      assert.deepEqual(connectionsIn(before), ["doomed ready 0", "well ready 0"]);
      const calls = before.filter(({ name }) => name.startsWith("call/"));
      assert.deepEqual(calls.map(({ state }) => state), ["running", "running"]);

      Deno.kill(theMarked(markOf(stage, "doomed")), "SIGKILL");
      await untilCalled(stage.path("doomed"), 2);
      const during = await treeOf(host, session);
      assert.deepEqual(connectionsIn(during), ["doomed ready 1", "well ready 0"]);
      assert.match(during.find(({ name }) => name === "call/0.0")?.waits[0] ?? "", /doomed.*attempt 2/);
      assert.match(during.find(({ name }) => name === "call/0.1")?.waits[0] ?? "", /well\.wait$/);
      await stage.write({ go: "" });
      assert.equal((await turn).outcome, "completed");

      assert.equal((await prompt("again")).outcome, "completed");
      assert.equal(theMarked(markOf(stage, "well")), well, "the very process");
      const counts = async (what: string) => (await linesIn(stage.path(what))).length;
      assert.deepEqual([await counts("doomed.started"), await counts("well.started")], [2, 1]);
      assert.deepEqual([await counts("doomed"), await counts("well")], [3, 2]);
      const status = (await host.listRoots()).map(({ status }) => status);
      assert.ok(status.every((one) => one === "active"), "nothing else was touched");
    }, config);
  },
);
