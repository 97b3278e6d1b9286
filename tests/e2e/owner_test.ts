/** One owner, one door: what commands do while another process holds the store; and how a person leaves. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import {
  askPolicy,
  assertRefused,
  linesOf,
  onStage,
  readScript,
  type Running,
  type Stage,
  writeAgent,
} from "./troupe.ts";

const run = ["run", "agent", "hi", "--workspace", "ws"];

/** A process that holds the store until its question is answered. */
async function startOwner(stage: Stage): Promise<Running> {
  await writeAgent(stage, readScript);
  await stage.write(askPolicy);
  const owner = stage.start(...run, "--answer", "wait");
  await owner.until("A question waits");
  return owner;
}

async function openQuestion(stage: Stage, index = 0): Promise<string> {
  return String(linesOf(await stage.output("questions", "--json"))[index]?.["id"]);
}

Deno.test("owner does for other processes what they ask for at its door", async () => {
  await onStage(async (stage) => {
    const owner = await startOwner(stage);
    const second = await stage.run(...run, "--answer", "allow");
    assert.equal(second.code, 0, second.err);
    assert.match(second.err, new RegExp(`run by process ${owner.pid} that holds the store`));
    assert.match(
      second.out,
      /\? read_file {2}allow by operator local\n {2}✓ read_file .*alpha\n\nfinished\nturn 1 completed/,
    );
    const [one, two] = await Promise.all([
      stage.run(...run, "--answer", "deny", "--json"),
      stage.run(...run),
    ]);
    assert.equal(linesOf(one.out).at(-1)?.["kind"], "reply", one.err);
    assert.match(two.out, /\? read_file {2}deny by program no-answerer\n {2}✗ read_file {2}denied/);
    assert.equal(linesOf(await stage.output("sessions", "--json")).length, 4);
    assert.match(await stage.output("replay", "last"), /no divergence/);
    await stage.output("export", "last", "-o", "s.jsonl");
    assert.match(await stage.output("replay", "s.jsonl"), /no divergence/);
    await stage.output("answer", await openQuestion(stage), "allow");
    const ended = await owner.ended;
    assert.equal(ended.code, 0);
    assert.match(ended.out, /✓ read_file .*alpha\n\nfinished/);
  });
});

Deno.test("owner's questions are shown and answered from elsewhere, under the operator's name", async () => {
  await onStage(async (stage) => {
    const owner = await startOwner(stage);
    const shown = await stage.output("questions");
    for (
      const part of [
        "tool       read_file",
        'arguments  {"path": "a.txt"}',
        "decisions  allow, deny",
        "because",
      ]
    ) {
      assert.ok(shown.includes(part), part);
    }
    const id = await openQuestion(stage);
    assertRefused(await stage.run("answer", id, "maybe"), 2, "argument_invalid");
    assertRefused(await stage.run("answer", id, "mark_applied"), 2, "decision_not_offered");
    assertRefused(await stage.run("answer", `${id}0`, "allow"), 2, "question_not_found");
    await stage.output("answer", id, "deny", "--note", "not now");
    assert.match(
      (await owner.ended).out,
      /\? read_file {2}deny by operator local\n {2}✗ read_file {2}denied/,
    );
    const answer = linesOf(await stage.output("log", "last", "--json")).find(({ type, kind }) =>
      type === "question.ask" && kind === "outcome"
    );
    assert.match(JSON.stringify(answer), /"note":"not now"/);
    assertRefused(await stage.run("questions"), 2, "owner_missing");
  });
});

Deno.test("owner's log can be followed from elsewhere until it ends, or the reader has enough", async () => {
  await onStage(async (stage) => {
    const owner = await startOwner(stage);
    const [patient, hasty] = [1, 2].map(() => stage.start("log", "last", "--follow", "--json"));
    assert.ok(patient && hasty);
    await Promise.all([patient, hasty].map((follower) => follower.until("question.ask")));
    hasty.signal("SIGINT");
    assert.equal((await hasty.ended).code, 130);
    await stage.output("answer", await openQuestion(stage), "allow");
    assert.equal((await owner.ended).code, 0);
    const { code, out } = await patient.ended;
    assert.equal(code, 0);
    const plain = (text: string) => linesOf(text).map(({ state: _, ...rest }) => rest);
    assert.deepEqual(plain(out), plain(await stage.output("log", "last", "--json")));
  });
});

Deno.test("owner that dies leaves its work to whoever waits at its door", async () => {
  await onStage(async (stage) => {
    const owner = await startOwner(stage);
    const second = stage.start(...run, "--answer", "wait");
    await second.until("A question waits");
    owner.signal("SIGKILL");
    await second.until("opening it here");
    // Both sessions are open again in the process that took over.
    let ids: string[] = [];
    for (let tries = 0; tries < 30 && ids.length < 2; tries++) {
      ids = linesOf((await stage.run("questions", "--json")).out).map(({ id }) => String(id));
    }
    assert.equal(ids.length, 2);
    for (const id of ids) await stage.run("answer", id, "allow");
    const ended = await second.ended;
    assert.equal(ended.code, 0, ended.err);
    assert.match(ended.out, /✓ read_file .*alpha\n\nfinished\nturn 1 completed/);
    for (const session of linesOf(await stage.output("sessions", "--json"))) {
      assert.match(await stage.output("replay", String(session["address"])), /no divergence/);
    }
  });
});

Deno.test("store that is held by a process without a door is in use, and its pid is named (I13)", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, readScript);
    await stage.output(...run);
    const held = new URL("hold_store.ts", import.meta.url).pathname;
    const holder = stage.startDeno("run", "-A", "--quiet", held, stage.path("store.db"));
    await holder.until("held");
    const [log, another] = await Promise.all([stage.run("log", "last"), stage.run(...run)]);
    for (const ended of [log, another]) {
      assertRefused(ended, 4, "store_in_use", `in use by process ${holder.pid}`);
    }
    holder.signal("SIGKILL");
    await holder.ended;
    assert.match(await stage.output("log", "last"), /reply/);
  });
});

Deno.test("run is canceled by the first Ctrl-C, and shows it", async () => {
  await onStage(async (stage) => {
    const owner = await startOwner(stage);
    owner.signal("SIGINT");
    const ended = await owner.ended;
    assertRefused(ended, 1, "turn_canceled");
    assert.match(ended.err, /Canceling the turn \(Ctrl-C again leaves at once\)/);
    assert.match(ended.out, /turn 1 canceled/);
    assert.match(await stage.output("replay", "last"), /no divergence/);
  });
});

Deno.test("run is canceled at the owner if it was given through the door", async () => {
  await onStage(async (stage) => {
    const owner = await startOwner(stage);
    const second = stage.start(...run, "--answer", "wait");
    await second.until("A question waits");
    second.signal("SIGINT");
    assertRefused(await second.ended, 1, "turn_canceled");
    const session = (await openQuestion(stage)).split("#")[0] ?? "";
    await stage.output("cancel", session, "--reason", "enough");
    assertRefused(await owner.ended, 1, "turn_canceled");
    assert.match(await stage.output("log", session), /session\.cancel .*"enough"/);
  });
});

Deno.test("run is left by the second Ctrl-C, even if the store does not answer; the next start goes on", async () => {
  await onStage(async (stage) => {
    const owner = await startOwner(stage);
    const database = new DatabaseSync(stage.path("store.db"), { timeout: 5_000 });
    database.exec("BEGIN EXCLUSIVE");
    try {
      owner.signal("SIGINT");
      await owner.until("Canceling the turn");
      owner.signal("SIGINT");
      assertRefused(await owner.ended, 130, "interrupted");
    } finally {
      database.exec("ROLLBACK");
      database.close();
    }
    const again = await stage.run("run", "agent", "again", "--session", "last", "--answer", "allow");
    assert.match(again.out, /✓ read_file .*alpha/, again.err);
    assert.match(await stage.output("replay", "last"), /no divergence/);
  });
});
