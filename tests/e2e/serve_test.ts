/** `troupe serve` as a process: begun, used and ended as other programs do it. */
import assert from "node:assert/strict";
import { Validator } from "@seriousme/openapi-schema-validator";
import { connect } from "../../src/client.ts";
import { askPolicy, assertRefused, onStage, readScript, type Stage, writeAgent } from "./troupe.ts";

/** Starts the server, and gives its address and the token that it wrote. */
async function serve(stage: Stage) {
  const running = stage.start("serve", "agent", "--workspace", "ws");
  const said = await running.until("http://127.0.0.1:");
  const [url = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
  const token = (await Deno.readTextFile(stage.path("store.db.token"))).trim();
  return { running, url, token };
}

Deno.test("asked twice to end, the server tells who waits how far it is, and ends; the next one goes on (F04)", () =>
  onStage(async (stage) => {
    stage.debug();
    await writeAgent(stage, readScript);
    await stage.write(askPolicy);
    const { running, url, token } = await serve(stage);
    const client = await connect({ url, token });
    const { address } = await client.spawn({ agent: "tester" });
    const asked = client.ask({ address, text: "Hi" }, { key: "a" });
    for await (const _ of client.watch({ address, view: "state" })) {
      if ((await client.questions({ address })).questions.length > 0) break;
    }
    running.signal("SIGTERM");
    await running.until("Ending");
    const late = await fetch(`${url}/v1/agents`, { headers: { authorization: `Bearer ${token}` } });
    assert.deepEqual([late.status, (await late.json()).code], [503, "draining"]);
    running.signal("SIGTERM");
    assert.deepEqual(await asked, { state: "running", address });
    const left = await running.ended;
    assert.equal(left.code, 0);
    assert.match(left.err, /shutdown .*"within_ms":1000,"in_time":false/);
    await client.close();
    const next = await serve(stage);
    assert.equal(next.token, token);
    const again = await connect(next);
    const [question] = (await again.questions({ address })).questions;
    assert.ok(question !== undefined);
    const turn = again.ask({ address, text: "Hi" }, { key: "a" });
    await again.answer({ question: question.id, decision: "allow", shown: question.shown });
    const ended = await turn;
    assert.equal(ended.state === "ended" && ended.text, "finished");
    await again.close();
    next.running.signal("SIGTERM");
    assert.equal((await next.running.ended).code, 0);
  }));

Deno.test("asked to end under load, the server answers what it accepted, refuses the rest, and ends well (F03)", () =>
  onStage(async (stage) => {
    stage.debug();
    await writeAgent(stage, "answers:\n  - text: Hello\n");
    const { running, url, token } = await serve(stage);
    const post = async (path: string, key: string, body: unknown) => {
      const headers = {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "idempotency-key": key,
      };
      const answer = await fetch(`${url}/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
      return { status: answer.status, body: await answer.json() };
    };
    const spawned = await Promise.all(
      Array.from({ length: 12 }, (_, at) => post("/agents", `s${at}`, { agent: "tester" })),
    );
    const asked = spawned.map(({ body: { address } }, at) =>
      post(`/actors/${address}/ask`, `a${at}`, { text: "Hi" })
    );
    await Promise.race(asked);
    running.signal("SIGTERM");
    for (const { status, body } of await Promise.all(asked)) {
      assert.ok(status === 200 ? body.text === "Hello" : body.code === "draining", JSON.stringify(body));
    }
    const { code, err } = await running.ended;
    assert.equal(code, 0);
    assert.match(err, /shutdown .*"within_ms":10000,"in_time":true/);
  }));

Deno.test("serve listens on this machine alone, at a port that is free, with a token that others cannot read", () =>
  onStage(async (stage) => {
    await writeAgent(stage, readScript);
    const refused = async (...args: readonly string[]) => await stage.run("serve", ...args);
    assertRefused(await refused("agent", "--host", "0.0.0.0"), 2, "option_invalid");
    using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = taken.addr as Deno.NetAddr;
    assertRefused(await refused("agent", "--port", String(port)), 2, "option_invalid", "it is in use");
    await Deno.writeTextFile(stage.path("store.db.token"), "x");
    await Deno.chmod(stage.path("store.db.token"), 0o644);
    assertRefused(await refused("agent"), 1, "token_file_unsafe");
  }));

Deno.test("the description of the API is valid OpenAPI 3.1, and what the server gives is what schema prints", () =>
  onStage(async (stage) => {
    const printed = JSON.parse(await stage.output("schema", "--openapi"));
    const { valid, errors } = await new Validator().validate(structuredClone(printed));
    assert.ok(valid, JSON.stringify(errors));
    assert.equal(printed.openapi, "3.1.0");
    await writeAgent(stage, readScript);
    const { running, url } = await serve(stage);
    assert.deepEqual(await (await fetch(`${url}/v1/openapi.json`)).json(), printed);
    running.signal("SIGTERM");
    assert.equal((await running.ended).code, 0);
  }));
