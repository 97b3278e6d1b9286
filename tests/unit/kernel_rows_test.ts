/** What a crank leaves beside its entries: rows by which things are found again, and hashes of states (K19, K25). */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { create } from "../../src/kernel/create.ts";
import { makeReady } from "../../src/kernel/route.ts";
import { callOf, flush, ok, openPuppet, questionUntil, timerAt } from "../support/puppet.ts";
import { settled } from "../support/stage.ts";
import { rootNamed } from "../support/units.ts";

// Proves K19.
Deno.test("kernel keeps rows for what is open, due, asked and on its way, and only as long", async () => {
  const puppet = await openPuppet();
  const { world, runtime } = puppet.stage;
  const due = world.now() + 5_000;
  assert.deepEqual(puppet.rows(), []);
  await puppet.act({ do: "ask", id: "t", request: timerAt(due) });
  assert.deepEqual(puppet.rows(), ["due"]);
  await puppet.act({ do: "ask", id: "a", request: callOf("non_idempotent") });
  assert.deepEqual(puppet.rows(), ["due", "open"]);
  await puppet.act({ do: "ask", id: "q", request: questionUntil(due) });
  assert.deepEqual(puppet.rows(), ["due", "open", "question"]);
  const [question] = runtime.questions.list();
  const by = { kind: "operator", id: "test" } as const;
  runtime.questions.answer(question?.id ?? "", { decision: "allow", by, shown: question?.shown ?? "" });
  await flush(puppet.stage);
  assert.deepEqual(puppet.rows(), ["due", "open"]);
  await puppet.hands[0]?.end(ok());
  await world.settle();
  assert.deepEqual(puppet.rows(), ["due"]);
  await world.advance(5_000);
  await flush(puppet.stage);
  assert.deepEqual(puppet.rows(), []);
  await puppet.act({ do: "ask", id: "t2", request: timerAt(due + 50_000) });
  await puppet.act({ do: "stop", id: "t2" });
  assert.deepEqual(puppet.rows(), []);
});

// Proves K13, K19: the sender's commit sets the row, the receiver's deletes it.
Deno.test("kernel keeps a row for a message until its receiver has taken it (I15)", async () => {
  const puppet = await openPuppet();
  const { kernel, stage } = puppet;
  const address = rootNamed(2);
  await settled(stage.world, create(kernel, { address, kind: "session", input: {}, title: "receiver" }));
  const receiver = kernel.roots.get(address);
  assert.ok(receiver);
  receiver.held = true;
  const message = { type: "puppet.nothing" };
  await puppet.act({ do: "post", outgoing: { kind: "message", to: address, message } });
  assert.deepEqual(puppet.rows(), ["inbox"]);
  receiver.held = false;
  makeReady(kernel, receiver);
  await flush(stage);
  assert.deepEqual([puppet.rows(), kernel.claimed.size], [[], 0]);
  const body = (await stage.entries(address)).at(-1)?.body;
  assert.deepEqual(body, { message, sender: puppet.root });
});

// Proves K25.
Deno.test("kernel stores the state's hash wherever a root rests, and every 256 entries where it does not", async () => {
  const puppet = await openPuppet();
  await puppet.tell({ type: "puppet.nothing" });
  await puppet.tell({ type: "puppet.busy" });
  for (let n = 0; n < 2 * limits.snapshotEveryEntries + 10; n++) {
    await puppet.tell({ type: "puppet.nothing" });
  }
  await puppet.tell({ type: "puppet.rest" });
  const hashed = (await puppet.entries()).filter((entry) => entry.state !== undefined).map(({ seq }) => seq);
  assert.deepEqual(hashed, [1, 2, 258, 514, 526]);
});
