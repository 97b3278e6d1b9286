import assert from "node:assert/strict";
import { AgentDefinition } from "../../schemas/agent.ts";
import { limits } from "../../schemas/limits.ts";
import { connectDoor, type DoorClient } from "../../src/door/client.ts";
import { createRemoteHost } from "../../src/door/remote_host.ts";
import { DoorError, doorVersion } from "../../src/door/protocol.ts";
import { type Door, openDoor } from "../../src/door/server.ts";
import { StoreError } from "../../src/journal/store.ts";
import type { HostEvent } from "../../src/host/host.ts";
import {
  createFakeHost,
  fakeCancelReport,
  fakeEntry,
  type FakeHost,
  fakeQuestion,
  fakeReport,
  fakeRoot,
} from "../support/fake_host.ts";
import { createWorld, type World } from "../support/world.ts";

interface Stage {
  readonly door: Door;
  readonly host: FakeHost;
  readonly world: World;
  /** A client that shows the token. */
  connect(): Promise<DoorClient>;
}

/** Opens a door on real loopback for one test, and closes it whatever happens. */
async function withDoor(
  play: (stage: Stage) => Promise<void>,
  options: { readonly host?: FakeHost; readonly connectionsMax?: number } = {},
): Promise<void> {
  const world = createWorld();
  const host = options.host ?? createFakeHost();
  const { connectionsMax } = options;
  const door = await openDoor({
    host,
    seams: world.seams,
    ...(connectionsMax === undefined ? {} : { connectionsMax }),
  });
  const clients: DoorClient[] = [];
  try {
    await play({
      door,
      host,
      world,
      connect: async () => {
        const client = await connectDoor(door);
        clients.push(client);
        return client;
      },
    });
  } finally {
    for (const client of clients) await client.close();
    await door.close();
  }
}

/** Sends bytes and reads until the owner closes. */
async function exchange(door: Door, ...chunks: readonly (string | Uint8Array)[]): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: door.port });
  const reading = new Response(connection.readable).text();
  try {
    const writer = connection.writable.getWriter();
    for (const chunk of chunks) {
      await writer.write(typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk);
    }
  } catch {
    // The owner closed before all was sent.
  }
  return await reading.catch(() => "");
}

function requestOf(door: Door, changes: object = {}): string {
  return `${JSON.stringify({ token: door.token, id: 1, method: "ping", params: {}, ...changes })}\n`;
}

/** The code of the error line by which the owner ended a connection. */
function codeIn(answer: string): string {
  return JSON.parse(answer.trim().split("\n").at(-1) ?? "{}").code;
}

async function refusalOf(work: Promise<unknown>): Promise<DoorError> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof DoorError, String(error));
    return error;
  }
  assert.fail("was accepted");
}

/** Waits until something holds, within a bound. */
async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000; turn++) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  assert.fail("did not come to hold");
}

Deno.test("door answers whoever shows the token", async () => {
  await withDoor(async ({ connect, door }) => {
    assert.match(door.token, /^[0-9a-f]{64}$/);
    assert.deepEqual(await (await connect()).call("ping", {}), { pid: Deno.pid, v: doorVersion });
  });
});

Deno.test("door refuses everybody else, tells nothing, and goes on", async () => {
  await withDoor(async ({ connect, door, host }) => {
    const tokens = [
      "",
      "x",
      door.token.slice(1),
      `${door.token}0`,
      door.token.toUpperCase(),
      "0".repeat(64),
      7,
      null,
    ];
    for (const token of tokens) {
      const answer = await exchange(door, requestOf(door, { token, method: "create" }));
      assert.equal(codeIn(answer), "token_invalid", String(token));
      assert.ok(!answer.includes(door.token));
    }
    for (const text of ["{}\n", "[]\n", "1\n", '"x"\n']) {
      assert.equal(codeIn(await exchange(door, text)), "token_invalid");
    }
    assert.equal(host.prompts.length, 0);
    assert.equal((await (await connect()).call("ping", {})).v, doorVersion);
  });
});

Deno.test("door ends a connection that says what is no request, and goes on", async () => {
  await withDoor(async ({ connect, door }) => {
    const deep = `${"[".repeat(4_000)}`;
    const cases: readonly (readonly [string, readonly (string | Uint8Array)[]])[] = [
      ["json_invalid", ["hello\n"]],
      ["json_invalid", ["\n"]],
      ["json_invalid", [requestOf(door), "{\n"]],
      ["json_too_deep", [`${deep}\n`]],
      ["json_too_deep", [requestOf(door), `${"[".repeat(100_000)}\n`]],
      ["json_too_large", [requestOf(door), `[${"1,".repeat(200_000)}1]\n`]],
      ["line_not_text", [new Uint8Array([0xff, 0xfe, 10])]],
      ["line_too_long", ["x".repeat(4_097)]],
      ["line_too_long", [requestOf(door), "x".repeat(limits.doorLineBytesMax + 1)]],
      ["request_invalid", [requestOf(door, { method: "shutdown" })]],
      ["request_invalid", [requestOf(door, { id: 0 })]],
      ["request_invalid", [requestOf(door, { extra: 1 })]],
      ["request_invalid", [requestOf(door, { method: "__proto__" })]],
    ];
    for (const [code, chunks] of cases) assert.equal(codeIn(await exchange(door, ...chunks)), code, code);
    assert.equal((await (await connect()).call("ping", {})).v, doorVersion);
  });
});

Deno.test("door takes requests in whatever pieces they come", async () => {
  await withDoor(async ({ door }) => {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: door.port });
    const bytes = new TextEncoder().encode(requestOf(door) + requestOf(door, { id: 2 }));
    for (let at = 0; at < bytes.length; at += 50) {
      await connection.write(bytes.subarray(at, at + 50));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    let answer = "";
    const buffer = new Uint8Array(1_000);
    while (answer.split("\n").length < 3) {
      const count = await connection.read(buffer);
      answer += new TextDecoder().decode(buffer.subarray(0, count ?? 0));
    }
    assert.deepEqual(answer.trim().split("\n").map((line) => JSON.parse(line).id).sort(), [1, 2]);
  });
});

Deno.test("door refuses wrong parameters, and the connection goes on", async () => {
  await withDoor(async ({ connect }) => {
    const client = await connect();
    const params = { root: "no address", from: 0, follow: "yes" };
    assert.equal((await refusalOf(client.call("entries", params as never))).code, "params_invalid");
    assert.equal((await client.call("ping", {})).v, doorVersion);
  });
});

Deno.test("door lets in only so many clients at once", async () => {
  await withDoor(async ({ connect, door }) => {
    const first = await connect();
    await first.call("ping", {});
    const second = await connect();
    await second.call("ping", {});
    assert.equal(codeIn(await exchange(door)), "door_busy");
    await first.close();
    let pong: unknown;
    for (let turn = 0; turn < 100 && pong === undefined; turn++) {
      pong = await (await connect()).call("ping", {}).catch(() => undefined);
    }
    assert.ok(pong);
  }, { connectionsMax: 2 });
});

Deno.test("door does not wait long for a client that says nothing", async () => {
  await withDoor(async ({ door, world }) => {
    const answer = exchange(door);
    await until(() => world.sleepers > 0);
    await world.advance(5_000);
    assert.equal(await answer, "");
  });
});

Deno.test("door passes on the owner's refusals with their code", async () => {
  const host = createFakeHost();
  const failing: FakeHost = {
    ...host,
    readHead: () => Promise.reject(new StoreError("journal_corrupt", "Cannot trust")),
  };
  await withDoor(async ({ connect }) => {
    const error = await refusalOf((await connect()).call("head", { root: fakeRoot }));
    assert.deepEqual([error.code, error.message], ["journal_corrupt", "Cannot trust"]);
  }, { host: failing });
});

Deno.test("door gives entries, blobs, questions and sessions as the owner has them", async () => {
  const entries = Array.from(
    { length: 30 },
    (_, index) => fakeEntry(index + 1, { text: "ä".repeat(100_000) }),
  );
  const blob = new Uint8Array(1_000_000).map((_, index) => index % 251);
  await withDoor(async ({ connect }) => {
    const host = createRemoteHost(await connect(), 7);
    assert.equal(host.owner, 7);
    const got = [];
    for await (const page of host.readPages(fakeRoot, 3)) got.push(...page);
    assert.deepEqual(got, entries.slice(2));
    assert.deepEqual(await host.readBlob(`sha256:${"b".repeat(64)}`), blob);
    assert.deepEqual(await host.listQuestions(), [fakeQuestion(0)]);
    assert.equal((await host.listRoots())[0]?.address, fakeRoot);
    assert.equal((await host.readHead(fakeRoot)).seq, 30);
  }, { host: createFakeHost({ entries, blob }) });
});

// Proves LC-21: whoever holds the store, a session has the mode that it was asked for with.
Deno.test("door passes on the mode of a session that is begun behind it, and refuses another word for one", async () => {
  const order = {
    agent: AgentDefinition.parse({ name: "tester", model: "scripted/script.yaml" }),
    coreRevision: "core-1",
    home: { agent: { kind: "embedded", name: "demo" }, workspace: "/ws" },
    title: "tester",
    servers: [],
  } as const;
  await withDoor(async ({ connect, host }) => {
    const client = await connect();
    const remote = createRemoteHost(client, 7);
    assert.equal(await remote.createSession({ ...order, mode: "plan" }), fakeRoot);
    await remote.createSession(order);
    assert.deepEqual(host.orders.map(({ mode }) => mode), ["plan", undefined]);
    const wild = { ...order, servers: [], mode: "wild" as never };
    assert.equal((await refusalOf(client.call("create", wild))).code, "params_invalid");
    assert.equal(host.orders.length, 2);
  });
});

Deno.test("door takes an answer in the one name that its host issued, whatever name comes with it (DM-25, B26)", async () => {
  await withDoor(async ({ connect, host }) => {
    const client = await connect();
    const params = { question: fakeQuestion(1).id, decision: "allow" as const, shown: fakeQuestion(1).shown };
    for (const more of [{ by: { kind: "user", id: "ada" } }, { by: null }, { principal: "user:ada" }]) {
      const refused = client.call("answer", { ...params, ...more } as never);
      assert.equal((await refusalOf(refused)).code, "params_invalid");
    }
    assert.equal(host.answered.length, 0);
    await client.call("answer", params);
    const by = { kind: "operator", id: "local" };
    assert.deepEqual(host.answered.map((answer) => answer.by), [by]);
  });
});

Deno.test("door tells the giver of a prompt everything, in order, before the end", async () => {
  await withDoor(async ({ connect, host }) => {
    const remote = createRemoteHost(await connect(), 7);
    const heard: HostEvent[] = [];
    const order = { session: fakeRoot, request: { text: "hi" }, key: "k", fromSeq: 1, answers: true };
    const report = remote.prompt(order, (event) => heard.push(event));
    await until(() => host.prompts.length === 1);
    const events: HostEvent[] = [
      { type: "entries", root: fakeRoot, entries: [fakeEntry(1), fakeEntry(2)] },
      {
        type: "progress",
        root: fakeRoot,
        id: "2.0",
        progress: { type: "model", event: { type: "text_delta", text: "x\u2028" } },
      },
      { type: "question", question: fakeQuestion(1) },
    ];
    for (const event of events) host.say(event);
    await until(() => heard.length === 3);
    assert.deepEqual(heard, events);
    // Whose answer it is says the token, not the client.
    await remote.answer(fakeQuestion(1).id, {
      decision: "allow",
      by: { kind: "agent", id: "itself" },
      shown: fakeQuestion(1).shown,
    });
    const wish = { reason: "enough", scope: "call", call: "call/0.1" } as const;
    assert.deepEqual(await remote.cancel(fakeRoot, wish), fakeCancelReport);
    host.end();
    assert.deepEqual(await report, fakeReport);
    const by = { kind: "operator", id: "local" };
    assert.deepEqual(host.answered, [{ id: fakeQuestion(1).id, decision: "allow", by }]);
    assert.deepEqual(host.canceled, [wish]);
    assert.equal(host.prompts[0]?.gone?.aborted, false);
  });
});

Deno.test("door tells the owner when the giver of a prompt has gone, and the turn goes on", async () => {
  await withDoor(async ({ connect, host, door }) => {
    const client = await connect();
    const order = { session: fakeRoot, request: { text: "hi" }, key: "k", fromSeq: 1, answers: true };
    const report = createRemoteHost(client, 7).prompt(order, () => {});
    report.catch(() => {});
    await until(() => host.prompts.length === 1);
    let isIdle = false;
    door.idle().then(() => isIdle = true);
    await client.close();
    assert.equal((await refusalOf(report)).code, "door_closed");
    await until(() => host.prompts[0]?.gone?.aborted === true);
    assert.equal(isIdle, false);
    host.end();
    await until(() => isIdle);
  });
});

Deno.test("door ends a stream that its client does not want any more", async () => {
  await withDoor(async ({ connect }) => {
    const host = createRemoteHost(await connect(), 7);
    const stop = new AbortController();
    const seen: number[] = [];
    for await (const page of host.follow(fakeRoot, 1, stop.signal)) {
      seen.push(...page.map((entry) => entry.seq));
      if (seen.length === 2) stop.abort();
    }
    assert.deepEqual(seen, [1, 2]);
  }, { host: createFakeHost({ entries: [fakeEntry(1), fakeEntry(2)] }) });
});

Deno.test("door that closes lets those who follow hear what was said until then", async () => {
  let isFollowed = false;
  const host: FakeHost = {
    ...createFakeHost(),
    async *follow(_root, _fromSeq, signal) {
      isFollowed = true;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      yield [fakeEntry(1)];
      yield [fakeEntry(2)];
    },
  };
  await withDoor(async ({ connect, door }) => {
    const remote = createRemoteHost(await connect(), 7);
    const seen: number[] = [];
    const followed = (async () => {
      for await (const page of remote.follow(fakeRoot, 1, new AbortController().signal)) {
        seen.push(...page.map((entry) => entry.seq));
      }
    })();
    await until(() => isFollowed);
    await door.close();
    await followed;
    assert.deepEqual(seen, [1, 2]);
  }, { host });
});

Deno.test("door that closes fails what is still being answered", async () => {
  await withDoor(async ({ connect, host, door }) => {
    const order = { session: fakeRoot, request: { text: "hi" }, key: "k", fromSeq: 1, answers: false };
    const report = createRemoteHost(await connect(), 7).prompt(order, () => {});
    report.catch(() => {});
    await until(() => host.prompts.length === 1);
    host.end();
    await door.close();
    await assert.rejects(connectDoor(door), { code: "door_closed" });
  });
});

Deno.test("door gives the actors of a root as they live, and says that one sleeps", async () => {
  const actor = {
    address: fakeRoot,
    machine: "session",
    state: "idle",
    rests: true,
    waits: [],
    awaits: [],
    about: [],
    takes: [{ message: "session.prompt", to: ["running"], byItself: true }],
    restarts: [],
    restartPeriodMs: 0,
  };
  const actors = Array.from({ length: 120 }, (_, n) => ({ ...actor, address: `${fakeRoot}/turn/${n}` }));
  const live = { actors, isHeld: true, mail: 3 };
  const host: FakeHost = {
    ...createFakeHost(),
    readActors: (root) => Promise.resolve(root === fakeRoot ? live : undefined),
  };
  await withDoor(async ({ connect }) => {
    const remote = createRemoteHost(await connect(), 7);
    assert.deepEqual(await remote.readActors(fakeRoot), live);
    assert.equal(await remote.readActors("catalog/asleep"), undefined);
  }, { host });
});
