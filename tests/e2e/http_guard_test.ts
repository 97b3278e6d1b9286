/** What the server of the API refuses before it works: over real sockets, byte by byte where a client would hide it. */
import assert from "node:assert/strict";
import { type HttpStage, onHttpStage } from "../support/http_stage.ts";

interface Head {
  readonly host?: string | undefined;
  readonly token?: string | undefined;
  readonly line?: string;
  readonly headers?: readonly string[];
}

/** Says a request without a body, and gives status and code of the answer. */
async function said(stage: HttpStage, head: Head = {}): Promise<string> {
  const { token = "p1", line = "GET /v1/agents HTTP/1.1", headers = [] } = head;
  const host = "host" in head ? head.host : `127.0.0.1:${stage.server.port}`;
  const text = await stage.raw([
    line,
    ...(host === undefined ? [] : [`Host: ${host}`]),
    ...(token === "" ? [] : [`Authorization: Bearer ${token}`]),
    ...headers,
    "Connection: close",
    "",
    "",
  ].join("\r\n"));
  const [, status = "no answer"] = /^HTTP\/1\.1 (\d+)/.exec(text) ?? [];
  const [, code = "ok"] = /"code":"(\w+)"/.exec(text) ?? [];
  assert.doesNotMatch(text, /access-control/i);
  return `${status} ${code}`;
}

const bodyHeaders = ["Content-Type: application/json", "Idempotency-Key: k", "Content-Length: 2"];

Deno.test("a request must name this server: B01 other Host, B02 none, B03 another authority in its target", () =>
  onHttpStage({}, async (stage) => {
    const { port } = stage.server;
    assert.equal(await said(stage), "200 ok");
    assert.equal(await said(stage, { host: `localhost:${port}` }), "200 ok");
    for (
      const host of [
        `attacker.example:${port}`,
        "127.0.0.1",
        `127.0.0.1:${port + 1}`,
        "127.0.0.1.evil.example",
      ]
    ) {
      assert.equal(await said(stage, { host }), "403 host_not_allowed", host);
    }
    assert.equal(await said(stage, { host: undefined }), "400 host_missing");
    assert.equal(await said(stage, { host: undefined, line: "GET /v1/agents HTTP/1.0" }), "400 host_missing");
    const twice = { headers: [`Host: 127.0.0.1:${port}`] };
    assert.equal(await said(stage, twice), "400 host_missing");
    const absolute = (authority: string) =>
      said(stage, { line: `GET http://${authority}/v1/agents HTTP/1.1` });
    assert.equal(await absolute("attacker.example"), "400 host_mismatch");
    assert.equal(await absolute(`user@127.0.0.1:${port}`), "400 host_mismatch");
    assert.equal(await absolute(`127.0.0.1:${port}`), "200 ok");
  }));

Deno.test("web pages of other origins have no access: B04 simple posts, B05 look-alike origins, B06 upgrades", () =>
  onHttpStage({}, async (stage) => {
    const { port } = stage.server;
    const post = "POST /v1/agents HTTP/1.1";
    const plain = ["Content-Type: text/plain", "Idempotency-Key: k", "Content-Length: 0"];
    assert.equal(
      await said(stage, { line: post, headers: [...plain, "Origin: http://attacker.example"] }),
      "403 origin_not_allowed",
    );
    assert.equal(await said(stage, { line: post, headers: plain }), "415 content_type_refused");
    const origins = [
      "null",
      "http://127.0.0.1.evil.example",
      `http://localhost:${port + 1}`,
      `https://127.0.0.1:${port}`,
      `http://127.0.0.1:${port}.evil.example`,
    ];
    for (const origin of origins) {
      assert.equal(await said(stage, { headers: [`Origin: ${origin}`] }), "403 origin_not_allowed", origin);
    }
    assert.equal(await said(stage, { headers: [`Origin: http://127.0.0.1:${port}`] }), "200 ok");
    for (const site of ["cross-site", "same-site"]) {
      assert.equal(await said(stage, { headers: [`Sec-Fetch-Site: ${site}`] }), "403 origin_not_allowed");
    }
    const upgrade = ["Upgrade: websocket", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13"];
    const foreign = { headers: [...upgrade, "Origin: http://attacker.example"] };
    assert.equal(await said(stage, foreign), "403 origin_not_allowed");
    assert.equal(await said(stage, { headers: upgrade, token: "" }), "401 token_invalid");
    const inQuery = { headers: upgrade, token: "", line: "GET /v1/agents?token=p1 HTTP/1.1" };
    assert.equal(await said(stage, inQuery), "401 token_invalid");
  }));

Deno.test("what a request claims to be is ignored: B07 scopes of its own, B16 a GET that changes or overrides", () =>
  onHttpStage({}, async (stage) => {
    const claimed = ["X-Scopes: admin,approvals:decide"];
    const decide = {
      line: "POST /v1/questions/q/answer HTTP/1.1",
      headers: [...claimed, ...bodyHeaders.with(2, "Content-Length: 0")],
    };
    assert.equal(await said(stage, decide), "403 scope_missing");
    assert.ok(stage.logged.some(({ event }) => event === "api.scope_claim_ignored"));
    assert.equal(
      await said(stage, { line: "GET /v1/actors/session/ses_x/stop HTTP/1.1" }),
      "405 method_not_allowed",
    );
    const override = { headers: ["X-HTTP-Method-Override: POST"] };
    assert.equal(await said(stage, override), "200 ok");
    assert.equal(await said(stage, { line: "DELETE /v1/agents HTTP/1.1" }), "405 method_not_allowed");
    assert.equal(await said(stage, { line: "GET /v1/nothing HTTP/1.1", token: "" }), "404 path_unknown");
    assert.deepEqual(await (await stage.ask("/agents")).json(), { agents: [] });
  }));

Deno.test("without a token no body is read (B08), with one no more than its bound (B11)", () =>
  onHttpStage({}, async (stage) => {
    const line = "POST /v1/agents HTTP/1.1";
    const types = ["Content-Type: application/json", "Idempotency-Key: k"];
    const long = [...types, "Content-Length: 10485761"];
    assert.equal(await said(stage, { line, headers: long, token: "" }), "401 token_invalid");
    assert.equal(await said(stage, { line, headers: long }), "413 body_too_large");
    const endless = async (token: string) => {
      using connection = await stage.connect();
      const head = [line, `Host: 127.0.0.1:${stage.server.port}`, `Authorization: Bearer ${token}`, ...types];
      const encoder = new TextEncoder();
      await connection.write(encoder.encode([...head, "Transfer-Encoding: chunked", "", ""].join("\r\n")));
      const chunk = encoder.encode(`10000\r\n${" ".repeat(65_536)}\r\n`);
      let written = 0;
      const writing = (async () => {
        for (; written < 64; written++) await connection.write(chunk);
      })().catch(() => {});
      let text = "";
      const bytes = new Uint8Array(4_096);
      while (!text.includes('"request_id"')) {
        const size = await connection.read(bytes).catch(() => null);
        if (size === null) break;
        text += new TextDecoder().decode(bytes.subarray(0, size));
      }
      connection.close();
      await writing;
      return /"code":"(\w+)"/.exec(text)?.[1];
    };
    assert.equal(await endless("nobody"), "token_invalid");
    assert.equal(await endless("p1"), "body_too_large");
  }));

Deno.test("a body is one strict JSON object: unknown fields, two values, depth and other texts are refused (GA-25)", () =>
  onHttpStage({ rate: undefined }, async (stage) => {
    const codeOf = async (body: string) => {
      const answer = await stage.ask("/agents", { body, key: "k" });
      return `${answer.status} ${(await answer.json()).code}`;
    };
    assert.equal(await codeOf('{"agent":"tester","token":"x"}'), "400 params_invalid");
    assert.equal(await codeOf('{"agent":"tester"}{"agent":"tester"}'), "400 json_invalid");
    assert.equal(await codeOf(`{"agent":${"[".repeat(65)}${"]".repeat(65)}}`), "400 json_too_deep");
    assert.equal(await codeOf("[]"), "400 params_invalid");
    assert.equal(await codeOf("{"), "400 json_invalid");
    const keyless = await stage.ask("/agents", { body: { agent: "tester" } });
    assert.equal((await keyless.json()).code, "idempotency_key_missing");
    assert.deepEqual(await (await stage.ask("/agents")).json(), { agents: [] });
  }));

Deno.test("half-sent headers and bodies hold up nobody, and end by their deadlines (B12, F35)", () =>
  onHttpStage({ bodyMs: 300, headersMs: 300 }, async (stage) => {
    const head = `POST /v1/agents HTTP/1.1\r\nHost: 127.0.0.1:${stage.server.port}\r\n`;
    const body = `${head}Authorization: Bearer p1\r\n${
      ["Content-Type: application/json", "Idempotency-Key: k", "Content-Length: 100"].join("\r\n")
    }\r\n\r\n{`;
    const connections = await Promise.all(Array.from({ length: 500 }, () => stage.connect()));
    const encoder = new TextEncoder();
    await Promise.all(
      connections.map((connection, at) => connection.write(encoder.encode(at < 20 ? body : `${head}X-Half`))),
    );
    assert.equal((await (await stage.ask("/agents")).json()).agents.length, 0);
    const ends = await Promise.all(connections.map(async (connection) => {
      const bytes = new Uint8Array(4_096);
      let text = "";
      for (let size = await connection.read(bytes).catch(() => null); size !== null;) {
        text += new TextDecoder().decode(bytes.subarray(0, size));
        size = await connection.read(bytes).catch(() => null);
      }
      connection.close();
      return /^HTTP\/1\.1 408[^]*body_too_slow/.test(text) ? "body" : text.split("\r\n")[0];
    }));
    // Whoever is too slow may try again: none is told that it said nonsense.
    const counts = Object.fromEntries(
      [...new Set(ends)].map((end) => [end, ends.filter((one) => one === end).length]),
    );
    assert.deepEqual(counts, { body: 20, "HTTP/1.1 408 Request Timeout": 480 });
    assert.equal((await (await stage.ask("/agents")).json()).agents.length, 0);
  }));

Deno.test("who asks too often waits (GA-51), who tries tokens too (B15), and the right token opens all the same", () => {
  let nowMs = 1_000_000;
  const seams = (own: Parameters<NonNullable<Parameters<typeof onHttpStage>[0]["seams"]>>[0]) => ({
    ...own,
    clock: { ...own.clock, now: () => nowMs },
  });
  return onHttpStage({ rate: { perSecond: 20, burst: 40 }, seams }, async (stage) => {
    const statuses = async (times: number, token: string) => {
      const counts: { [status: number]: number } = {};
      for (let at = 0; at < times; at++) {
        const answer = await stage.ask("/agents", { token });
        counts[answer.status] = (counts[answer.status] ?? 0) + 1;
        if (answer.status === 429) assert.equal(answer.headers.get("retry-after"), "1");
        await answer.body?.cancel();
      }
      return counts;
    };
    assert.deepEqual(await statuses(45, "p1"), { 200: 40, 429: 5 });
    assert.deepEqual(await statuses(1, "p2"), { 200: 1 });
    nowMs += 100;
    assert.deepEqual(await statuses(3, "p1"), { 200: 2, 429: 1 });
    assert.deepEqual(await statuses(50, "wrong"), { 401: 10, 429: 40 });
    assert.deepEqual(await statuses(1, "p2"), { 200: 1 });
  });
});

Deno.test("what an answer tells of itself: the trace that was sent, no path, no version, no CORS (B14)", () =>
  onHttpStage({}, async (stage) => {
    const answer = await stage.ask("/actors/session/ses_x", { headers: { "x-trace-id": "trace-7" } });
    assert.equal(answer.headers.get("x-trace-id"), "trace-7");
    assert.equal((await answer.json()).request_id, "trace-7");
    const odd = await stage.ask("/agents", { token: "", headers: { "x-trace-id": "a b" } });
    assert.match(odd.headers.get("x-trace-id") ?? "", /^req_/);
    assert.doesNotMatch(JSON.stringify([...odd.headers, await odd.json()]), /\/tmp|troupe|hono|deno/i);
    const health = await stage.ask("/health", { token: "" });
    assert.deepEqual(await health.json(), { state: "ok" });
  }));
