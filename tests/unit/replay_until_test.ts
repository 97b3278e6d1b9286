/** Whether a replay that stops at an entry leaves the machines where they were behind it. */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import { canonicalJson } from "../../schemas/json.ts";
import { stateOf } from "../../src/cli/replay_state.ts";
import type { LiveRoot } from "../../src/kernel/live_root.ts";
import { pagesOf, replayStream } from "../../src/stream_replay.ts";
import { loadShelved } from "../../src/effects/shelved.ts";
import { digestOf } from "../support/fixtures.ts";
import { openStage, settled, type Stage } from "../support/stage.ts";

interface Behind {
  readonly entries: number;
  readonly root: LiveRoot | undefined;
}

async function replayTo(stage: Stage, entries: readonly Entry[], until: number): Promise<Behind> {
  let root: LiveRoot | undefined;
  const report = await settled(
    stage.world,
    replayStream({
      address: "session/x",
      pages: pagesOf(entries),
      digest: digestOf,
      loadShelved: (hash) => loadShelved(stage.runtime.journal, hash),
      until,
      show: (live) => root = live,
    }),
  );
  assert.equal(report.divergence, undefined, `until ${until}`);
  return { entries: report.entries, root };
}

Deno.test("replay to any entry ends behind all that its message caused, in the recorded state (K25)", async () => {
  const stage = await openStage({
    answers: [{ calls: [{ tool: "look" }, { tool: "send" }] }, { text: "Done" }],
    tools: [{ name: "look" }, { name: "send", effect: "non_idempotent" }],
  });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go on"));
  await settled(stage.world, report);
  const entries = await stage.entries(session);
  let compared = 0;
  for (const { seq, cause } of entries) {
    const crank = entries.filter((entry) => entry.cause === cause);
    const behind = await replayTo(stage, entries, seq);
    assert.equal(behind.entries, crank.at(-1)?.seq, `until ${seq}`);
    assert.ok(behind.root !== undefined);
    const recorded = crank[0]?.state;
    if (recorded === undefined) continue;
    const hash = await digestOf(new TextEncoder().encode(canonicalJson(behind.root.persisted())));
    assert.equal(hash, recorded, `until ${seq}`);
    compared += 1;
  }
  assert.ok(compared >= 3);
});

Deno.test("state of a session tells its turn, its calls and what each waits for", async () => {
  const stage = await openStage({
    answers: [{ calls: [{ tool: "send", arguments: { text: "x" } }] }, { text: "Done" }],
    tools: [{ name: "send", effect: "non_idempotent" }],
  });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go on"));
  await settled(stage.world, report);
  const entries = await stage.entries(session);
  const call = entries.find(({ kind, type }) => kind === "intent" && type === "tool.call")!;
  const { root } = await replayTo(stage, entries, call.seq);
  const { root: tree } = stateOf(root!);
  const [turn] = tree.machines;
  const [invocation] = turn?.machines ?? [];
  assert.deepEqual([turn?.id, turn?.machine, turn?.state], ["turn/1", "turn", "staging"]);
  assert.deepEqual([invocation?.id, invocation?.state], ["call/0.0", "running"]);
  const waiting = { id: "effect", port: "tool.call", intent: `${call.cause}.0`, effect: "non_idempotent" };
  assert.deepEqual(invocation?.ports, [{ ...waiting, cancelAsked: false }]);
  const { root: rested } = await replayTo(stage, entries, entries.length);
  const { machines, ports, state } = stateOf(rested!).root;
  assert.deepEqual([state, machines, ports], ["idle", [], []]);
});
