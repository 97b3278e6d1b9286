/** A turn that waits, in real processes: `troupe run` says so and ends, everything shows it, `troupe resume` goes on. */
import assert from "node:assert/strict";
import { TurnWait } from "../../schemas/recovery.ts";
import { assertRefused, linesOf, onStage, writeAgent } from "./troupe.ts";

const run = ["run", "agent", "hi", "--workspace", "ws"];

/** Reads a file, and then the model fails so. */
function failingAfterRead(fail: object): string {
  const read = { tool: "read_file", arguments: { path: "a.txt" } };
  return JSON.stringify({ answers: [{ calls: [read] }, { fail, text: "It says alpha" }] });
}

Deno.test("run ends where its turn waits for a person, everything shows why, and resume goes on with it (CM-113)", async () => {
  await onStage(async (stage) => {
    const fail = { code: "model_login_failed", message: "The key is not valid any more", times: 1 };
    await writeAgent(stage, failingAfterRead(fail));
    const ended = await stage.run(...run);
    const told = ["The turn 1 waits for a person", "provider_auth_expired: The key is not valid any more"];
    assertRefused(ended, 7, "turn_waiting", ...told, "troupe resume ses_", "troupe cancel ses_");

    const why = await stage.output("why", "last/turn/1");
    assert.match(why, /is {9}awaitingPerson \(turn\), since .*, resting in the store/);
    assert.match(
      why,
      /waits for {2}a person, after provider_auth_expired: .*\[model_login_failed\].*troupe resume ses_/,
    );
    assert.match(why, /reason {5}manual_recovery_required\n/);
    assert.match(why, /turn\.resume -> affording \(from its parent\)/);
    const [whole] = linesOf(await stage.output("why", "last", "--json"));
    assert.deepEqual(whole?.["reasons"], ["manual_recovery_required"]);
    assert.equal(TurnWait.parse(whole?.["wait"]).strategy, "manual");
    assert.match(await stage.output("sessions"), / waits: provider_auth_expired, for troupe resume\n/);
    assert.match(
      await stage.output("tree", "last"),
      /turn\/1 .*awaitingPerson, resting .* a person, after provider_auth_/,
    );
    assert.match(
      await stage.output("log", "last"),
      /turn\.waiting +turn 1 waits for a person: troupe resume; provider_/,
    );

    const behind = await stage.run("run", "agent", "more", "--session", "last");
    assertRefused(behind, 7, "turn_waiting", "The turn 1 waits for a person");
    const resumed = await stage.output("resume", "last");
    assert.match(resumed, /It says alpha\nturn 1 completed: 2 steps/);
    assert.doesNotMatch(await stage.output("sessions"), /waits:/);
    assertRefused(await stage.run("resume", "last"), 1, "turn_not_waiting", "nothing to resume");
    assert.match(await stage.output("replay", "last"), /no divergence/);
  });
});

Deno.test("turn that waits for its time is shown by its owner, and goes on at once for who resumes it from elsewhere (CM-113)", async () => {
  await onStage(async (stage) => {
    const fail = { code: "model_rate_limited", message: "Slow down", retry_after_ms: 3_000_000, times: 1 };
    await writeAgent(stage, failingAfterRead(fail));
    const owner = stage.start(...run);
    await owner.until("turn 1 waits until");
    const why = await stage.output("why", "last/turn/1");
    assert.match(why, /is {9}awaitingProvider \(turn\)/);
    assert.match(why, /its model, retry 1 of 2 comes by itself, after provider_rate_limited: Slow down/);
    assert.match(why, /until \d{4}-.* \(in \d+ min/);
    assert.match(why, /reason {5}external_dependency_blocked\n/);
    assert.match(await stage.output("sessions"), / waits: provider_rate_limited, until \d{4}-/);
    assert.match(await stage.output("resume", "last"), /It says alpha\nturn 1 completed/);
    assert.equal((await owner.ended).code, 0);
  });
});
