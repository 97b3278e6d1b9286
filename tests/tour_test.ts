/** What happens in one call? Start here: a prompt, a model that wants to act, a person who is asked, and the journal. */
import assert from "node:assert/strict";
import { localOperator } from "../schemas/principal.ts";
import { openStage, settled } from "./support/stage.ts";

Deno.test("tour: one call, from the prompt to the answer", async () => {
  // A stage is a whole runtime on virtual time, with a disk in memory. Its model plays these two answers.
  const stage = await openStage({
    answers: [
      { text: "I will send the money.", calls: [{ tool: "pay", arguments: { text: "10 to Ada" } }] },
      { expect: "paid", text: "Ada has her money." },
    ],
    // Paying twice would hurt, and policy wants a person to agree.
    tools: [{
      name: "pay",
      effect: "non_idempotent",
      approval: "prompt",
      work: () => Promise.resolve("paid"),
    }],
  });
  const { world, runtime, ledger } = stage;

  // A session is a root actor. Its catalog was resolved, sealed and issued before it takes a prompt.
  const session = await stage.session();
  const { accepted, report } = await settled(world, runtime.prompt(session, "Pay Ada."));
  // Accepted means durable: from here on, no crash loses the prompt.
  await settled(world, accepted());

  // The turn asked its model, and the model wants to pay. A person is asked first; nothing has happened yet.
  await world.settle();
  const question = runtime.questions.list()[0]!;
  assert.equal(question.subject.preview, '{"text": "10 to Ada"}');
  assert.deepEqual(ledger, []);

  // The answer carries the hash of what was shown, so that nobody agrees to something else.
  const { id, shown } = question;
  await runtime.questions.answer(id, { decision: "allow", by: localOperator, shown });

  // Now the tool acts, once. Its result goes to the model, and the model's last word to whoever waits.
  const { outcome, text } = await settled(world, report);
  assert.deepEqual([outcome, text], ["completed", "Ada has her money."]);
  assert.deepEqual(ledger.map(({ tool }) => tool), ["pay"]);

  // All of it is in the journal. What a machine was told and what it asked for stand together, in one crank.
  const lines = (await stage.entries(session)).map(({ seq, cause, kind, type }) =>
    `${seq === cause ? "" : "  "}${kind} ${type}`
  );
  assert.deepEqual(lines, [
    "created session",
    "input catalog.issued",
    "input session.prompt",
    "  intent model.generate",
    "  note tools.bound",
    "note turn.exposed",
    "outcome model.generate",
    "  note turn.planned",
    "  note invocation.judged",
    "  note approval.requested",
    "  intent question.ask",
    "outcome question.ask",
    "  note approval.decided",
    "  intent tool.call",
    "outcome tool.call",
    "  intent model.generate",
    "outcome model.generate",
    "  reply ok",
  ]);

  // Replay feeds this journal to the same machines, with nobody to perform anything. They ask for exactly the same.
  const replayed = await stage.replay(session, { strict: true });
  assert.deepEqual([replayed.divergence, replayed.intents, ledger.length], [undefined, 4, 1]);

  // And a crash now repeats nothing: what is recorded stays done.
  stage.crash();
  const after = await openStage({ disk: stage.disk, world, ledger });
  await world.advance(60_000);
  assert.deepEqual([after.runtime.recovery.open, ledger.length], [0, 1]);
});
