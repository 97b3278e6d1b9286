/** Approvals in real processes: asked here, read and answered there, remembered for the session, left open by who goes away. */
import assert from "node:assert/strict";
import {
  askPolicy,
  assertRefused,
  linesOf,
  onStage,
  type Running,
  type Stage,
  writeAgent,
} from "./troupe.ts";

const run = ["run", "agent", "hi", "--workspace", "ws"];

const read = "{ tool: read_file, arguments: { path: a.txt } }";

/** An agent that makes these calls in its turns, one a step. */
function scriptOf(...turns: readonly (readonly string[])[]): string {
  const steps = turns.flatMap((calls) => [
    ...calls.map((call) => `  - text: working\n    calls: [${call}]\n`),
    "  - text: finished\n",
  ]);
  return `answers:\n${steps.join("")}`;
}

async function startAsking(stage: Stage, ...turns: readonly (readonly string[])[]): Promise<Running> {
  await writeAgent(stage, scriptOf(...turns));
  await stage.write(askPolicy);
  const owner = stage.start(...run, "--answer", "wait");
  await owner.until("A question waits");
  return owner;
}

async function questions(stage: Stage): Promise<{ readonly [key: string]: unknown }[]> {
  return linesOf(await stage.output("questions", "--json"));
}

Deno.test("approval of more than a question shows is taken only from who read it all (B18, DM-33)", async () => {
  await onStage(async (stage) => {
    const path = `${"a".repeat(200)}/${"b".repeat(200)}/marker/${"c".repeat(200)}/a.txt`;
    await stage.write({ [`ws/${path}`]: "found\n" });
    const owner = await startAsking(stage, [`{ tool: read_file, arguments: { path: ${path} } }`]);
    const [question] = await questions(stage);
    const [id, shown] = [String(question?.["id"]), String(question?.["shown"])];
    const short = await stage.output("questions");
    assert.ok(!short.includes("marker"), short);
    assert.match(short, /length {5}627 characters, of which a part is shown: troupe questions session/);
    for (const decision of ["allow", "always"]) {
      assertRefused(await stage.run("answer", id, decision), 2, "question_unread", "--shown HASH");
    }
    const guessed = await stage.run("answer", id, "allow", "--shown", `sha256:${"0".repeat(64)}`);
    assert.match(guessed.err, /\[question_changed\]/);
    const whole = await stage.output("questions", id);
    assert.ok(whole.includes(path) && whole.includes(shown), whole);
    await stage.output("answer", id, "allow", "--shown", shown.slice(0, 19));
    const ended = await owner.ended;
    assert.match(ended.out, /✓ read_file /, ended.out);
    assert.match(await stage.output("log", "last"), /outcome {5}tool\.call .* ok read_file: found/);
    assert.match(await stage.output("replay", "last"), /no divergence/);
  });
});

Deno.test("approval for the session is asked for once, in one process, and the log tells of it each time (DM-36, DM-40)", async () => {
  await onStage(async (stage) => {
    const owner = await startAsking(stage, [read, read], [read]);
    const [question] = await questions(stage);
    await stage.output("answer", String(question?.["id"]), "always");
    const ended = await owner.ended;
    assert.equal(ended.code, 0, ended.err);
    assert.equal(ended.out.match(/✓ read_file /g)?.length, 2);
    const log = await stage.output("log", "last");
    for (
      const line of [
        /approval\.requested .*call\/0\.0 read_file is asked about in question\/1/,
        /approval\.decided .*call\/0\.0 read_file always_allow_for_session by operator local/,
        /approval\.decided .*call\/1\.0 read_file allow by operator local, by an earlier answer/,
      ]
    ) {
      assert.match(log, line);
    }
    // The next process is another runtime: what was allowed in the life of this one is asked again.
    const again = await stage.run("run", "agent", "again", "--session", "last", "--answer", "deny");
    assert.match(again.out, /\? read_file {2}deny by operator local/, again.err);
    assert.match(
      await stage.output("log", "last"),
      /An earlier answer counts no more: the runtime was started anew since/,
    );
  });
});

Deno.test("approval whose console goes away stays open, is seen from elsewhere, and counts once it is given (F28)", async () => {
  await onStage(async (stage) => {
    const owner = await startAsking(stage, [read]);
    const console = stage.start(...run, "--answer", "wait");
    await console.until("A question waits");
    const before = await questions(stage);
    console.signal("SIGKILL");
    await console.ended;
    assert.deepEqual(await questions(stage), before);
    const id = String(before[1]?.["id"]);
    const session = id.split("#")[0] ?? "";
    const follower = stage.start("log", session, "--follow");
    await stage.output("answer", id, "allow");
    await follower.until("finished");
    assertRefused(await stage.run("answer", id, "deny"), 1, "question_answered", "allow by operator local");
    await stage.output("answer", id, "allow");
    assert.match(await stage.output("log", session), /outcome {5}tool\.call .* ok read_file: alpha/);
    assert.deepEqual((await questions(stage)).map((one) => one["id"]), [before[0]?.["id"]]);
    await stage.output("answer", String(before[0]?.["id"]), "deny");
    assert.equal((await owner.ended).code, 0);
    await follower.ended;
  });
});
