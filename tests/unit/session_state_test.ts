/** What the tools of a session keep together: queued while calls run, merged in their order, found again after a crash. */
import assert from "node:assert/strict";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { mergeState, StateChanges } from "../../src/effects/session_state.ts";
import { textEnvelope } from "../../src/tools/tool.ts";
import { openStage, settled, type Stage, type ToolSketch } from "../support/stage.ts";

/** Tools that may run at once, each of which waits for its turn to end and then changes the state. */
function racers(seen: JsonObject[]): readonly ToolSketch[] {
  return ["first", "second", "third"].map((name, index) => ({
    name,
    parallelSafe: true,
    work: async (use) => {
      // The last of the model's calls ends first.
      await use.clock.sleepUntil(use.clock.now() + (3 - index) * 100, use.signal);
      seen.push(use.app_state);
      assert.equal(use.update({ last: name, by: { [name]: index } }), undefined);
      assert.equal(use.update({ by: { [`${name}_again`]: true } }), undefined);
      return `${name} is done`;
    },
  }));
}

function reader(seen: JsonObject[]): ToolSketch {
  return { name: "look", work: (use) => Promise.resolve(String(seen.push(use.app_state))) };
}

async function promptOn(stage: Stage, session: Awaited<ReturnType<Stage["session"]>>, text = "go") {
  const { report } = await settled(stage.world, stage.runtime.prompt(session, text));
  await stage.world.advance(1_000);
  return await settled(stage.world, report);
}

Deno.test("state is changed by calls that run at once in the model's order, after all of them (LC-16, LC-19)", async () => {
  const seen: JsonObject[] = [];
  const racing = racers(seen);
  const calls = ["first", "second", "third", "look"].map((tool) => ({ tool }));
  const sketch = {
    answers: [{ calls }, { text: "finished" }, { calls: [{ tool: "look" }] }, { text: "again" }],
    tools: [...racing, reader(seen)],
  };
  const stage = await openStage(sketch);
  const session = await stage.session();
  assert.equal((await promptOn(stage, session)).outcome, "completed");
  // While they ran, none saw what another had changed; what came behind them saw all, and the last call's word counts.
  assert.deepEqual(seen.slice(0, 3), [{}, {}, {}]);
  const merged = {
    last: "third",
    by: { first: 0, first_again: true, second: 1, second_again: true, third: 2, third_again: true },
  };
  assert.deepEqual(seen[3], merged);
  assert(Object.isFrozen(seen[3]) && Object.isFrozen(seen[3]?.["by"]));
  const entries = await stage.entries(session);
  const ended = entries.filter(({ kind, type }) => kind === "outcome" && type === "tool.call")
    .map(({ body }) => body as { readonly id: string; readonly value: { readonly operator: string } });
  assert.deepEqual(ended.slice(0, 3).map(({ value }) => value.operator.split(":")[0]), [
    "third",
    "second",
    "first",
  ]);
  const notes = entries.filter(({ type }) => type === "state.merged");
  assert.deepEqual(notes.map(({ body }) => body), [{
    outcomes: [ended[2]?.id, ended[1]?.id, ended[0]?.id],
  }]);
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
  // Another runtime reads the same off the journal.
  await settled(stage.world, stage.runtime.rest());
  stage.crash();
  const later = await openStage({ ...sketch, disk: stage.disk });
  await promptOn(later, session, "and again");
  assert.deepEqual(seen.at(-1), merged);
});

Deno.test("results come back in the model's order, and notices as soon as a tool has them (LC-18)", async () => {
  const notices: string[] = [];
  const stage = await openStage({
    answers: [{ calls: [{ tool: "slow" }, { tool: "quick" }] }, { text: "finished" }],
    tools: [
      {
        name: "slow",
        parallelSafe: true,
        work: async (use) => {
          use.notifications.push("slow begins");
          await use.clock.sleepUntil(use.clock.now() + 500);
          return "slow result";
        },
      },
      { name: "quick", parallelSafe: true, work: () => Promise.resolve("quick result") },
    ],
  });
  const session = await stage.session();
  stage.runtime.watch((event) => {
    if (event.type === "progress" && event.progress.type === "tool") notices.push(event.progress.message);
  });
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "go"));
  await stage.world.advance(100);
  assert.deepEqual(notices, ["slow begins"]);
  const soFar = (await stage.entries(session)).filter(({ type, kind }) =>
    kind === "outcome" && type === "tool.call"
  );
  assert(soFar.length <= 1, "the slow one is not over");
  await stage.world.advance(1_000);
  await settled(stage.world, report);
  const transcript = await settled(stage.world, stage.runtime.conversations.transcript(session, "0.0"));
  const results = transcript.filter(({ role }) => role === "tool").map(({ text }) => text.split("\n").at(-1));
  assert.deepEqual(results, ["slow result", "quick result"]);
});

Deno.test("state is not changed by a call that failed, said no, or is over", async () => {
  const seen: JsonObject[] = [];
  let late: (() => unknown) | undefined;
  const stage = await openStage({
    answers: [
      { calls: ["breaks", "says_no", "leaves", "look"].map((tool) => ({ tool })) },
      { text: "finished" },
    ],
    tools: [
      {
        name: "breaks",
        work: (use) => {
          use.update({ broken: true });
          return Promise.reject(new Error("broken"));
        },
      },
      {
        name: "says_no",
        work: (use) => {
          use.update({ no: true });
          return Promise.resolve({ ...textEnvelope("no"), ok: false, isError: true });
        },
      },
      {
        name: "leaves",
        work: (use) => {
          late = () => use.update({ late: true });
          return Promise.resolve("left");
        },
      },
      {
        name: "look",
        work: (use) => {
          assert.equal((late?.() as { readonly code: string }).code, "tool_canceled");
          return Promise.resolve(String(seen.push(use.app_state)));
        },
      },
    ],
  });
  assert.equal((await promptOn(stage, await stage.session())).outcome, "completed");
  assert.deepEqual(seen, [{}]);
});

Deno.test("state keeps no secret, and what finished before a cancel", async () => {
  const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
  const seen: JsonObject[] = [];
  const stage = await openStage({
    answers: [
      { calls: ["keep", "hang"].map((tool) => ({ tool })) },
      { calls: [{ tool: "look" }] },
      { text: "finished" },
    ],
    tools: [
      {
        name: "keep",
        parallelSafe: true,
        work: (use) => Promise.resolve(String(use.update({ kept: `is ${token}` }) ?? "kept")),
      },
      { name: "hang", parallelSafe: true, work: () => new Promise(() => {}) },
      reader(seen),
    ],
  });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "go"));
  await stage.world.advance(100);
  await settled(stage.world, stage.runtime.send(session, { type: "session.cancel", reason: "enough" }));
  await stage.world.advance(10_000);
  assert.equal((await settled(stage.world, report)).outcome, "canceled");
  await promptOn(stage, session, "look");
  assert.deepEqual(seen, [{ kept: "is [redacted]" }]);
  assert(!JSON.stringify(await stage.entries(session)).includes(token));
});

Deno.test("change is a merge patch: objects are merged, null removes, and nothing given is changed", () => {
  const state = { a: { b: 1, c: { d: 2 } }, list: [1, 2] };
  const merged = mergeState(state, { a: { b: null, c: { e: 3 } }, list: [3], new: { x: null, y: 1 } });
  assert.deepEqual(merged, { a: { c: { d: 2, e: 3 } }, list: [3], new: { y: 1 } });
  assert.deepEqual(state, { a: { b: 1, c: { d: 2 } }, list: [1, 2] });
  const hostile = mergeState({}, JSON.parse('{"__proto__": {"polluted": true}}'));
  assert.equal((Object.prototype as { readonly polluted?: boolean }).polluted, undefined);
  assert.deepEqual(Object.keys(hostile), ["__proto__"]);
});

Deno.test("changes of one call, and the state of a session, are bounded", () => {
  const changes = new StateChanges({});
  const codeOf = (change: unknown) => changes.take(change as JsonObject)?.code;
  assert.equal(codeOf({ text: "x".repeat(limits.stateChangeBytesMax) }), "too_large");
  assert.equal(codeOf([1]), "arguments_invalid");
  assert.equal(codeOf({ at: undefined }), "arguments_invalid");
  for (let number = 0; number < limits.stateChangesMax; number++) assert.equal(codeOf({ number }), undefined);
  assert.equal(codeOf({ one: "more" }), "too_large");
  assert.equal(changes.end().changes.length, limits.stateChangesMax);
  const full = new StateChanges({ text: "x".repeat(limits.sessionStateBytesMax - 20) });
  assert.equal(full.take({ more: "than fits" })?.code, "too_large");
  assert.equal(full.take({ text: null })?.code, undefined);
});

Deno.test("state is changed by a host's call as by a model's (LC-19)", async () => {
  const seen: JsonObject[] = [];
  const keep: ToolSketch = {
    name: "keep",
    work: (use) => Promise.resolve(String(use.update({ kept: 1 }) ?? "kept")),
  };
  const stage = await openStage({ tools: [keep, reader(seen)] });
  const session = await stage.session();
  for (const tool of ["keep", "look"]) {
    const { report } = await settled(stage.world, stage.runtime.call(session, { tool, arguments: {} }));
    assert.equal((await settled(stage.world, report)).call?.outcome, "succeeded");
  }
  assert.deepEqual(seen, [{ kept: 1 }]);
});
