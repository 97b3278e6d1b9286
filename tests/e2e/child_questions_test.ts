/** Questions of child agents at the command line: shown with their path, answered by whoever runs the session above. */
import assert from "node:assert/strict";
import { assertRefused, linesOf, onStage, type Running, type Stage, writeAgent } from "./troupe.ts";

/** A process that holds the store, with a session whose turn waits for a child that asks a person. */
async function startOwner(stage: Stage): Promise<Running & { readonly session: string }> {
  await writeAgent(stage, "answers: []\n");
  const script = new URL("./family_owner.ts", import.meta.url).pathname;
  const owner = stage.startDeno("run", "-A", "--quiet", script, stage.path("store.db"));
  const said = await owner.until("held\n");
  return Object.assign(owner, { session: /session\/ses_\w+/.exec(said)?.[0] ?? "" });
}

function run(session: string): readonly string[] {
  return ["run", "agent", "hi", "--session", session];
}

Deno.test("question of a child agent is listed with its path, and answered from elsewhere (ask 15)", async () => {
  await onStage(async (stage) => {
    const { session } = await startOwner(stage);
    const above = stage.start(...run(session), "--answer", "wait");
    await above.until("A question waits");
    const [question] = linesOf(await stage.output("questions", "--json"));
    assert.deepEqual(question?.["path"], ["tester", "research"]);
    assert.notEqual(question?.["root"], session);
    assert.match(await stage.output("questions"), /^ {2}asked by {3}tester > research$/m);
    await stage.output("answer", String(question?.["id"]), "allow");
    const { code, out, err } = await above.ended;
    assert.deepEqual(
      [code, /child completed/.test(out), /all is done/.test(out)],
      [0, true, true],
      `${out}\n${err}`,
    );
  });
});

Deno.test("question of a child agent is answered by the order that its session above was run with (ask 15)", async () => {
  await onStage(async (stage) => {
    const { session } = await startOwner(stage);
    const { code, out, err } = await stage.run(...run(session), "--answer", "allow");
    assert.equal(code, 0, `${out}\n${err}`);
    assert.match(await stage.output("questions", "--json"), /^$/);
    const child = linesOf(await stage.output("sessions", "--json")).find(({ title }) => title === "research");
    assert.match(await stage.output("log", String(child?.["address"])), /approval\.decided/);
  });
});

Deno.test("child agent whose session above is run by nobody who answers is refused, and that is told above (ask 15)", async () => {
  await onStage(async (stage) => {
    const { session } = await startOwner(stage);
    const { code, out, err } = await stage.run(...run(session));
    assert.equal(code, 0, `${out}\n${err}`);
    const log = linesOf(await stage.output("log", session, "--json"));
    const ended = log.find(({ type }) => type === "task.ended") as { body: { message: { summary: string } } };
    assert.equal(
      ended.body.message.summary,
      "1 call of it was refused because nobody could be asked (ask). the child's turn ended as needs_user",
    );
  });
});

Deno.test("cancel of a turn leaves the task of its child alone and says so; cancel of the subtree ends it (ask 4, DM-124)", async () => {
  await onStage(async (stage) => {
    const { session } = await startOwner(stage);
    const above = stage.start(...run(session), "--answer", "wait");
    await above.until("A question waits");
    const report = linesOf(await stage.output("cancel", session, "--json"))[0] as {
      goesOn: { kind: string; label: string }[];
    };
    assert.deepEqual(report.goesOn.map(({ kind, label }) => [kind, label]), [["task", "terminal.exec"]]);
    await above.until("Waiting for a task");
    const ended = await stage.output("cancel", session, "--scope", "subtree");
    assert.match(ended, /^Stopped {4}task\/tsk_\S+ \(research\): canceled\n$/);
    assertRefused(await above.ended, 1, "turn_canceled");
  });
});
