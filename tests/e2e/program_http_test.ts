/** A program that brings tools, over real sockets: what is answered with which status, and a server that is started again. */
import assert from "node:assert/strict";
import { connect, serveTools } from "../../src/client.ts";
import { peekText } from "../../src/peek.ts";
import { manifestOf, release } from "../support/served_program.ts";
import { type HttpStage, onHttpStage } from "../support/http_stage.ts";

const script = `answers:
  - calls: [{tool: greet, arguments: {name: Ann}}]
  - text: Greeted
  - text: Again
`;
const config = {
  programs: { acme: { fingerprint: release, trust: "trusted_local" } },
  policy: { tools: { greet: "auto" }, effects: { greet: "idempotent" } },
};

interface Event {
  readonly id: number;
  readonly type: string;
  readonly data: { readonly [field: string]: unknown };
}

/** The events of a stream, as they come. */
async function* eventsOf(response: Response): AsyncGenerator<Event> {
  let text = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      const [, id = "", type = "", data = ""] = /^id: (\d+)\nevent: (\w+)\ndata: (.*)$/.exec(part) ?? [];
      if (type !== "") yield { id: Number(id), type, data: JSON.parse(data) };
    }
  }
}

async function json(response: Promise<Response>): Promise<{ status: number; body: Record<string, unknown> }> {
  const got = await response;
  return { status: got.status, body: await got.json() };
}

/** A session whose model calls the program's tool. */
async function spawn(stage: HttpStage, key: string): Promise<string> {
  const { body } = await json(stage.ask("/agents", { key, body: { agent: "tester", prompt: "Go" } }));
  return String(body["address"]);
}

const options = {
  script,
  config,
  agent: `name: tester\nmodel: scripted/script.yaml\ntools: []\ncapabilities: ["tool.call:greet"]\n`,
};

Deno.test("program over HTTP: handshake, refresh, calls as events, reports, and an invocation that is new, known, or refused (CM-47, CM-61, CM-109, CM-121)", () =>
  onHttpStage(options, async (stage) => {
    const register = (more = {}) =>
      json(stage.ask("/programs/capabilities", { body: { ...manifestOf(), ...more } }));
    const { status, body: handshake } = await register();
    assert.equal(status, 200);
    const refreshed = await json(stage.ask("/programs/capabilities?program=acme"));
    assert.deepEqual([refreshed.status, refreshed.body], [200, handshake]);
    const wrong = await register({ fingerprint: `sha256:${"b".repeat(64)}` });
    assert.deepEqual([wrong.status, wrong.body["code"]], [403, "program_fingerprint_mismatch"]);
    const { registration } = handshake as { readonly registration: string };
    const path = `/programs/acme/calls?registration=${registration}`;
    const leave = new AbortController();
    const stream = eventsOf(await stage.ask(path, { signal: leave.signal }));
    const session = await spawn(stage, "k1");
    const { value: call } = await stream.next();
    assert.deepEqual([call.type, call.data["seq"]], ["call", call.id]);
    const id = String(call.data["call_id"]);
    // A stream that breaks goes on behind its last event.
    leave.abort();
    await stream.next().catch(() => {});
    const invoke = (key: string, tool = "greet") =>
      json(
        stage.ask(`/actors/${session}/invocations`, { key, body: { program: "acme", tool, arguments: {} } }),
      );
    const opened = await invoke("k2");
    assert.deepEqual([opened.status, opened.body["call"]], [201, "turn/1/call/0.1"]);
    const known = await invoke("k2");
    assert.deepEqual([known.status, known.body], [200, opened.body]);
    const unbound = await invoke("k3", "read_file");
    assert.deepEqual([unbound.status, unbound.body["code"]], [403, "tool_not_bound"]);
    const enough = new AbortController();
    const headers = { "last-event-id": String(call.id) };
    const again = eventsOf(await stage.ask(path, { headers, signal: enough.signal }));
    const { value: second } = await again.next();
    assert.notEqual(second.data["call_id"], id);
    const report = (message: string, { data }: Event, output: string) =>
      json(stage.ask("/programs/acme/reports", {
        body: {
          message_id: message,
          call_id: data["call_id"],
          result: { invocation_id: peekText(data, "request", "invocation_id"), status: "succeeded", output },
        },
      }));
    const said = await report("m1", call, "Hello");
    assert.deepEqual(said, { status: 200, body: { call_id: id, state: "recorded" } });
    assert.deepEqual(await report("m1", call, "Hello"), said);
    assert.deepEqual((await report("m1", call, "Bye")).body["code"], "message_id_reuse");
    const stale = await report("m2", call, "Bye");
    assert.deepEqual([stale.status, stale.body["code"]], [409, "report_stale"]);
    await report("m3", second, "Hello too");
    const turn = await json(stage.ask(`/actors/${session}/ask`, { key: "k4", body: { text: "And?" } }));
    assert.deepEqual([turn.body["outcome"], turn.body["text"]], ["completed", "Again"]);
    enough.abort();
    await again.next().catch(() => {});
    const late = await invoke("k5");
    assert.deepEqual([late.status, late.body["code"]], [409, "turn_not_running"]);
    const stranger = await json(stage.ask(path, { token: "p2" }));
    assert.deepEqual([stranger.status, stranger.body["code"]], [404, "program_not_found"]);
  }));

Deno.test("program that serves its tools goes on when the server is started again in the middle of a call (CM-33)", () =>
  onHttpStage(options, async (stage) => {
    const { port } = stage.server;
    const client = await connect({ url: `http://127.0.0.1:${port}`, token: "p1" });
    const reached = Promise.withResolvers<void>();
    const mayAnswer = Promise.withResolvers<void>();
    let calls = 0;
    const served = await serveTools(client, {
      ...manifestOf(),
      handlers: {
        greet: async ({ request, progress }) => {
          calls += 1;
          if (calls === 1) await progress("thinking");
          reached.resolve();
          await mayAnswer.promise;
          return `Hello ${request.input["name"]}`;
        },
      },
    });
    assert.equal(served.handshake.effective_tool_catalog[0]?.tool_name, "greet");
    const session = await spawn(stage, "k1");
    await reached.promise;
    await stage.reopen();
    mayAnswer.resolve();
    const turn = await client.ask({ address: session, text: "And?" });
    assert.deepEqual(turn.state === "ended" && [turn.outcome, turn.text], ["completed", "Again"]);
    let text = "";
    for await (const event of client.watch({ address: session, view: "transcript", follow: false })) {
      text += JSON.stringify(event);
    }
    assert.match(text, /Hello Ann/);
    await served.stop();
    await client.close();
  }));
