/** The promises of the actor API by HTTP, when connections break and the server ends. */
import assert from "node:assert/strict";
import { ActorApiError, connect } from "../../src/client.ts";
import { onHttpStage } from "../support/http_stage.ts";

const askPolicy = { policy: { tools: { read_file: "prompt" } } };
const askScript =
  "answers:\n  - text: look\n    calls: [{ tool: read_file, arguments: { path: a.txt } }]\n  - text: done\n";

/** The code of a refusal. */
async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(() => undefined, (error) => error);
  assert.ok(error instanceof ActorApiError, `no refusal, but ${error}`);
  return error.code;
}

Deno.test("spawn is 201 once and 200 for its key again, 409 for another body (GA-47, B10), over a restart too", () =>
  onHttpStage({}, async (stage) => {
    const spawn = async (body: unknown, key = "k") => {
      const answer = await stage.ask("/agents", { body, key });
      return { status: answer.status, body: await answer.json() };
    };
    const first = await spawn({ agent: "tester" });
    assert.equal(first.status, 201);
    assert.deepEqual(await spawn({ agent: "tester" }), { ...first, status: 200 });
    await stage.reopen();
    assert.deepEqual(await spawn({ agent: "tester" }), { ...first, status: 200 });
    const other = await spawn({ agent: "tester", title: "Other" });
    assert.deepEqual([other.status, other.body.code], [409, "idempotency_key_reuse"]);
    assert.equal((await spawn({ agent: "tester", name: "n" }, "a")).status, 201);
    assert.equal((await spawn({ agent: "tester", name: "n" }, "b")).status, 200);
    const { address } = first.body;
    const told = async (path: string) => {
      const answer = await stage.ask(path, { token: "p2", headers: { "x-trace-id": "t" } });
      assert.equal(answer.status, 404);
      return await answer.text();
    };
    const foreign = await told(`/actors/${address}`);
    assert.equal(await told(`/actors/session/ses_${"0".repeat(26)}`), foreign);
    const inOneSegment = await (await stage.ask(`/actors/${encodeURIComponent(address)}`)).json();
    assert.equal(inOneSegment.address, address);
  }));

Deno.test("a prompt whose reply was lost is sent again with its key, and given once (F36)", () =>
  onHttpStage({}, async (stage) => {
    const { address } = await (await stage.ask("/agents", { body: { agent: "tester" }, key: "k" })).json();
    const body = JSON.stringify({ text: "Hi" });
    {
      using connection = await stage.connect();
      await connection.write(new TextEncoder().encode([
        `POST /v1/actors/${address}/ask HTTP/1.1`,
        `Host: 127.0.0.1:${stage.server.port}`,
        "Authorization: Bearer p1",
        "Content-Type: application/json",
        "Idempotency-Key: lost",
        `Content-Length: ${body.length}`,
        "",
        body,
      ].join("\r\n")));
    }
    const turns = [1, 2].map(() => stage.ask(`/actors/${address}/ask`, { body, key: "lost" }));
    for (const turn of await Promise.all(turns)) assert.equal((await turn.json()).text, "Hello");
    const budget = await (await stage.ask(`/actors/${address}/budget`)).json();
    assert.equal(budget.spent.model_calls, 1);
    const watched = await (await stage.ask(`/actors/${address}/watch?follow=false&view=transcript`)).text();
    assert.equal(watched.match(/"type":"prompt"/g)?.length, 1);
    assert.match(watched, /event: end\n/);
  }));

Deno.test("a watch goes on behind Last-Event-ID without gap or repeat, and is told when the server ends", () =>
  onHttpStage({}, async (stage) => {
    const { address } = await (await stage.ask("/agents", { body: { agent: "tester" }, key: "k" })).json();
    await (await stage.ask(`/actors/${address}/ask`, { body: { text: "Hi" }, key: "a" })).body?.cancel();
    const ids = async (init = {}, query = "follow=false") => {
      const text = await (await stage.ask(`/actors/${address}/watch?${query}`, init)).text();
      return [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    };
    const all = await ids();
    assert.deepEqual(all, all.map((_, at) => at + 1));
    assert.deepEqual(await ids({ headers: { "last-event-id": "3" } }), all.slice(3));
    assert.deepEqual(await ids({}, "follow=false&after=3"), all.slice(3));
    const bad = await stage.ask(`/actors/${address}/watch`, { headers: { "last-event-id": "x" } });
    assert.equal((await bad.json()).code, "params_invalid");
    const following = await stage.ask(`/actors/${address}/watch?after=3`);
    const [rest] = await Promise.all([following.text(), stage.reopen()]);
    assert.match(rest, /retry: 1000\nevent: error\ndata: {"code":"draining"/);
    const seen = Math.max(3, ...[...rest.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)));
    assert.deepEqual((await ids({}, `follow=false&after=${seen}`))[0] ?? seen + 1, seen + 1);
  }));

Deno.test("the client's watch and commands go on over a restart of the server", () =>
  onHttpStage({}, async (stage) => {
    const client = await connect({ url: stage.server.url, token: "p1" });
    try {
      const { address, is_new: isNew } = await client.spawn({ agent: "tester", labels: { run: "7" } });
      assert.equal(isNew, true);
      const leave = new AbortController();
      const seen: number[] = [];
      const answers = Promise.withResolvers<void>();
      const watching = (async () => {
        for await (const event of client.watch({ address }, { signal: leave.signal })) {
          seen.push(event.seq);
          if (event.type === "entry" && JSON.stringify(event.entry.body).includes("Again")) answers.resolve();
        }
      })();
      assert.equal((await client.ask({ address, text: "Hi" })).state, "ended");
      const [turn] = await Promise.all([client.ask({ address, text: "Ho" }, { key: "b" }), stage.reopen()]);
      assert.equal(turn.state === "ended" ? turn.text : (await endOf(client, address)), "Again");
      await answers.promise;
      leave.abort();
      await watching;
      assert.deepEqual(seen, seen.map((_, at) => at + 1));
      assert.deepEqual((await client.list({ labels: { run: "7" } })).agents.map((one) => one.address), [
        address,
      ]);
      assert.equal((await client.tree({ address })).actors[0]?.address, address);
      assert.ok(
        (await client.why({ address: `${address}/turn/1` }).catch((error) => error)) instanceof Error,
      );
      let exported = "";
      for await (const { text } of client.export({ address })) exported += text;
      assert.match(exported, /^{"troupe":"export"/);
      assert.equal(await codeOf(client.send({ address: "session/nobody", text: "x" })), "agent_not_found");
      assert.equal(await codeOf(client.spawn({ agent: "tester", token: "x" } as never)), "params_invalid");
      assert.deepEqual(await client.stop({ address }), { address, state: "closed" });
    } finally {
      await client.close();
    }
  }));

async function endOf(client: Awaited<ReturnType<typeof connect>>, address: string): Promise<string> {
  const turn = await client.ask({ address, text: "Ho" }, { key: "b" });
  return turn.state === "ended" ? turn.text : "running";
}

Deno.test("a question is seen and decided by HTTP by a person's token alone, and then the turn ends", () =>
  onHttpStage({ config: askPolicy, script: askScript }, async (stage) => {
    const [program, person] = await Promise.all(
      ["p1", "operator"].map((token) => connect({ url: stage.server.url, token })),
    );
    try {
      const { address } = await program!.spawn({ agent: "tester" });
      const turn = program!.ask({ address, text: "Hi" });
      let [question] = (await person!.questions({ address })).questions;
      for await (const _ of program!.watch({ address, view: "transcript" })) {
        [question] = (await person!.questions({ address })).questions;
        if (question !== undefined) break;
      }
      assert.ok(question !== undefined);
      const given = { question: question.id, decision: "allow" as const, shown: question.shown };
      assert.equal(await codeOf(program!.answer(given)), "scope_missing");
      assert.deepEqual(await person!.answer(given), { question: question.id, decision: "allow" });
      const ended = await turn;
      assert.equal(ended.state === "ended" && ended.text, "done");
    } finally {
      await Promise.all([program!.close(), person!.close()]);
    }
  }));
