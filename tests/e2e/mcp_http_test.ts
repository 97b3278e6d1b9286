/** Servers by Streamable HTTP through the real command: sessions, their loss, the three classes of failures. */
import assert from "node:assert/strict";
import { type CallPlan, SessionServer } from "../support/session_server.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { readMcpSessions } from "../../src/records/mcp_sessions.ts";
import {
  callOf,
  firstTurn,
  type Line,
  onMcpStage,
  startWith,
  trustAgent,
  until,
  withOwner,
  writeMcpAgent,
} from "./mcp_stage.ts";
import { assertRefused, linesOf, type Stage } from "./troupe.ts";

/** Writes an agent that calls `echo` of a server three times, one after the other. */
async function writeCaller(stage: Stage, server: SessionServer, more: Line = {}): Promise<void> {
  const policy = { effects: more["effects"] ?? {} };
  await stage.write({
    "config/troupe/troupe.yaml": JSON.stringify({ network: { allow: [`127.0.0.1:${server.port}`] }, policy }),
  });
  const { effects: _, ...manifest } = more;
  await writeMcpAgent(stage, {
    servers: {
      remote: { transport: "streamable_http", url: server.url, approval_policy: "auto", ...manifest },
    },
    answers: [
      ...["first", "second", "third"].map((message) => ({ calls: [callOf("remote__echo", { message })] })),
      { text: "finished" },
    ],
  });
  await stage.output(...trustAgent);
}

/** Plays a test with a server that does to its calls what is planned. */
async function withServer(
  plans: readonly CallPlan[],
  play: (stage: Stage, server: SessionServer) => Promise<void>,
): Promise<void> {
  const server = new SessionServer(plans);
  try {
    await onMcpStage((stage) => play(stage, server));
  } finally {
    await server.close();
  }
}

async function recordsOf(stage: Stage): Promise<Line> {
  return JSON.parse(await stage.output("inspect", "last", "--json")) as Line;
}

Deno.test("call over a lost session fails as retryable, and the next begins a new session on the same binding (CM-75, CM-77, CM-126, CM-127, CM-128)", async () => {
  await withServer(["ok", "session_not_found", "ok"], async (stage, server) => {
    await writeCaller(stage, server);
    const ended = await stage.run(...firstTurn, "--answer", "deny");
    assert.equal(ended.code, 0, `${ended.out}\n${ended.err}`);
    const { invocations, bindings } = await recordsOf(stage) as { readonly [name: string]: Line[] };
    assert.deepEqual(invocations?.map(({ status }) => status), ["succeeded", "failed", "succeeded"]);
    assert.deepEqual(invocations?.map(({ attempt }) => attempt), [1, 2, 3]);
    assert.equal(new Set(invocations?.map(({ binding }) => binding)).size, 1);
    assert.ok(bindings?.some(({ id }) => id === invocations?.[0]?.["binding"]));
    const error = invocations?.[1]?.["error"] as Line;
    const { classification, code, retryable, started } = error;
    assert.deepEqual(
      { classification, code, retryable, started },
      { classification: "transport", code: "session_not_found", retryable: true, started: false },
    );
    assert.deepEqual(error["details"], { http_status: 404 });
    assert.match(JSON.stringify(invocations?.[2]?.["response"]), /third/);
    assert.equal(server.issued, 2);
    // The second call was made once, and never reached the tool.
    assert.deepEqual(server.echoed, [{ message: "first" }, { message: "third" }]);
    assert.deepEqual(server.said("POST").filter((one) => one.startsWith("tools/call")), [
      "tools/call session-1",
      "tools/call session-1",
      "tools/call session-2",
    ]);
    // The new session is asked for without the old one's name, and given back at the end.
    assert.deepEqual(server.said("POST").filter((one) => one.startsWith("initialize")), [
      "initialize null",
      "initialize null",
    ]);
    assert.deepEqual(server.said("DELETE"), ["- session-2"]);
    assert.deepEqual(server.open, []);
  });
});

Deno.test("failures of a server say whether the transport, the protocol or the tool failed, with code and details (CM-74, CM-76, CM-128)", async () => {
  await withServer(["protocol_error", "semantic_error", "ok"], async (stage, server) => {
    await writeCaller(stage, server, { effects: { "mcp.remote.*": "idempotent" } });
    await stage.output(...firstTurn, "--answer", "deny");
    const { invocations } = await recordsOf(stage) as { readonly [name: string]: Line[] };
    const shown = invocations?.map(({ status, error }) => {
      const { classification, code, retryable, details } = error as Line;
      return { status, classification, code, retryable, details };
    });
    assert.deepEqual(shown, [
      {
        status: "failed",
        classification: "protocol",
        code: "mcp_protocol_error",
        retryable: false,
        details: undefined,
      },
      {
        status: "failed",
        classification: "semantic",
        code: "mcp_protocol_error",
        retryable: false,
        details: { rpc_code: -32001 },
      },
      {
        status: "succeeded",
        classification: undefined,
        code: undefined,
        retryable: undefined,
        details: undefined,
      },
    ]);
    assert.equal(server.issued, 1);
    assert.deepEqual(server.echoed, [{ message: "third" }]);
  });
});

Deno.test("call of an idempotent tool over a lost session is made once more by the runtime, in a new session", async () => {
  await withServer(["session_not_found"], async (stage, server) => {
    await writeCaller(stage, server, { effects: { "mcp.remote.*": "idempotent" } });
    await stage.output(...firstTurn, "--answer", "deny");
    const { invocations } = await recordsOf(stage) as { readonly [name: string]: Line[] };
    assert.deepEqual(invocations?.map(({ status }) => status), ["succeeded", "succeeded", "succeeded"]);
    assert.equal((invocations?.[0]?.["metadata"] as Line)["tries"], 2);
    assert.equal(server.issued, 2);
    assert.equal(server.echoed.length, 3);
  });
});

Deno.test("call whose arguments do not fit the turn's schema is refused before anything is connected to for it; one that fits connects (GA-37)", async () => {
  for (const [message, sessions] of [[5, 1], ["second", 2]] as const) {
    await withServer(["session_not_found"], async (stage, server) => {
      await writeCaller(stage, server);
      await stage.write({
        "agent/script.yaml": JSON.stringify({
          answers: [
            // The first call loses the session: whatever is called next needs another one.
            ...["first", message].map((given) => ({ calls: [callOf("remote__echo", { message: given })] })),
            { text: "finished" },
          ],
        }),
      });
      const { code, err } = await stage.run(...firstTurn);
      assert.equal(code, 0, err);
      const [lost, next] = linesOf(await stage.output("invocations", "last", "--json"));
      assert.equal(lost?.["outcome"], "failed");
      assert.equal(next?.["outcome"], sessions === 1 ? "invalid" : "succeeded");
      assert.equal(server.issued, sessions);
      assert.equal(server.said("POST").filter((one) => one.startsWith("tools/call")).length, sessions);
    });
  }
});

Deno.test("call inherits the deadline of its agent, the cancel of its turn and the trace of its session (GA-39, ask 7)", async () => {
  await withServer(["silence", "ok", "silence"], async (stage, server) => {
    await writeCaller(stage, server);
    const agent = JSON.parse(await Deno.readTextFile(stage.path("agent/agent.yaml")));
    const limited = { ...agent, limits: { tool_timeout_ms: 500 } };
    await stage.write({ "agent/agent.yaml": JSON.stringify(limited) });
    // The server says nothing, and its manifest would wait for a minute.
    const late = stage.start(...firstTurn);
    await until("the server was told of the deadline", () => server.said("POST").some(isCancel));
    await late.ended;
    const [inDoubt] = linesOf(await stage.output("invocations", "last", "--json"));
    assert.deepEqual([inDoubt?.["outcome"], server.echoed], ["unknown", []]);
    const [first] = server.heard.filter(({ message }) => message === "tools/call");
    const [root, seq, n] =
      /^session\/(ses_\w+)#(\d+)\.(\d+)$/.exec(String(first?.meta["troupe/idempotency-key"]))?.slice(1) ?? [];
    assert.equal(first?.meta["traceparent"], `00-${ulidHex(root ?? "")}-${spanHex(seq, n)}-01`);

    await stage.write({ "agent/agent.yaml": JSON.stringify(agent) });
    const running = stage.start(...firstTurn);
    await until(
      "the last call is under way",
      () => server.heard.filter(({ message }) => message === "tools/call").length === 3,
    );
    // It was sent: nobody knows what became of it, and the run has nobody to ask.
    assertRefused(await stage.run("cancel", "last"), 1, "cancel_undecided");
    await until("the server was told of the cancel", () => server.said("POST").filter(isCancel).length === 2);
    assert.match((await running.ended).out, /turn 1 unknown/);
    const [one, other] = server.heard.filter(({ message }) => message === "tools/call").slice(1);
    const traces = [one, other].map((heard) => String(heard?.meta["traceparent"]).split("-"));
    // One trace for a session, another for another one, and a span for each call.
    assert.equal(traces[0]?.[1], traces[1]?.[1]);
    assert.notEqual(traces[0]?.[1], ulidHex(root ?? ""));
    assert.notEqual(traces[0]?.[2], traces[1]?.[2]);
  });
});

function isCancel(said: string): boolean {
  return said.startsWith("notifications/cancelled");
}

/** The 128 bits of an id, as a trace has them. */
function ulidHex(id: string): string {
  const value = [...id.replace(/^ses_/, "")].reduce(
    (bits, digit) => bits * 32n + BigInt("0123456789ABCDEFGHJKMNPQRSTVWXYZ".indexOf(digit)),
    0n,
  );
  return value.toString(16).padStart(32, "0");
}

function spanHex(seq = "", n = ""): string {
  return Number(seq).toString(16).padStart(12, "0") + Number(n).toString(16).padStart(4, "0");
}

Deno.test("call whose answer is cut off is in doubt, never a success by what came of it, unless a repeat harms nobody (F24)", async () => {
  await withServer(["cut"], async (stage, server) => {
    await writeCaller(stage, server);
    const ended = await stage.run(...firstTurn, "--answer", "deny");
    assert.match(ended.out, /mcp\.remote\.echo .*unknown {2}http_connection_lost: .*may have be/, ended.out);
    assert.deepEqual(server.echoed, [{ message: "first" }]);
    const { invocations } = await recordsOf(stage) as { readonly [name: string]: Line[] };
    assert.deepEqual(invocations?.map(({ outcome }) => outcome), ["unknown"]);
  });
  await withServer(["cut"], async (stage, server) => {
    await writeCaller(stage, server, { effects: { "mcp.remote.*": "idempotent" } });
    await stage.output(...firstTurn, "--answer", "deny");
    const { invocations } = await recordsOf(stage) as { readonly [name: string]: Line[] };
    assert.deepEqual(invocations?.map(({ outcome }) => outcome), ["succeeded", "succeeded", "succeeded"]);
    assert.equal(server.echoed.length, 4);
  });
});

Deno.test("server on loopback is not reached unless the operator's configuration lists it", async () => {
  await withServer([], async (stage, server) => {
    await writeCaller(stage, server);
    await stage.write({ "config/troupe/troupe.yaml": "{}" });
    const ended = await stage.run(...firstTurn, "--answer", "allow");
    assert.match(
      ended.out,
      /✗ remote {2}url_blocked: remote: Cannot reach http:\/\/127\.0\.0\.1:\d+: .*network\.allow/,
    );
    assert.deepEqual(server.heard, []);
  });
});

Deno.test("header of a manifest gets its variable once connecting was approved, and the value stays out of the journal (CM-71, DM-67)", async () => {
  await withServer([], async (stage, server) => {
    await writeCaller(stage, server, { headers: { "X-Key": "key ${E2E_TOKEN}" } });
    const secret = "s3cret-value-of-the-operator";
    const ended = await (await startWith(stage, { E2E_TOKEN: secret }, ...firstTurn, "--answer", "deny"))
      .ended;
    assert.equal(ended.code, 0, ended.err);
    assert.ok(server.heard.every(({ headers }) => headers.get("x-key") === `key ${secret}`));
    assert.ok(server.heard.some(({ method }) => method === "GET"));
    const told = [
      await stage.output("inspect", "last", "--json"),
      await stage.output("log", "last", "--json"),
    ];
    assert.ok(!told.join("").includes(secret));
    const without = await stage.run(...firstTurn, "--answer", "deny");
    assert.match(without.out, /✗ remote {2}mcp_variable_missing: .*E2E_TOKEN/);
  });
});

Deno.test("session of a server is told with its transport, URL, id, state and greeting, and is cleared once it is over (CM-66, CM-69, CM-70, CM-79, CM-80, CM-81, CM-82)", async () => {
  await withServer(["ok", "session_not_found"], async (stage, server) => {
    await writeMcpAgent(stage, {
      servers: { remote: { transport: "streamable_http", url: server.url, approval_policy: "auto" } },
      answers: ["first", "second", "third"].flatMap((message) => [
        { calls: [callOf("remote__echo", { message })] },
        { text: `${message} done` },
      ]),
    });
    const config = { network: { allow: [`127.0.0.1:${server.port}`] } };
    await withOwner(stage, async ({ host, prompt, session }) => {
      const stateNow = async () => {
        const pages = (root: RootAddress) => host.readPages(root);
        const [record] = await readMcpSessions({ session, roots: await host.listRoots(), pages });
        return [record?.session_id, record?.session_state, record?.sessions];
      };
      await prompt("hi");
      assert.deepEqual(await stateNow(), ["session-1", "open", 1]);
      await prompt("again");
      await until("the lost session is cleared", async () => (await stateNow())[1] === "closed");
      assert.deepEqual(await stateNow(), [null, "closed", 1]);
      await prompt("once more");
      assert.deepEqual(await stateNow(), ["session-2", "open", 2]);
      await until("both streams were opened", () => server.said("GET").length === 2);
    }, config);
    const { mcpSessions, invocations } = await recordsOf(stage) as { readonly [name: string]: Line[] };
    const { connection, ...record } = mcpSessions?.[0] ?? {};
    assert.match(String(connection), /^connection\/remote@ses_/);
    assert.deepEqual(record, {
      server: "remote",
      state: "pending",
      failure: null,
      transport_kind: "streamable_http",
      server_url: server.url,
      session_id: null,
      session_state: "closed",
      sessions: 2,
      last_sse_event: "notifications/ready",
      initialize_result: {
        protocolVersion: "2025-06-18",
        serverInfo: { name: "sessions", version: "1" },
        capabilities: { tools: {} },
      },
    });
    const [first] = invocations ?? [];
    const { mcp_tool, server_url } = first?.["metadata"] as Line;
    assert.deepEqual({ mcp_tool, server_url }, { mcp_tool: "echo", server_url: server.url });
    // One session for all that goes to the server, named in all of it but its own beginning, until it is given back.
    const beginning = server.said("POST").slice(0, 5);
    assert.deepEqual(beginning, [
      "server/discover null",
      "initialize null",
      "notifications/initialized session-1",
      "tools/list session-1",
      "tools/call session-1",
    ]);
    assert.deepEqual(server.said("GET"), ["- session-1", "- session-2"]);
    assert.deepEqual(server.said("DELETE"), ["- session-2"]);
    assert.match(
      await stage.output("inspect", "last"),
      /MCP sessions\n.*\n *connection\/remote@.*closed +2 +notifications\/ready +sessions +2025-06-18 +legacy/,
    );
  });
});

Deno.test("run proves who it is by the token that a manifest names, which stands in no file of it, and says how to log in where there is none (DM-67)", async () => {
  await withServer([], async (stage, server) => {
    server.token = crypto.randomUUID();
    await writeCaller(stage, server, { auth: { type: "bearer", token: "${E2E_DOCS}" } });
    const ended = await (await startWith(stage, { E2E_DOCS: server.token }, ...firstTurn)).ended;
    assert.equal(ended.code, 0, `${ended.out}\n${ended.err}`);
    assert.deepEqual(server.echoed, [{ message: "first" }, { message: "second" }, { message: "third" }]);
    const log = await stage.output("log", "last", "--json");
    assert.ok(!`${ended.out}${ended.err}${log}`.includes(server.token));
  });
  await withServer([], async (stage, server) => {
    server.token = crypto.randomUUID();
    await writeCaller(stage, server);
    const ended = await stage.run(...firstTurn);
    assert.match(ended.out, /remote {2}mcp_auth_required: .*run troupe mcp auth remote/);
    assert.deepEqual(server.echoed, []);
  });
});
