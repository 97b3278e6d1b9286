/** The actor API by HTTP with clients that ask too much, leave, or ask for what fails. */
import assert from "node:assert/strict";
import { apiLimits } from "../../schemas/api_limits.ts";
import { ApiFailure } from "../../src/api/api_failure.ts";
import type { Authenticator } from "../../src/api/authenticator.ts";
import type { Seams } from "../../src/seams.ts";
import { heard, type HttpStage, onHttpStage } from "../support/http_stage.ts";
import { type LeapingClock, leapingClock } from "../support/leaping_clock.ts";

const asking = {
  config: { policy: { tools: { read_file: "prompt" } } },
  script:
    "answers:\n  - text: look\n    calls: [{ tool: read_file, arguments: { path: a.txt } }]\n  - text: done\n",
};

async function spawn(stage: HttpStage, more: { readonly [name: string]: unknown } = {}, key = "s") {
  const answer = await stage.ask("/agents", { body: { agent: "tester", ...more }, key });
  return (await answer.json()).address as string;
}

/** A request as it goes over the wire. */
function wireText(
  { server }: HttpStage,
  path: string,
  { key, body }: { key: string; body: unknown },
): string {
  const text = JSON.stringify(body);
  return [
    `POST /v1${path} HTTP/1.1`,
    `Host: 127.0.0.1:${server.port}`,
    "Authorization: Bearer p1",
    "Content-Type: application/json",
    `Idempotency-Key: ${key}`,
    `Content-Length: ${text.length}`,
    "",
    text,
  ].join("\r\n");
}

/** The keys of commands that an agent's journal has by now. */
async function keysOf(stage: HttpStage, address: string): Promise<ReadonlySet<string>> {
  const text = await (await stage.ask(`/actors/${address}/watch?follow=false`)).text();
  return new Set([...text.matchAll(/"key":"(q\d+)"/g)].map(([, key = ""]) => key));
}

Deno.test("of 1,000 requests that come on one connection without a read, 32 are worked on, and all once they are read (F34)", () =>
  onHttpStage(asking, async (stage) => {
    const address = await spawn(stage);
    using connection = await stage.connect();
    const all = Array.from(
      { length: 1_000 },
      (_, at) => wireText(stage, `/actors/${address}/ask`, { key: `q${at}`, body: { text: "Hi" } }),
    );
    const written = connection.write(new TextEncoder().encode(all.join("")));
    const most = apiLimits.requestsAtOnceMax;
    for (let looks = 0; looks < 200; looks++) {
      const { size } = await keysOf(stage, address);
      assert.ok(size <= most, `${size} are worked on`);
      if (size === most && looks > 20) break;
    }
    assert.equal((await keysOf(stage, address)).size, most);
    // Another client is served meanwhile.
    assert.equal((await (await stage.ask(`/actors/${address}`)).json()).address, address);
    connection.close();
    await written.catch(() => {});
    // What waited on a connection is answered in its turn once its client reads.
    using reading = await stage.connect();
    const get = (more: string) =>
      `GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1:${stage.server.port}\r\n${more}\r\n`;
    const last = get("Connection: close\r\n");
    await reading.write(new TextEncoder().encode(get("").repeat(999) + last));
    const answers = await heard(reading, /(?!)/);
    assert.equal(answers.match(/HTTP\/1\.1 200/g)?.length, 1_000);
  }));

Deno.test({
  name: "each code has the one status of the table: 400, 401, 403, 404, 409, 429, 500, 503, 504 (GA-50)",
  // A body that is told of before it is read ends with its connection.
  sanitizeResources: false,
  fn: playStatuses,
});

async function playStatuses(): Promise<void> {
  const failing: Authenticator = {
    authenticate: ({ authorization = "" }) => {
      const [, code = ""] = /^Bearer (\w+)$/.exec(authorization) ?? [];
      if (code === "bug") return Promise.reject(new Error("/secret/place"));
      const scopes = new Set(["sessions:read", "sessions:write"] as const);
      return Promise.resolve(
        code === "reader"
          ? { principal: { kind: "program", id: "p" }, scopes }
          : new ApiFailure(code === "" ? "token_missing" : code, "Not now"),
      );
    },
  };
  await onHttpStage({ authenticator: failing, rate: { perSecond: 0.001, burst: 3 } }, async (stage) => {
    const told = async (path: string, init: Parameters<HttpStage["ask"]>[1]) => {
      const answer = await stage.ask(path, init);
      const { code, message, ...rest } = await answer.json();
      assert.doesNotMatch(message, /secret/);
      assert.deepEqual(Object.keys(rest), ["retryable", "outcome", "request_id"]);
      return [answer.status, code, rest.retryable];
    };
    const reader = { token: "reader" };
    const spawned = (body: unknown, key?: string) =>
      told("/agents", { ...reader, body, ...(key === undefined ? {} : { key }) });
    // VALIDATION_FAILED, AUTH_MISSING_TOKEN, AUTH_INVALID_TOKEN, AUTH_FORBIDDEN
    assert.deepEqual(await spawned({ agent: "tester", no: 1 }, "k"), [400, "params_invalid", false]);
    assert.deepEqual(await told("/agents", { token: "" }), [401, "token_missing", false]);
    assert.deepEqual(await told("/agents", { token: "token_invalid" }), [401, "token_invalid", false]);
    assert.deepEqual(await told("/questions", reader), [403, "scope_missing", false]);
    assert.deepEqual(await told("/actors/session/none", reader), [404, "agent_not_found", false]);
    // IDEMPOTENCY_KEY_REUSED (GA-47), RATE_LIMITED
    assert.equal(
      (await stage.ask("/agents", { ...reader, body: { agent: "tester" }, key: "r" })).status,
      201,
    );
    assert.deepEqual(await spawned({ agent: "tester", title: "T" }, "r"), [
      409,
      "idempotency_key_reuse",
      false,
    ]);
    for (let at = 0; at < 3; at++) await (await stage.ask("/agents", reader)).body?.cancel();
    assert.deepEqual(await told("/agents", reader), [429, "rate_limited", true]);
    // SERVICE_UNAVAILABLE, DOWNSTREAM_TIMEOUT, INTERNAL_ERROR
    assert.deepEqual(await told("/agents", { token: "store_busy" }), [503, "store_busy", true]);
    for (const code of ["http_timed_out", "tool_timed_out", "model_timed_out", "mcp_connect_timed_out"]) {
      assert.deepEqual((await told("/agents", { token: code })).slice(0, 2), [504, code]);
    }
    assert.deepEqual(await told("/agents", { token: "bug" }), [500, "internal", true]);
    assert.ok(
      stage.logged.some(({ event, detail }) =>
        event === "api.failed" && JSON.stringify(detail).includes("/secret/place")
      ),
    );
  });
}

/** A stage on which time can leap. */
async function onLeapingStage(
  options: Parameters<typeof onHttpStage>[0],
  play: (stage: HttpStage, leap: LeapingClock["leap"]) => Promise<void>,
): Promise<void> {
  let leaping: LeapingClock | undefined;
  const seams = (own: Seams) => {
    leaping = leapingClock(own.clock);
    return { ...own, clock: leaping.clock };
  };
  await onHttpStage({ ...options, seams }, async (stage) => {
    assert.ok(leaping !== undefined);
    await play(stage, leaping.leap);
  });
}

Deno.test("a program by HTTP shows by heartbeats that it is there: once they lapse its agents stop, and others go on", () =>
  onLeapingStage(asking, async (stage, leap) => {
    const beat = async () => await (await stage.ask("/heartbeat", { body: { every_ms: 60_000 } })).json();
    const refused = await stage.ask("/agents", {
      body: { agent: "tester", on_parent_exit: "stop" },
      key: "s",
    });
    assert.deepEqual([refused.status, (await refused.json()).code], [409, "heartbeat_missing"]);
    assert.equal(typeof (await beat()).lapses_at, "number");
    const stops = await spawn(stage, { on_parent_exit: "stop", prompt: "Hi" }, "a");
    const stays = await spawn(stage, { on_parent_exit: "detach", prompt: "Hi" }, "b");
    const said = async (address: string) =>
      await (await stage.ask(`/actors/${address}/watch?follow=false`)).text();
    for (let beats = 0; beats < 3; beats++) {
      leap(2 * 60_000);
      await beat();
    }
    assert.doesNotMatch(await said(stops), /session\.close/);
    leap(apiLimits.heartbeatsMissedMax * 60_000 + 1);
    let looks = 0;
    while (!/The program that began it is gone/.test(await said(stops))) {
      assert.ok(looks++ < 1_000, "it was never stopped");
    }
    assert.doesNotMatch(await said(stays), /session\.close/);
  }));

Deno.test("a key is kept for a day by the store in its file, and then it is another command", () =>
  onLeapingStage({}, async (stage, leap) => {
    const address = await spawn(stage, {}, "k");
    leap(apiLimits.keyKeptMs - apiLimits.keyRoundMs);
    await stage.reopen();
    assert.equal(await spawn(stage, {}, "k"), address);
    leap(2 * apiLimits.keyRoundMs);
    let looks = 0;
    while (!stage.logged.some(({ event }) => event === "keys.forgotten")) {
      assert.ok(looks++ < 1_000, "nothing was forgotten");
      leap(1_000);
      await (await stage.ask("/health")).body?.cancel();
    }
    assert.notEqual(await spawn(stage, {}, "k"), address);
    const { agents } = await (await stage.ask("/agents")).json();
    assert.equal(agents.length, 2);
  }));
