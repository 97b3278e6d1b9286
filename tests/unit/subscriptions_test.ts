/** Resources that a session subscribed to: who keeps them, who is told of changes, how often, and within which bounds. */
import assert from "node:assert/strict";
import { noticesWith } from "../../actors/subscriptions.ts";
import { failure } from "../../schemas/failure.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { HistoryItem } from "../../schemas/model.ts";
import { describeNotice } from "../../src/effects/notice.ts";
import { sendingFor, type SubscriptionCall } from "../../src/effects/mcp_subscribe.ts";
import type { McpCallResult, McpRequest } from "../../src/mcp/call.ts";
import type { McpClient } from "../../src/mcp/client.ts";
import { Subscriptions, watchUpdates } from "../../src/mcp/subscriptions.ts";
import { declarationOf, end, session, startConnection } from "../support/connection.ts";
import { createWorld } from "../support/world.ts";

function updated(...uris: readonly string[]): Json {
  return { type: "resources_updated", uris: [...uris] };
}

function readyWith(...uris: readonly string[]) {
  const run = startConnection();
  run.makeReady();
  for (const uri of uris) run.send({ type: "connection.subscribe", uri } as never);
  return run;
}

Deno.test("connection tells its session of resources that changed, one message each, and goes on watching (CM-34)", () => {
  const run = readyWith("x:a", "x:b");
  assert.deepEqual([run.state(), run.pending()], ["ready", ["mcp.watch"]]);
  run.settle("mcp.watch", updated("x:a", "x:b"));
  const told = run.messages().filter(({ type }) => type === "resource.updated");
  assert.deepEqual(
    told.map(({ to, message }) => [to, message]),
    ["x:a", "x:b"].map((uri) => [
      session,
      { type: "resource.updated", server: "docs", uri },
    ]),
  );
  assert.deepEqual([run.state(), run.pending()], ["ready", ["mcp.watch"]]);
  assert.deepEqual(run.argsOf("mcp.watch"), {
    launch: 1,
    idleMs: limits.mcpIdleParkMs,
    subscriptions: ["x:a", "x:b"],
  });
});

Deno.test("connection that is opened anew asks for the same resources, but for those that were given up (CM-34)", () => {
  const run = readyWith("x:a", "x:b", "x:a");
  run.send({ type: "connection.unsubscribe", uri: "x:b" } as never);
  run.crash();
  assert.equal(run.state(), "recovering");
  run.makeReady();
  assert.deepEqual(run.argsOf("mcp.watch"), {
    launch: 2,
    idleMs: limits.mcpIdleParkMs,
    subscriptions: ["x:a"],
  });
  // Another server knows nothing of them.
  run.declare(declarationOf({ manifest: { command: "other" } }));
  run.settle("mcp.close", end);
  run.makeReady();
  assert.equal((run.argsOf("mcp.watch") as { subscriptions?: unknown }).subscriptions, undefined);
});

function notice(seq: number, uri?: string): HistoryItem {
  return { type: "notice", seq, ...(uri === undefined ? {} : { about: `docs ${uri}` }) };
}

function told(seq: number, uri: string) {
  return { type: "resource.updated", server: "docs", uri, seq, at: 1, epoch: 1 } as never;
}

Deno.test("model is told once of a resource that changed often, and beside it of every other one (CM-34)", () => {
  let notices: readonly HistoryItem[] = [];
  for (const [seq, uri] of [[3, "x:a"], [4, "x:a"], [5, "x:b"], [6, "x:a"]] as const) {
    notices = noticesWith(notices, told(seq, uri));
  }
  assert.deepEqual(notices, [notice(3, "x:a"), notice(5, "x:b")]);
  const answer = {
    type: "session.answered",
    seq: 7,
    at: 1,
    epoch: 1,
    from: session,
    outcome: "completed",
    text: "t",
  };
  assert.deepEqual(noticesWith(notices, answer as never).at(-1), notice(7));
  const text = describeNotice({ type: "resource.updated", server: "docs", uri: "x:a" });
  assert.match(text, /^\[news from the MCP server docs: .* changed.*\]\nx:a$/);
});

Deno.test("news of resources and answers of sessions each have their own room in what the next turn is told (I12)", () => {
  let notices: readonly HistoryItem[] = [];
  const answered = {
    type: "session.answered",
    at: 1,
    epoch: 1,
    from: session,
    outcome: "completed",
    text: "t",
  };
  for (let seq = 1; seq <= 100; seq++) {
    notices = noticesWith(notices, { ...answered, seq } as never);
    notices = noticesWith(notices, told(1_000 + seq, `x:${seq}`));
  }
  const news = notices.filter((item) => "about" in item);
  assert.deepEqual([news.length, notices.length], [
    limits.mcpSubscriptionsMax,
    limits.mcpSubscriptionsMax + limits.noticesMax,
  ]);
  assert.deepEqual(notices.at(-1), notice(100));
});

Deno.test("updates that come together are one, and the next wait for their time; what nobody subscribed to is none (CM-34)", async () => {
  const world = createWorld();
  const { signal } = new AbortController();
  const subscriptions = new Subscriptions();
  for (const uri of ["x:a", "x:b", "x:dir/"]) subscriptions.add(uri);
  const heard: (readonly [at: number, uris: readonly string[]])[] = [];
  const startedAt = world.now();
  const listen = async () => {
    for (;;) heard.push([world.now() - startedAt, await subscriptions.updates(world.seams.clock, signal)]);
  };
  void listen();
  subscriptions.note("x:other");
  await world.advance(1_000);
  for (let times = 0; times < 1_000; times++) for (const uri of ["x:b", "x:a"]) subscriptions.note(uri);
  await world.advance(limits.mcpUpdateWaitMs);
  assert.deepEqual(heard.map(([, uris]) => uris), [["x:b", "x:a"]]);
  // A part of one that is subscribed to counts as the whole.
  subscriptions.note("x:dir/file");
  await world.advance(limits.mcpUpdateEveryMs - 1);
  assert.equal(heard.length, 1);
  await world.advance(1);
  assert.deepEqual(heard.at(-1)?.[1], ["x:dir/"]);
  subscriptions.note("x:a");
  subscriptions.delete("x:a");
  await world.advance(60_000);
  assert.equal(heard.length, 2);
});

Deno.test("updates that come while nobody listens wait for their time as well (CM-34)", async () => {
  const world = createWorld();
  const { signal } = new AbortController();
  const subscriptions = new Subscriptions();
  subscriptions.add("x:a");
  for (const dueMs of [limits.mcpUpdateWaitMs, limits.mcpUpdateEveryMs, limits.mcpUpdateEveryMs]) {
    subscriptions.note("x:a");
    let isTold = false;
    const told = subscriptions.updates(world.seams.clock, signal).then(() => isTold = true);
    await world.advance(dueMs - 1);
    assert.equal(isTold, false);
    await world.advance(1);
    await told;
  }
  // Who was given up hears nothing, and takes nothing from the next one.
  const gone = new AbortController();
  let isHeard = false;
  void subscriptions.updates(world.seams.clock, gone.signal).then(() => isHeard = true);
  gone.abort();
  subscriptions.note("x:a");
  const next = subscriptions.updates(world.seams.clock, signal);
  await world.advance(limits.mcpUpdateEveryMs);
  assert.deepEqual([await next, isHeard], [["x:a"], false]);
});

/** A client that answers as it is told. */
function clientThat(answer: McpCallResult) {
  const sent: string[] = [];
  const subscriptions = new Subscriptions();
  const call = ({ request }: { readonly request?: McpRequest }) => {
    sent.push(`${request?.method} ${request?.params["uri"]}`);
    return Promise.resolve(answer);
  };
  return { sent, subscriptions, client: { subscriptions, call } as unknown as McpClient };
}

Deno.test("new session with a server is subscribed to what the one before was, and that counts as changed (CM-34)", async () => {
  const refused = {
    status: "refused",
    failure: failure("mcp_protocol_error", "no"),
    isUnknown: false,
  } as const;
  for (const answer of [{ status: "returned", result: {} } as const, refused]) {
    const world = createWorld();
    const { sent, subscriptions, client } = clientThat(answer);
    subscriptions.add("x:here");
    const { signal } = new AbortController();
    const news = watchUpdates(client, ["x:a", "x:here", "x:b"], { clock: world.seams.clock, signal });
    await world.advance(limits.mcpUpdateWaitMs);
    assert.deepEqual(await news, { type: "resources_updated", uris: ["x:a", "x:b"] });
    assert.deepEqual(sent, ["resources/subscribe x:a", "resources/subscribe x:b"]);
  }
});

function deskWith(count = 0) {
  const kept: string[] = [];
  const desk = {
    count: () => count,
    keep: (_: string, uri: string, isWanted: boolean) =>
      Promise.resolve(void kept.push(`${isWanted ? "+" : "-"}${uri}`)),
  };
  return { kept, desk };
}

async function change(
  method: "resources/subscribe" | "resources/unsubscribe",
  uri: string,
  parts: Pick<SubscriptionCall, "client" | "desk">,
): Promise<string> {
  const call = {
    method,
    given: { uri },
    connection: "connection/docs@ses_1",
    isSecret: (text: string) => text.includes("hunter2"),
    ...parts,
  } as const;
  const send = sendingFor(call, (request) => parts.client.call({ request } as never));
  const answered = await send({ method, params: { uri } });
  return answered.status === "returned" ? "returned" : `${answered.status} ${answered.failure.message}`;
}

Deno.test("subscription is kept once the server has agreed, and is refused beyond a bound or with a secret in it (CM-34)", async () => {
  const ok = { status: "returned", result: {} } as const;
  const well = clientThat(ok);
  const { kept, desk } = deskWith();
  assert.equal(await change("resources/subscribe", "x:a", { client: well.client, desk }), "returned");
  assert.deepEqual([kept, well.subscriptions.has("x:a")], [["+x:a"], true]);
  const secret = await change("resources/subscribe", "x:hunter2", { client: well.client, desk });
  assert.match(secret, /^refused .*looks like a secret/);
  const full = deskWith(limits.mcpSubscriptionsMax);
  assert.match(
    await change("resources/subscribe", "x:b", { client: well.client, desk: full.desk }),
    /^refused .*32 subscriptions are the most/,
  );
  // One that is there already takes no more room.
  assert.equal(
    await change("resources/subscribe", "x:a", { client: well.client, desk: full.desk }),
    "returned",
  );
  assert.deepEqual(well.sent, ["resources/subscribe x:a", "resources/subscribe x:a"]);
  assert.equal(await change("resources/unsubscribe", "x:a", { client: well.client, desk }), "returned");
  assert.deepEqual([kept, well.subscriptions.size], [["+x:a", "-x:a"], 0]);
  const lost = { status: "lost", failure: failure("mcp_connection_lost", "gone") } as const;
  const broken = clientThat(lost);
  await change("resources/subscribe", "x:c", { client: broken.client, desk });
  assert.deepEqual([kept.length, broken.subscriptions.size], [2, 0]);
});
