/**
 * A client that nobody here wrote: openapi-typescript makes the types of what a real `troupe serve` says of itself, and
 * openapi-fetch drives a session with them.
 */
import assert from "node:assert/strict";
import { Validator } from "@seriousme/openapi-schema-validator";
import { askPolicy, onStage, readScript, writeAgent } from "./troupe.ts";

const folder = new URL("../support/foreign/", import.meta.url).pathname;

/** A program of somebody else. It is checked against the types that were made, then run: `URL TOKEN`. */
const program = `
import createClient from "openapi-fetch";
import type { paths } from "./api.d.ts";

const [baseUrl = "", token = ""] = Deno.args;
const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` } });
const keyed = (key: string) => ({ header: { "Idempotency-Key": key } });

const { data: health } = await client.GET("/v1/health");
const spawned = await client.POST("/v1/agents", {
  params: keyed("s"),
  body: { agent: "tester", labels: { run: "1" }, budget: { tokens: 100_000 } },
});
if (spawned.data === undefined) throw new Error(spawned.error.message);
const { address } = spawned.data;
const actor = { path: { address } };
const asked = client.POST("/v1/actors/{address}/ask", {
  params: { ...actor, ...keyed("a") },
  body: { text: "Hi", wait_ms: 60_000 },
});

const watched = await client.GET("/v1/actors/{address}/watch", {
  params: { ...actor, query: { view: "transcript", after: 0 } },
  parseAs: "stream",
});
let heard = "";
for await (const text of watched.data!.pipeThrough(new TextDecoderStream())) {
  heard += text;
  if (heard.includes('"type":"question"')) break;
}
const { data: open } = await client.GET("/v1/questions", { params: { query: { address } } });
const [question] = open!.questions;
const answered = await client.POST("/v1/questions/{question}/answer", {
  params: { path: { question: question!.id }, ...keyed("d") },
  body: { decision: "allow", shown: question!.shown },
});
const turn = (await asked).data!;
const { data: list } = await client.GET("/v1/agents", { params: { query: { label: ["run=1"], limit: 5 } } });
const { data: budget } = await client.GET("/v1/actors/{address}/budget", { params: actor });
const { data: stopped } = await client.POST("/v1/actors/{address}/stop", {
  params: { ...actor, ...keyed("stop") },
  body: { reason: "Enough" },
});
const missing = await client.GET("/v1/actors/{address}", { params: { path: { address: "session/none" } } });
console.log(JSON.stringify({
  health: health?.state,
  types: [...heard.matchAll(/"item":{"type":"(\\w+)"/g)].map(([, type]) => type),
  decision: answered.data?.decision,
  turn: turn.state === "ended" ? [turn.outcome, turn.text] : turn.state,
  listed: list?.agents.map((one) => one.address === address),
  calls: budget?.spent.tool_calls,
  stopped: stopped?.state,
  missing: [missing.response.status, missing.error?.code, missing.error?.retryable],
}));
`;

/** The same with what the types must not let pass. */
const wrong = `
import createClient from "openapi-fetch";
import type { paths } from "./api.d.ts";
const client = createClient<paths>({});
// @ts-expect-error a command without its key
await client.POST("/v1/agents", { body: { agent: "tester" } });
const params = { header: { "Idempotency-Key": "k" }, path: { address: "session/x" } };
// @ts-expect-error a text that is none
await client.POST("/v1/actors/{address}/ask", { params, body: { text: 7 } });
// @ts-expect-error a path that is not there
await client.GET("/v1/nothing");
// @ts-expect-error a decision that is none
await client.POST("/v1/questions/{question}/answer", { params, body: { decision: "perhaps" } });
`;

async function deno(...args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args: [...args] }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

Deno.test("a client generated from /v1/openapi.json, which is valid OpenAPI 3.1, drives a session and answers its question", () =>
  onStage(async (stage) => {
    await writeAgent(stage, readScript);
    await stage.write(askPolicy);
    const running = stage.start("serve", "agent", "--workspace", "ws");
    const [url = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(await running.until("http://127.0.0.1:")) ?? [];
    const token = (await Deno.readTextFile(stage.path("store.db.token"))).trim();
    const description = await (await fetch(`${url}/v1/openapi.json`)).text();
    const { valid, errors } = await new Validator().validate(JSON.parse(description));
    assert.ok(valid, JSON.stringify(errors));
    // Nothing is left of what a generator makes "string & unknown" of.
    assert.doesNotMatch(description, /"allOf"/);
    const client = stage.path("client");
    await Deno.mkdir(client);
    for (const name of ["deno.json", "deno.lock"]) {
      await Deno.copyFile(`${folder}${name}`, `${client}/${name}`);
    }
    await stage.write({
      "client/openapi.json": description,
      "client/program.ts": program,
      "client/wrong.ts": wrong,
    });
    const config = ["--quiet", "--config", `${client}/deno.json`];
    await deno(
      "run",
      "-A",
      ...config,
      `${folder}generate.ts`,
      `${client}/openapi.json`,
      `${client}/api.d.ts`,
    );
    await deno("check", ...config, `${client}/program.ts`, `${client}/wrong.ts`);
    const said = JSON.parse(
      await deno("run", "-A", "--no-check", ...config, `${client}/program.ts`, url, token),
    );
    assert.deepEqual(said, {
      health: "ok",
      types: ["prompt", "answer", "question"],
      decision: "allow",
      turn: ["completed", "finished"],
      listed: [true],
      calls: 1,
      stopped: "closed",
      missing: [404, "agent_not_found", false],
    });
    running.signal("SIGTERM");
    assert.equal((await running.ended).code, 0);
  }));
