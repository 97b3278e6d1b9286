/** A turn that waits for a person is let go on by a program, over HTTP and real sockets. */
import assert from "node:assert/strict";
import { ActorApiError, connect } from "../../src/client.ts";
import { onHttpStage } from "../support/http_stage.ts";

const script = `answers:
  - calls: [{ tool: read_file, arguments: { path: a.txt } }]
  - { fail: { code: model_login_failed, message: The key is not valid any more, times: 1 }, text: It says alpha }
`;

Deno.test("a program lets a turn go on that waits for a person, once for its key, and nobody else's (CM-113)", () =>
  onHttpStage({ script }, async (stage) => {
    const { address } = await (await stage.ask("/agents", { body: { agent: "tester" }, key: "k" })).json();
    const resume = async (key: string, body = {}, token?: string) => {
      const answer = await stage.ask(`/actors/${address}/resume`, { body, key, token });
      return { status: answer.status, body: await answer.json() };
    };
    const early = await resume("early");
    assert.deepEqual([early.status, early.body.code, early.body.outcome], [
      409,
      "turn_not_waiting",
      "not_applied",
    ]);
    assert.equal((await resume("early-too", { wait_ms: 0 })).body.code, "turn_not_waiting");
    const asked = stage.ask(`/actors/${address}/ask`, { body: { text: "Look" }, key: "a" });
    const viewed = async () => await (await stage.ask(`/actors/${address}`)).json();
    // Watched from the beginning, so that nobody sleeps until it waits.
    const watched = await stage.ask(`/actors/${address}/watch?view=entries`);
    const reader = watched.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; !text.includes("turn.waiting");) text += (await reader.read()).value ?? "";
    await reader.cancel();
    assert.deepEqual((await viewed()).waiting.reason, "manual_recovery_required");

    assert.equal((await resume("r", {}, "p2")).status, 404);
    assert.equal((await resume("r", { wait_ms: -1 })).body.code, "params_invalid");
    const resumed = await resume("r");
    assert.equal(resumed.status, 200);
    const { state, outcome, text } = resumed.body;
    assert.deepEqual([state, outcome, text], ["ended", "completed", "It says alpha"]);
    assert.deepEqual((await (await asked).json()).text, "It says alpha");
    assert.equal((await viewed()).waiting, undefined);
    assert.deepEqual(await resume("r"), resumed, "the same key is the same resumption");
    const client = await connect({ url: stage.server.url, token: "p1" });
    const again = await client.resume({ address }).then(() => undefined, (error: unknown) => error);
    assert.ok(again instanceof ActorApiError);
    assert.equal(again.code, "turn_not_waiting");
    await client.close();
    const entries = await (await stage.ask(`/actors/${address}/watch?follow=false`)).text();
    assert.equal(entries.match(/turn\.wait_ended/g)?.length, 1);
    const calls = entries.split("\n").filter((line) =>
      /"kind":"intent"/.test(line) && /"type":"tool\.call"/.test(line)
    );
    assert.equal(calls.length, 1, "what was done is not done again");
  }));
