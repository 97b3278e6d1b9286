/** The actor API in process: what is the same on every carrier. */
import assert from "node:assert/strict";
import { ApiScope } from "../../schemas/api_scope.ts";
import { ApiMethod } from "../../schemas/api.ts";
import type { WatchEvent } from "../../schemas/api_view.ts";
import { localOperator } from "../../schemas/principal.ts";
import { ActorApiError } from "../../src/client.ts";
import { openApiStage, programScopes } from "../support/api_stage.ts";

const hello = { answers: [{ text: "Hello" }, { text: "Again" }] };

/** The code of a refusal. */
async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(() => undefined, (error) => error);
  assert.ok(error instanceof ActorApiError, `no refusal, but ${error}`);
  return error.code;
}

Deno.test("spawn with the same key is one agent, over a crash too; with another body it is refused (K14)", async () => {
  const stage = await openApiStage(hello);
  const first = await stage.run(stage.client().spawn({ agent: "tester" }, { key: "k" }));
  const again = await stage.run(stage.client().spawn({ agent: "tester" }, { key: "k" }));
  assert.deepEqual(again, first);
  assert.equal(first.is_new, true);
  const other = stage.client().spawn({ agent: "tester", title: "Other" }, { key: "k" });
  assert.equal(await stage.run(codeOf(other)), "idempotency_key_reuse");
  stage.crash();
  const next = await openApiStage({ ...hello, disk: stage.disk, world: stage.world });
  assert.deepEqual(await next.run(next.client().spawn({ agent: "tester" }, { key: "k" })), first);
  assert.equal((await next.run(next.client().list({}))).agents.length, 1);
});

Deno.test("two spawns with one key at once are one agent, and a name is got or created once for its owner", async () => {
  const stage = await openApiStage(hello);
  const client = stage.client();
  const both = [
    client.spawn({ agent: "tester" }, { key: "k" }),
    client.spawn({ agent: "tester" }, { key: "k" }),
  ];
  const [one, two] = await stage.run(Promise.all(both));
  assert.equal(one?.address, two?.address);
  const named = [client.spawn({ agent: "tester", name: "n" }), client.spawn({ agent: "tester", name: "n" })];
  const found = await stage.run(Promise.all(named));
  assert.equal(found[0]?.address, found[1]?.address);
  assert.deepEqual(found.map(({ is_new: isNew }) => isNew).sort(), [false, true]);
  const stranger = stage.client({ principal: { kind: "program", id: "p2" } });
  const other = await stage.run(stranger.spawn({ agent: "tester", name: "n" }));
  assert.notEqual(other.address, found[0]?.address);
  assert.equal(other.is_new, true);
});

Deno.test("a prompt is accepted once durable, ask waits for its turn, and the same key is the same turn", async () => {
  const stage = await openApiStage(hello);
  const client = stage.client();
  const { address } = await stage.run(client.spawn({ agent: "tester" }));
  const turn = await stage.run(client.ask({ address, text: "Hi" }, { key: "a" }));
  assert.deepEqual(turn, { state: "ended", address, turn: 1, outcome: "completed", steps: 1, text: "Hello" });
  assert.deepEqual(await stage.run(client.ask({ address, text: "Hi" }, { key: "a" })), turn);
  assert.equal(
    await stage.run(codeOf(client.ask({ address, text: "Ho" }, { key: "a" }))),
    "idempotency_key_reuse",
  );
  const sent = await stage.run(client.send({ address, text: "Ho" }, { key: "b" }));
  assert.deepEqual(sent, { address, state: "accepted" });
  const second = await stage.run(client.ask({ address, text: "Ho" }, { key: "b" }));
  assert.equal(second.state === "ended" && second.text, "Again");
});

Deno.test("what belongs to another principal is not there: the same refusal for foreign, unknown and malformed", async () => {
  const stage = await openApiStage(hello);
  const { address } = await stage.run(stage.client().spawn({ agent: "tester" }));
  const stranger = stage.client({ principal: { kind: "program", id: "p2" } });
  const said = async (what: string) => {
    const error = await stage.run(stranger.get({ address: what }).catch((error) => error));
    const { code, message, retryable, outcome } = error as ActorApiError;
    return { code, message, retryable, outcome };
  };
  const foreign = await said(address);
  assert.equal(foreign.code, "agent_not_found");
  assert.deepEqual(await said(`session/ses_${"0".repeat(26)}`), foreign);
  assert.deepEqual(await said("session/nobody"), foreign);
  const attempts = [
    () => stranger.send({ address, text: "x" }),
    () => stranger.stop({ address }),
    () => stranger.tree({ address }),
  ];
  for (const attempt of attempts) assert.equal(await stage.run(codeOf(attempt())), "agent_not_found");
  assert.deepEqual((await stage.run(stranger.list({}))).agents, []);
  const operator = stage.client({ principal: { kind: "operator", id: "local" } });
  assert.equal((await stage.run(operator.get({ address }))).owner, "program:p1");
});

Deno.test("a right that the token has not is refused by name, and agents as data need one of their own", async () => {
  const stage = await openApiStage(hello);
  const poor = stage.client({ scopes: new Set(["sessions:read"]) });
  assert.equal(await stage.run(codeOf(poor.spawn({ agent: "tester" }))), "scope_missing");
  const scopes = new Set([...programScopes].filter((scope) => scope !== "agents:define"));
  const agent = { name: "mine", model: "scripted/test" };
  assert.equal(await stage.run(codeOf(stage.client({ scopes }).spawn({ agent }))), "scope_missing");
  assert.equal((await stage.run(stage.client().spawn({ agent }))).is_new, true);
});

Deno.test("rights can only become less: what the agent has not is refused, what is left is what it gets (DM-127)", async () => {
  const stage = await openApiStage(hello);
  const client = stage.client();
  const agent = { name: "mine", model: "scripted/test", capabilities: ["fs.read", "fs.write"] };
  const more = client.spawn({ agent, rights: { capabilities: ["fs.read", "web.fetch"] } });
  assert.equal(await stage.run(codeOf(more)), "rights_exceeded");
  assert.equal(await stage.run(codeOf(client.spawn({ agent, rights: { mode: "auto" } }))), "rights_exceeded");
  const { address } = await stage.run(
    client.spawn({ agent, rights: { capabilities: ["fs.read"], mode: "plan" } }),
  );
  const [created] = await stage.entries(address);
  const { input } = created?.body as { input: { agent: { capabilities: string[] }; mode: string } };
  assert.deepEqual([input.agent.capabilities, input.mode], [["fs.read"], "plan"]);
});

Deno.test("watch goes on from any entry without gap or repeat, and ends with what is there if nobody follows", async () => {
  const stage = await openApiStage(hello);
  const client = stage.client();
  const { address } = await stage.run(client.spawn({ agent: "tester" }));
  await stage.run(client.ask({ address, text: "Hi" }));
  const seen = async (after: number) => {
    const events: WatchEvent[] = [];
    for await (const event of client.watch({ address, after, follow: false })) events.push(event);
    return events.map(({ seq }) => seq);
  };
  const all = await stage.run(seen(0));
  assert.deepEqual(all, all.map((_, index) => index + 1));
  assert.deepEqual(await stage.run(seen(3)), all.slice(3));
  const told: unknown[] = [];
  await stage.run((async () => {
    for await (const event of client.watch({ address, view: "transcript", follow: false })) {
      if (event.type === "transcript") told.push(event.item);
    }
  })());
  assert.deepEqual(told, [
    { type: "prompt", text: "Hi" },
    { type: "answer", text: "Hello" },
    { type: "turn", turn: 1, outcome: "completed" },
  ]);
});

Deno.test("stop ends an agent for good: it answers once nothing runs, and again, and takes no prompt any more", async () => {
  const stage = await openApiStage(hello);
  const client = stage.client();
  const { address } = await stage.run(client.spawn({ agent: "tester" }));
  assert.deepEqual(await stage.run(client.stop({ address }, { key: "s" })), { address, state: "closed" });
  assert.deepEqual(await stage.run(client.stop({ address }, { key: "s" })), { address, state: "closed" });
  assert.deepEqual(await stage.run(client.stop({ address })), { address, state: "closed" });
  const turn = await stage.run(client.ask({ address, text: "Hi" }));
  assert.equal(turn.state === "ended" && turn.failure?.code, "session_closed");
  stage.crash();
  const next = await openApiStage({ disk: stage.disk, world: stage.world });
  assert.deepEqual(await next.run(next.client().stop({ address }, { key: "s" })), {
    address,
    state: "closed",
  });
});

Deno.test("a command without a key, with a bad one, or with fields that nobody knows is refused", async () => {
  const stage = await openApiStage(hello);
  const client = stage.client();
  for (const [key, code] of [["", "idempotency_key_missing"], ["a b", "idempotency_key_invalid"]] as const) {
    assert.equal(await stage.run(codeOf(client.spawn({ agent: "tester" }, { key }))), code);
  }
  const odd = { agent: "tester", token: "x" } as never;
  assert.equal(await stage.run(codeOf(client.spawn(odd))), "params_invalid");
  assert.equal((await stage.run(client.list({}))).agents.length, 0);
});

Deno.test("program that settles a call of unknown outcome must say how it knows, and is told so (R11)", async () => {
  const work = () => Promise.reject(new Error("The line broke"));
  const stage = await openApiStage({
    tools: [{ name: "pay", effect: "non_idempotent", work }],
    answers: [{ calls: [{ tool: "pay" }] }, { text: "Paid" }],
  });
  const operator = stage.client({ principal: localOperator, scopes: new Set(ApiScope.options) });
  const address = await stage.session();
  await stage.run(operator.send({ address, text: "Pay" }));
  await stage.world.settle();
  const { questions: [open] } = await stage.run(operator.questions({ address }));
  assert.ok(open !== undefined);
  const given = { question: open.id, decision: "mark_applied", shown: open.shown } as const;
  assert.equal(await stage.run(codeOf(operator.answer(given))), "note_required");
  assert.equal((await stage.run(operator.questions({ address }))).questions.length, 1);
  const note = "it is on the bill";
  assert.deepEqual(await stage.run(operator.answer({ ...given, note })), {
    question: open.id,
    decision: "mark_applied",
  });
});

Deno.test("spawn with a parent begins its child by its own tool: by the agent's name, or a profile, once for a key", async () => {
  const stage = await openApiStage(hello);
  const client = stage.client();
  const agent = {
    name: "boss",
    model: "scripted/test",
    tools: ["subagent_spawn"],
    capabilities: ["agents.spawn:boss"],
    profiles: { main: {}, care_taker: { default_subagent: true } },
  };
  const { address: parent } = await stage.run(client.spawn({ agent }));
  const child = await stage.run(client.spawn({ agent: "boss", parent, prompt: "Look" }, { key: "c" }));
  assert.deepEqual(
    await stage.run(client.spawn({ agent: "boss", parent, prompt: "Look" }, { key: "c" })),
    child,
  );
  assert.equal((await stage.run(client.get({ address: child.address }))).parent, parent);
  const other = await stage.run(client.spawn({ agent: "care_taker", parent, prompt: "Look" }));
  assert.notEqual(other.address, child.address);
  const unknown = client.spawn({ agent: "nobody", parent, prompt: "Look" });
  assert.equal(await stage.run(codeOf(unknown)), "arguments_invalid");
  const more = client.spawn({ agent: "boss", parent, prompt: "Look", rights: { mode: "auto" } });
  assert.equal(await stage.run(codeOf(more)), "params_invalid");
});

Deno.test("the client has a function for every method of the API", async () => {
  const stage = await openApiStage(hello);
  const client = stage.client();
  for (const method of ApiMethod.options) assert.equal(typeof client[method], "function", method);
});
