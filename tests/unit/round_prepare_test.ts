/** Programs that prepare model rounds: what the model is told then, and what becomes of a round that nobody prepares. */
import assert from "node:assert/strict";
import type { CallEvent } from "../../schemas/api_program.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { type ApiStage, openApiStage } from "../support/api_stage.ts";
import { manifestOf, type ServedProgram, serveProgram } from "../support/served_program.ts";

const options = {
  capabilities: ["tool.call:*"],
  granted: ["tool.call:*"],
  answers: [
    { calls: [{ tool: "greet", arguments: {} }] },
    { text: "Done." },
    { text: "Done again." },
    { text: "Done once more." },
  ],
};

type Prepare = Extract<CallEvent, { readonly type: "prepare" }>;

/** A program that prepares rounds, and has not answered any. */
async function open(): Promise<{ stage: ApiStage; program: ServedProgram; asked: () => readonly Prepare[] }> {
  const stage = await openApiStage(options);
  const program = await serveProgram(stage, manifestOf({}, { prepares_rounds: true }));
  return { stage, program, asked: () => program.heard.filter((event) => event.type === "prepare") };
}

async function begin(stage: ApiStage): Promise<string> {
  const { address } = await stage.run(stage.client().spawn({ agent: "tester", prompt: "Go" }));
  await stage.world.settle();
  return address;
}

function answer(
  { stage, program }: { stage: ApiStage; program: ServedProgram },
  to: Prepare,
  prepared: JsonObject,
) {
  return stage.run(program.report(`p${to.seq}`, { call_id: to.call_id, prepared }));
}

async function textOf(stage: ApiStage, session: string): Promise<string> {
  return JSON.stringify(await stage.entries(session as never));
}

Deno.test("program prepares each model round: its messages and tools are what the model is told, journaled and replayed (CM-38)", async () => {
  const on = await open();
  const { stage, program, asked } = on;
  const session = await begin(stage);
  const [first] = asked();
  assert.ok(first);
  assert.deepEqual([first.round.session, first.round.turn, first.round.step], [session, 1, 0]);
  assert.deepEqual(first.round.messages.at(-1), { role: "user", text: "Go" });
  assert.deepEqual(first.round.tool_surface, ["greet"]);
  const messages = [{ role: "system", text: "Be brief" }, ...first.round.messages] as never;
  assert.deepEqual(await answer(on, first, { messages, tool_surface: ["greet"] }), {
    call_id: first.call_id,
    state: "noted",
  });
  await stage.world.settle();
  const [call] = program.calls();
  assert.ok(call, "the model called the tool of the surface");
  const done = program.done(call, "m1");
  await stage.world.advance(100);
  await stage.run(done);
  const [, second] = asked();
  assert.equal(second?.round.step, 1);
  assert.ok(second);
  await answer(on, second, { messages: second.round.messages as never, tool_surface: [] });
  await stage.world.settle();
  const notes = (await stage.entries(session as never)).filter(({ type }) => type === "round.prepared");
  assert.deepEqual(
    notes.map(({ body }) => (body as { readonly tool_surface: unknown }).tool_surface),
    [["greet"], []],
  );
  assert.match(JSON.stringify(notes[0]?.body), /"text":"Be brief"/);
  assert.match(await textOf(stage, session), /"text":"Done\."/);
  program.leave();
  assert.equal((await stage.replay(session as never, { strict: true })).divergence, undefined);
});

const round = { messages: [{ role: "user", text: "Hi" }], tool_surface: ["greet"] };
const wrong: { readonly [what: string]: JsonObject } = {
  "no messages": { tool_surface: ["greet"] },
  "no message at all": { ...round, messages: [] },
  "no tool surface": { messages: round.messages },
  "a tool that is not offered": { ...round, tool_surface: ["greet", "terminal"] },
  "a role that there is not": { ...round, messages: [{ role: "operator", text: "Obey" }] },
};

for (const [what, prepared] of Object.entries(wrong)) {
  Deno.test(`program that prepares a round with ${what} ends the turn, and no model is asked (CM-38)`, async () => {
    const on = await open();
    const session = await begin(on.stage);
    const [asked] = on.asked();
    assert.ok(asked);
    await answer(on, asked, prepared);
    await on.stage.world.settle();
    const text = await textOf(on.stage, session);
    assert.match(text, /"code":"invalid_prepare_round_response"/);
    assert.match(text, /"outcome":"failed"/);
    assert.doesNotMatch(text, /"round.prepared"/);
    assert.equal(on.program.calls().length, 0);
  });
}

Deno.test("program that does not prepare a round in 30 s is asked again, and late words change nothing (CM-37, CM-38)", async () => {
  const on = await open();
  const { stage, asked, program } = on;
  const session = await begin(stage);
  const [first] = asked();
  assert.ok(first);
  assert.equal(first.deadline_at, stage.world.seams.clock.now() + 30_000);
  await stage.world.advance(29_999);
  assert.doesNotMatch(await textOf(stage, session), /mailbox_timeout/);
  await stage.world.advance(1);
  await stage.world.settle();
  assert.match(await textOf(stage, session), /"code":"mailbox_timeout"/);
  const late = program.report("late", { call_id: first.call_id, prepared: round });
  assert.match(await stage.run(late.then(() => "taken", ({ code }) => code)), /report_stale/);
  await stage.world.advance(5_000);
  const second = asked()[1];
  assert.ok(second, "it is asked once more");
  await answer(on, second, { ...round, tool_surface: [] });
  await stage.world.settle();
  assert.match(await textOf(stage, session), /"type":"round.prepared"/);
});

Deno.test("round of a turn whose program is gone is never put to the model unprepared (CM-38)", async () => {
  const { stage, program, asked } = await open();
  const session = await begin(stage);
  assert.equal(asked().length, 1);
  program.leave();
  await stage.world.advance(600_000);
  await stage.world.settle();
  const entries = await stage.entries(session as never);
  assert.equal(
    entries.some(({ type, kind, body }) =>
      kind === "outcome" && type === "model.generate" && (body as { readonly status: string }).status === "ok"
    ),
    false,
  );
  assert.match(JSON.stringify(entries), /"code":"program_unavailable"/);
});
