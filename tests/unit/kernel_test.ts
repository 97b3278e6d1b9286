/** What one crank takes and writes: kinds, causes, positions, times, bounds. */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { submit } from "../../src/kernel/command.ts";
import { CrankDesk } from "../../src/kernel/desk.ts";
import { KernelError } from "../../src/kernel/kernel.ts";
import { makeReady } from "../../src/kernel/route.ts";
import { callOf, modelCall, ok, openPuppet, reopen, timerAt } from "../support/puppet.ts";
import { openStage, settled, type ToolSketch } from "../support/stage.ts";
import { rootNamed } from "../support/units.ts";

const other = rootNamed(2);
const letter = { kind: "message", to: other, message: { type: "session.prompt", text: "Hi" } } as const;
const note = { kind: "note", type: "test.note", body: { n: 1 } } as const;

/** Entries by the crank that wrote them. */
function cranksOf(entries: readonly Entry[]): string[][] {
  const cranks = new Map<number, string[]>();
  for (const { cause, kind, type } of entries) {
    cranks.set(cause, [...cranks.get(cause) ?? [], `${kind} ${type}`]);
  }
  return [...cranks.values()];
}

// Proves K1.
Deno.test("kernel writes all that a crank does behind the entry that began it, in the machine's order", async () => {
  const puppet = await openPuppet();
  await puppet.act(
    { do: "post", outgoing: note },
    { do: "ask", id: "a", request: callOf("non_idempotent") },
    { do: "post", outgoing: letter },
    { do: "reply", value: "said" },
    { do: "ask", id: "b", request: modelCall },
  );
  await puppet.hands[0]?.end(ok());
  const entries = await puppet.entries();
  assert.deepEqual(cranksOf(entries), [
    ["created session"],
    [
      "input puppet.act",
      "note test.note",
      "intent tool.call",
      "message session.prompt",
      "reply ok",
      "intent model.generate",
    ],
    ["outcome model.generate"],
  ]);
  assert.deepEqual(entries.map((entry) => entry.seq), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.ok(entries.every((entry) => entry.epoch === 1 && entry.at === puppet.stage.world.now()));
});

// Proves K1: a unit is committed whole, with its rows.
Deno.test("kernel commits a crank's entries and rows at once", async () => {
  const puppet = await openPuppet();
  const before = puppet.stage.handle.commits.length;
  await puppet.act(
    { do: "ask", id: "a", request: callOf("non_idempotent") },
    { do: "ask", id: "t", request: timerAt(puppet.stage.world.now() + 1_000) },
    { do: "post", outgoing: letter },
    { do: "reply", value: "said" },
  );
  const commits = puppet.stage.handle.commits.slice(before);
  const kinds = commits.map(({ sets }) => sets.map(({ key }) => key[0]));
  const unit = kinds.find((one) => one.includes("log"));
  for (const kind of ["cmd", "log", "head", "open", "due", "inbox", "reply"]) {
    assert.ok(unit?.includes(kind), kind);
  }
});

// Proves K1: initial states ask ports too.
Deno.test("kernel lets a new root ask in its first crank", async () => {
  const stage = await openStage();
  const session = await stage.session();
  const catalog = session.replace("session/", "catalog/");
  assert.deepEqual(cranksOf(await stage.entries(catalog)), [
    ["created catalog", "intent catalog.seal"],
    ["outcome catalog.seal", "message catalog.issued"],
  ]);
});

// Proves K2.
Deno.test("kernel names an intent by its position; a request that is dropped at once leaves a gap", async () => {
  const puppet = await openPuppet();
  await puppet.act(
    { do: "ask", id: "gone", request: modelCall },
    { do: "stop", id: "gone" },
    { do: "ask", id: "a", request: callOf("non_idempotent") },
    { do: "ask", id: "b", request: callOf("conditional") },
  );
  const intents = (await puppet.entries()).filter((entry) => entry.kind === "intent");
  assert.deepEqual(intents.map(({ seq, cause, body }) => [seq, cause, (body as { n: number }).n]), [
    [3, 2, 1],
    [4, 2, 2],
  ]);
  assert.deepEqual(puppet.hands.map(({ performance }) => [performance.id, performance.key]), [
    ["2.1", `${puppet.root}#2.1`],
    ["2.2", `${puppet.root}#2.2`],
  ]);
  // The address is added at the edge: the journal holds relative positions only.
  assert.ok(!JSON.stringify(intents).includes(puppet.root));
});

// Proves K2.
Deno.test("kernel writes nothing for the ports of a root that comes back", async () => {
  const before = await openPuppet();
  await before.act({ do: "ask", id: "t", request: timerAt(before.stage.world.now() + 60_000) });
  const lines = await before.lines();
  const after = await reopen(before);
  await after.tell({ type: "puppet.nothing" });
  assert.deepEqual(await after.lines(), [...lines, "input puppet.nothing"]);
  assert.deepEqual(after.kernel.roots.get(after.root)?.shape().open, ["2.0"]);
});

// Proves K4.
Deno.test("kernel's desk never throws: it remembers what it dislikes", () => {
  const desk = new CrankDesk();
  const ref = { id: "a" } as never;
  assert.equal(desk.book(modelCall), "1.0");
  desk.register("1.0", modelCall, ref, false);
  desk.cancel("9.9");
  desk.drop("9.9", modelCall);
  desk.post(note);
  desk.begin(new Map(), 0);
  desk.book(modelCall);
  assert.match(desk.end().fault?.message ?? "", /asked something new/);
  desk.begin(new Map(), 7);
  for (let n = 0; n <= limits.crankAsksMax; n++) assert.equal(desk.book(modelCall), `7.${n}`);
  assert.match(desk.end().fault?.message ?? "", /more than 1000 requests/);
  desk.begin(new Map(), 8);
  desk.register("7.5", modelCall, ref, false);
  assert.match(desk.end().fault?.message ?? "", /came back within a crank/);
});

// Proves K5.
Deno.test("kernel gives a machine exactly the value that is written", async () => {
  const puppet = await openPuppet();
  await puppet.tell({ type: "puppet.act", acts: [], b: -0, a: undefined as never, z: { y: [1.5, "é"] } });
  const [heard] = puppet.heard();
  assert.ok(Object.is(heard?.["b"], 0));
  assert.deepEqual(Object.keys(heard ?? {}), ["type", "b", "z", "at", "seq", "epoch", "command"]);
  const body = (await puppet.entries())[1]?.body as { message: object };
  assert.deepEqual(Object.keys(body.message), ["type", "acts", "b", "z"]);
});

// Proves K6.
Deno.test("kernel fails a crank that gives a living child's id to another", async () => {
  const puppet = await openPuppet();
  await puppet.act({ do: "ask", id: "a", request: callOf("non_idempotent") });
  const again = await puppet.act({ do: "ask", id: "a", request: callOf("non_idempotent") });
  await puppet.stage.world.advance(1_000);
  const { status, value } = await settled(puppet.stage.world, again.reply);
  assert.deepEqual([status, (value as { failure: { code: string } }).failure.code], [
    "failed",
    "crank_failed",
  ]);
  assert.equal(puppet.hands.length, 1);
});

// Proves K7.
Deno.test("kernel stamps inputs and outcomes with their time and epoch, and outcomes with the intent they answer", async () => {
  const puppet = await openPuppet();
  const { world } = puppet.stage;
  await puppet.act({ do: "ask", id: "a", request: callOf("idempotent") }, {
    do: "ask",
    id: "b",
    request: callOf("idempotent"),
  });
  await world.advance(250);
  const failure = { code: "tool_failed", message: "no", retryable: false } as const;
  await puppet.hands[0]?.end({ status: "failed", failure });
  await world.advance(250);
  await puppet.hands[0]?.end(ok("fine"));
  const at = world.now();
  const [asked, failed, done] = puppet.heard();
  assert.deepEqual([asked?.["at"], asked?.["seq"], asked?.["epoch"]], [at - 500, 2, 1]);
  assert.deepEqual(failed?.["error"], { status: "failed", failure, at: at - 250, epoch: 1, intent: "2.0" });
  assert.deepEqual(done?.["output"], { value: "fine", at, epoch: 1, intent: "2.1" });
});

// Proves K8.
Deno.test("kernel fails a crank of more than 1,000 requests or messages", async () => {
  const asks = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ do: "ask", id: `a${n}`, request: timerAt(9e15) }) as const);
  const posts = (count: number) => [{ do: "post", outgoing: note, times: count }] as const;
  const acts = [asks(limits.crankAsksMax + 1), posts(limits.crankAsksMax + 1)];
  for (const tooMany of acts) {
    const puppet = await openPuppet();
    const { reply } = await puppet.act(...tooMany);
    const { status, value } = await settled(puppet.stage.world, reply);
    assert.equal(status, "failed");
    assert.equal((value as { failure: { code: string } }).failure.code, "crank_limit_exceeded");
    assert.deepEqual(await puppet.lines(), ["created session", "note poisoned", "reply failed"]);
  }
  const puppet = await openPuppet();
  await puppet.act(...posts(limits.crankAsksMax));
  assert.equal((await puppet.lines()).length, 2 + limits.crankAsksMax);
});

// Proves K12.
Deno.test("kernel notes an outcome that nobody waits for any more and never gives it to a machine", async () => {
  const puppet = await openPuppet();
  await puppet.act({ do: "ask", id: "a", request: modelCall });
  const hand = puppet.hands[0];
  await puppet.act({ do: "stop", id: "a" });
  assert.equal(hand?.performance.signal.aborted, true);
  await hand?.end(ok({ text: "too late", calls: [] }));
  const entries = await puppet.entries();
  assert.deepEqual(entries.slice(3).map(({ kind, type }) => `${kind} ${type}`), [
    "input puppet.act",
    "note dropped",
    "note late_outcome",
  ]);
  const late = { id: "2.0", attempt: 1, status: "ok", value: { text: "too late", calls: [] } };
  assert.deepEqual(entries.at(-1)?.body, late);
  assert.deepEqual(puppet.heard().map(({ type }) => type), ["puppet.act", "puppet.act"]);
});

// Proves K15.
Deno.test("kernel refuses inputs to a full mailbox, and never an outcome", async () => {
  const puppet = await openPuppet();
  const { kernel, root, stage } = puppet;
  await puppet.act({ do: "ask", id: "a", request: callOf("non_idempotent") });
  const live = kernel.roots.get(root);
  assert.ok(live);
  live.held = true;
  const message = { type: "puppet.nothing" };
  const give = (n: number) =>
    submit(kernel, { root, message, ref: { principal: "operator:test", key: `m${n}` } });
  const given = [];
  for (let n = 0; n < limits.mailboxMessagesMax; n++) given.push(await settled(stage.world, give(n)));
  const refused = settled(stage.world, give(1_000));
  await assert.rejects(refused, (error: KernelError) => error.code === "mailbox_full");
  await puppet.hands[0]?.end(ok());
  assert.equal(live.mailbox.length, limits.mailboxMessagesMax + 1);
  live.held = false;
  makeReady(kernel, live);
  await stage.world.advance(limits.writerLingerMs);
  for (const one of given) await settled(stage.world, one.accepted());
  assert.equal((await puppet.lines()).at(-1), "outcome tool.call");
  await settled(stage.world, give(1_000));
});

/** A tool that takes so long. */
function slowTool(name: string, ms: number): ToolSketch {
  const work: ToolSketch["work"] = async ({ clock }) => {
    await clock.sleepUntil(clock.now() + ms);
    return `${name} is done`;
  };
  return { name, parallelSafe: true, work };
}

// Proves CM-91: the real order of completion is in the journal, the model's own order in what the model is told.
Deno.test("kernel journals outcomes in the order in which they came, whatever order the model is told", async () => {
  const stage = await openStage({
    answers: [{ calls: [{ tool: "slow" }, { tool: "quick" }] }, { text: "Done." }],
    tools: [slowTool("slow", 2_000), slowTool("quick", 1_000)],
  });
  const session = await stage.session();
  const given = await settled(stage.world, stage.runtime.prompt(session, "Go."));
  await stage.world.advance(3_000);
  await settled(stage.world, given.report);
  const outcomes = (await stage.entries(session)).filter(({ type, kind }) =>
    type === "tool.call" && kind === "outcome"
  );
  const text = outcomes.map(({ body }) => (body as { value: { model: string } }).value.model);
  assert.deepEqual(text, ["quick is done", "slow is done"]);
  const messages = await settled(stage.world, stage.runtime.conversations.transcript(session, "1.0"));
  const told = messages.flatMap(({ role, text }) => role === "tool" ? [text.split("\n").at(-1)] : []);
  assert.deepEqual(told, ["slow is done", "quick is done"]);
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
});
