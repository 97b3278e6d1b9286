/** `troupe why` and `troupe tree` in real processes: of an owner that lives, of a store that nobody holds, of what broke. */
import assert from "node:assert/strict";
import { create } from "../../src/kernel/create.ts";
import { submit } from "../../src/kernel/command.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import { startRuntime } from "../../src/runtime.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { wirePuppets } from "../support/puppet.ts";
import { rootNamed } from "../support/units.ts";
import { askPolicy, assertRefused, linesOf, onStage, readScript, type Stage, writeAgent } from "./troupe.ts";

const run = ["run", "agent", "hi", "--workspace", "ws"];

async function headOf(stage: Stage, root: string): Promise<number> {
  return linesOf(await stage.output("log", root, "--json")).length;
}

Deno.test("why says of a call that waits for a person how it is answered, what time-out does, and who else moves it", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, readScript);
    await stage.write(askPolicy);
    const owner = stage.start(...run, "--answer", "wait");
    await owner.until("A question waits");
    const [question] = linesOf(await stage.output("questions", "--json"));
    const id = String(question?.["id"]);
    const session = id.split("#")[0] ?? "";

    const call = await stage.output("why", "last/turn/1/call/0.0");
    assert.match(call, new RegExp(`^${session}/turn/1/call/0\\.0\n`));
    assert.match(call, /is {9}awaitingApproval \(invocation\), since \d{4}-/);
    assert.doesNotMatch(call, /resting in the store/);
    assert.ok(call.includes(`troupe answer '${id}' allow|deny|always_allow_for_session`), call);
    assert.match(call, /until \d{4}-.*in \d+ min.*then: nobody's answer counts as no -> expired/);
    assert.match(call, /moved by {3}question\.decided -> binding \| denied \(from its parent\)/);
    assert.match(call, /invocation\.cancel -> canceled \(from its parent\)/);

    const asked = await stage.output("why", id);
    assert.match(asked, new RegExp(`^${session}/question/1\n`));
    assert.match(asked, /is {9}pending \(question\)/);

    const turn = await stage.output("why", `${session}/turn/1`);
    assert.match(turn, new RegExp(`waits for {2}${session}/turn/1/call/0\\.0, which is awaitingApproval`));
    const whole = await stage.output("why", "last");
    assert.ok(whole.includes(`troupe answer '${id}'`), whole);
    assert.match(whole, /session\.cancel \(from its operator or program: troupe cancel SESSION\)/);

    const lines = linesOf(await stage.output("tree", "last", "--json"));
    assert.deepEqual(lines.map(({ depth, name, state }) => [depth, name, state]), [
      [0, session, "running"],
      [1, "turn/1", "staging"],
      [2, "call/0.0", "awaitingApproval"],
      [1, "question/1", "pending"],
      [1, session.replace("session", "catalog"), "ready"],
    ]);
    assert.ok(lines.every(({ sinceMs, isLive }) => typeof sinceMs === "number" && isLive === true));
    assertRefused(await stage.run("why", "last/turn/2"), 2, "actor_not_found", "see troupe tree session/");

    await stage.output("answer", id, "allow");
    assert.equal((await owner.ended).code, 0);
    assertRefused(await stage.run("why", id), 2, "actor_not_found", "it has ended");
  });
});

Deno.test("why and tree of a store whose owner was killed tell what its journal tells, and nothing is performed", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, readScript);
    await stage.write(askPolicy);
    const owner = stage.start(...run, "--answer", "wait");
    await owner.until("A question waits");
    owner.signal("SIGKILL");
    await owner.ended;
    const before = await headOf(stage, "last");
    const call = await stage.output("why", "last/turn/1/call/0.0");
    assert.match(call, /is {9}awaitingApproval \(invocation\), since .*, resting in the store/);
    assert.match(call, /waits for {2}a person's answer \(approval: /);
    const session = linesOf(await stage.output("why", "last", "--json"))[0];
    assert.deepEqual([session?.["state"], session?.["isLive"], session?.["rests"]], [
      "running",
      false,
      false,
    ]);
    const tree = await stage.output("tree");
    assert.match(tree, /^supervisor\/main +idle, resting /m);
    assert.match(tree, /^ {4}call\/0\.0 +awaitingApproval, resting /m);
    assert.equal(await headOf(stage, "last"), before);
  });
});

/** A store in which one root failed at four messages in a row. */
async function breakRoot(location: string): Promise<void> {
  const root = rootNamed(1);
  const runtime = await startRuntime({
    store: await openKvStore(location),
    seams: createSystemSeams({ log: () => {} }),
    wire: wirePuppets,
    performers: () => ({}) as never,
  });
  const quarantined = Promise.withResolvers<void>();
  runtime.watch((event) => event.type === "quarantined" && quarantined.resolve());
  await create(runtime.kernel, { address: root, kind: "session", input: {}, title: "puppet" });
  for (let n = 1; n <= 4; n++) {
    const message = { type: "puppet.act", acts: [{ do: "throw" }] };
    const ref = { principal: "operator:test", key: `key${n}` };
    const { reply } = await submit(runtime.kernel, { root, message, ref });
    assert.equal((await reply).status, "failed");
  }
  await quarantined.promise;
  await runtime.stop();
}

Deno.test("turn whose session was taken out of service is lost to who looks at the log and the tree (DM-133)", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, readScript);
    await stage.write(askPolicy);
    const owner = stage.start(...run, "--answer", "wait");
    await owner.until("A question waits");
    owner.signal("SIGKILL");
    await owner.ended;
    const kv = await Deno.openKv(stage.path("store.db"));
    for await (const { key, value } of kv.list<{ kind: string }>({ prefix: ["root"] })) {
      const record = { ...value, status: "quarantined", reason: "a test said so" };
      if (value.kind === "session") await kv.set(key, record);
    }
    kv.close();
    const log = await stage.run("log", "last");
    assert.match(log.err, /^The turn 1 is lost: the session is quarantined: a test said so$/m);
    const tree = await stage.output("tree");
    assert.match(tree, /^session\/\S+ +quarantined .*a test said so$/m);
    assert.match(tree, /^ {2}turn\/1 +lost +- /m);
  });
});

Deno.test("root that failed at every message is named with its reason by sessions, why and tree (F14)", async () => {
  await onStage(async (stage) => {
    await breakRoot(stage.path("store.db"));
    const root = rootNamed(1);
    const reason = "It crashed more often than its supervisor allows";
    const sessions = await stage.output("sessions");
    assert.match(sessions, new RegExp(`puppet .* quarantined: ${reason}`));
    const why = await stage.output("why", root);
    assert.match(why, /is {9}quarantined.*, since \d{4}-/);
    assert.ok(why.includes(reason), why);
    assert.match(why, /its supervisor gave up after 3 restarts within 1 min/);
    assert.match(why, /the message puppet\.act broke it .* ago: crank_failed: .*The puppet broke/);
    assert.doesNotMatch(why, /moved by|also takes/);
    const tree = await stage.output("tree");
    assert.match(tree, new RegExp(`^${root} +quarantined +\\S.* 3 +- +${reason}`, "m"));
    assert.match(tree, /^supervisor\/main +idle/m);
  });
});
