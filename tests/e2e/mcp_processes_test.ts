/** Server processes: none is left behind, however a run ends; what a killed one left is ended by the next. */
import assert from "node:assert/strict";
import {
  bad,
  callOf,
  findMarked,
  firstTurn,
  markOf,
  nextTurn,
  planned,
  testProcesses,
  theMarked,
  until,
  untilCalled,
  untilNone,
  writeMcpAgent,
} from "./mcp_stage.ts";
import { assertRefused, type Stage } from "./troupe.ts";

/** Two servers, one of which only KILL ends, and a call that is never answered. */
async function writeStubborn(stage: Stage): Promise<void> {
  const ledger = stage.path("ledger");
  await writeMcpAgent(stage, {
    servers: {
      meek: planned(stage, { name: "meek", ledger }),
      stubborn: planned(stage, { name: "stubborn", isStubborn: true }),
    },
    answers: [
      { calls: [callOf("meek__wait", { file: stage.path("never") })] },
      { text: "finished" },
    ],
  });
}

testProcesses(
  "server is gone once a run has ended, for good or bad, also one that ignores its end and TERM",
  async (stage) => {
    const script = (answers: readonly unknown[]) => JSON.stringify({ answers });
    await stage.write({ "good.yaml": script([{ text: "finished" }]), "bad.yaml": script([]) });
    await writeMcpAgent(stage, {
      servers: {
        meek: planned(stage, { name: "meek" }),
        stubborn: planned(stage, { name: "stubborn", isStubborn: true }),
        bad: bad(stage, ["ignores-eof-and-term"]),
      },
      answers: [],
    });
    const stores = ["good", "bad"].map((name) => ["--script", `${name}.yaml`, "--store", `${name}.db`]);
    const [good, failed] = await Promise.all(
      stores.map((options) => stage.run(...firstTurn, "--answer", "allow", ...options)),
    );
    assert.ok(good && failed);
    assert.equal(good.code, 0, good.err);
    assert.match(good.out, /✓ bad .*\n.*✓ meek .*\n.*✓ stubborn /);
    assertRefused(failed, 1, "script_exhausted");
    assert.match(failed.out, /✓ bad .*\n.*✓ meek .*\n.*✓ stubborn /);
    assert.deepEqual(findMarked(markOf(stage)), []);
    // The notes that a sweep would look for are gone as well.
    for (const name of ["good", "bad"]) await assert.rejects(Deno.stat(stage.path(`${name}.db.children`)));
  },
);

testProcesses("server is gone after Ctrl-C twice in the middle of its call", async (stage) => {
  await writeStubborn(stage);
  const running = stage.start(...firstTurn, "--answer", "allow");
  await untilCalled(stage.path("ledger"));
  assert.equal(findMarked(markOf(stage)).length, 2);
  running.signal("SIGINT");
  await running.until("Canceling the turn");
  running.signal("SIGINT");
  assertRefused(await running.ended, 130, "interrupted");
  await untilNone(markOf(stage));
});

// CM-119
testProcesses(
  "server that outlives a killed troupe is swept by the next run, before anything is started (CM-119)",
  async (stage) => {
    await writeStubborn(stage);
    const running = stage.start(...firstTurn, "--answer", "allow");
    await untilCalled(stage.path("ledger"));
    running.signal("SIGKILL");
    await running.ended;
    // The end of its input is all that a server hears of that.
    await untilNone(markOf(stage, "meek"));
    const left = theMarked(markOf(stage, "stubborn"));
    await stage.write({ "agent/mcp/stubborn.yaml": "command: troupe\nenabled: false\n" });
    const next = await stage.run(...nextTurn, "--answer", "allow");
    assert.equal(next.code, 0, next.err);
    assert.match(next.out, /✓ meek .*\n[^]*finished\nturn 2 completed/);
    assert.match(next.err, /process\.swept \{"ended":1,"rest":0\}/);
    await until(`process ${left} is gone`, () => !findMarked(markOf(stage)).includes(left));
    await assert.rejects(Deno.stat(`${stage.path("store.db")}.children`));
  },
);
