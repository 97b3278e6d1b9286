/** How a change of what a server of the modern era offers becomes known: by its one stream, by time, or by looking. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import type { McpClient } from "../../src/mcp/client.ts";
import {
  discovered,
  event,
  type HttpMessage,
  type HttpQuirks,
  json,
  refused,
} from "../support/http_server.ts";
import { call, never, until, withServer } from "../support/modern_scene.ts";

const telling = { tools: { listChanged: true }, resources: { listChanged: true }, prompts: {} };

/** The stream of changes, held by the test. */
class Streams {
  readonly #open: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>[] = [];
  opened = 0;

  readonly listen = ({ id }: HttpMessage): Response => {
    this.opened += 1;
    const meta = { "io.modelcontextprotocol/subscriptionId": id };
    const params = { notifications: { toolsListChanged: true }, _meta: meta };
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        this.#open.push(controller);
        this.say("subscriptions/acknowledged", params);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };

  say(method: string, params: object = {}): void {
    const text = event({ jsonrpc: "2.0", method: `notifications/${method}`, params });
    this.#open.at(-1)?.enqueue(new TextEncoder().encode(text));
  }

  close(): void {
    this.#open.pop()?.close();
  }
}

/** A list that counts for a minute, as many times as it was asked for. */
function lists(tools: () => readonly string[], ttlMs?: number): (message: HttpMessage) => Response {
  return (message) => {
    const all = tools().map((name) => ({ name, inputSchema: { type: "object" } }));
    return json(message, {
      resultType: "complete",
      tools: all,
      cacheScope: "private",
      ...(ttlMs === undefined ? {} : { ttlMs }),
    });
  };
}

/** True once a change was told of; asks nobody. */
function watch(client: McpClient): { isChanged: boolean } {
  const seen = { isChanged: false };
  void client.listChanged().then(() => seen.isChanged = true);
  return seen;
}

Deno.test("mcp server of the modern era tells of changes by one stream, which is asked for what it offers to tell", async () => {
  const streams = new Streams();
  const quirks = { discover: (message: HttpMessage) => discovered(message, telling), listen: streams.listen };
  await withServer(quirks, async (scene) => {
    const client = await scene.open();
    await client.list(never);
    const seen = watch(client);
    await until("it listens", scene, () => streams.opened === 1);
    const [asked] = scene.server.heardOf("subscriptions/listen");
    assert.deepEqual(asked?.message.params?.["notifications"], {
      toolsListChanged: true,
      resourcesListChanged: true,
    });
    await scene.world.settle();
    assert.equal(seen.isChanged, false);
    streams.say("tools/list_changed");
    await until("the change is known", scene, () => seen.isChanged);
  });
});

Deno.test("mcp stream of changes that ends is opened again, later each time, and what nobody told of is looked for", async () => {
  const streams = new Streams();
  const askedAtMs: number[] = [];
  let isRefusing = false;
  let now = () => 0;
  const listen = (message: HttpMessage) => {
    askedAtMs.push(now());
    return isRefusing ? new Response(null, { status: 503 }) : streams.listen(message);
  };
  await withServer({ discover: (message) => discovered(message, telling), listen }, async (scene) => {
    now = () => scene.world.now();
    const client = await scene.open();
    await until("it listens", scene, () => streams.opened === 1);
    await client.list(never);
    const seen = watch(client);
    isRefusing = true;
    askedAtMs[0] = now();
    streams.close();
    await until("it asked again", scene, () => askedAtMs.length === 4, 50);
    const waits = askedAtMs.slice(1).map((atMs, index) => atMs - (askedAtMs[index] ?? 0));
    for (const [index, waitMs] of waits.entries()) {
      assert.ok(waitMs >= limits.mcpReopenMs * 2 ** index, `${waits}`);
    }
    assert.equal(seen.isChanged, false);
    isRefusing = false;
    await until("it listens again", scene, () => streams.opened === 2, 1_000);
    await until("the gap counts as a change", scene, () => seen.isChanged);
  });
});

Deno.test("mcp server that has no stream of changes is asked for one once, or not at all", async () => {
  await withServer({ discover: (message) => discovered(message, telling) }, async (scene) => {
    await scene.open();
    await until("it was asked", scene, () => scene.server.heardOf("subscriptions/listen").length === 1);
    for (let minutes = 0; minutes < 30; minutes++) await scene.world.advance(60_000);
    assert.equal(scene.server.heardOf("subscriptions/listen").length, 1);
  });
  await withServer({ discover: (message) => discovered(message, { tools: {} }) }, async (scene) => {
    const client = await scene.open();
    await client.list(never);
    assert.deepEqual(scene.server.heardOf("subscriptions/listen"), []);
  });
});

Deno.test("mcp list is not asked for again as long as it counts by the server's own word, unless it changed", async () => {
  const streams = new Streams();
  const quirks: HttpQuirks = {
    discover: (message) => discovered(message, telling),
    listen: streams.listen,
    list: lists(() => ["a"], 60_000),
  };
  await withServer(quirks, async (scene) => {
    const client = await scene.open();
    const asked = () => scene.server.heardOf("tools/list").length;
    await until("it listens", scene, () => streams.opened === 1);
    assert.deepEqual(await client.list(never), await client.list(never));
    assert.equal(asked(), 1);
    await scene.world.advance(59_999);
    await client.list(never);
    assert.equal(asked(), 1);
    await scene.world.advance(1);
    await client.list(never);
    assert.equal(asked(), 2);
    const seen = watch(client);
    streams.say("tools/list_changed");
    await until("the change is known", scene, () => seen.isChanged);
    await client.list(never);
    assert.equal(asked(), 3);
  });
});

Deno.test("mcp list without a word on how long it counts is asked for each time", async () => {
  for (const ttlMs of [undefined, 0]) {
    const quirks: HttpQuirks = {
      discover: (message) => discovered(message),
      list: lists(() => ["a"], ttlMs),
    };
    await withServer(quirks, async ({ server, open }) => {
      const client = await open();
      await client.list(never);
      await client.list(never);
      assert.equal(server.heardOf("tools/list").length, 2);
    });
  }
});

Deno.test("mcp list whose changes nobody tells of is looked at again once it does not count any more", async () => {
  const tools = ["a"];
  const quirks: HttpQuirks = {
    discover: (message) => discovered(message),
    list: lists(() => tools, 600_000),
  };
  await withServer(quirks, async (scene) => {
    const client = await scene.open();
    await client.list(never);
    const seen = watch(client);
    const asked = () => scene.server.heardOf("tools/list").length;
    await scene.world.advance(599_999);
    assert.equal(asked(), 1);
    await scene.world.advance(1);
    await until("it was looked at", scene, () => asked() === 2);
    await until("it waits", scene, () => scene.world.sleepers > 0);
    assert.equal(seen.isChanged, false);
    tools.push("b");
    await scene.world.advance(600_000);
    await until("the change is known", scene, () => seen.isChanged);
    assert.equal((await client.list(never)).length, 2);
  });
});

/** A subscription as an agent's call makes it. */
function change(client: McpClient, way: "subscribe" | "unsubscribe", uri: string) {
  client.subscriptions?.[way === "subscribe" ? "add" : "delete"](uri);
  return call(client, { request: { method: `resources/${way}`, params: { uri } } });
}

const watching = { tools: {}, resources: { subscribe: true } };

/** Streams that are open, by the resources that each is about; `tells` decides what is promised. */
class ResourceStreams {
  readonly open = new Map<unknown, { readonly uris: readonly string[]; readonly end: () => void }>();
  readonly asked: (readonly string[])[] = [];
  isRefusing = false;

  readonly listen = ({ id, params }: HttpMessage): Response => {
    const wanted = params?.["notifications"] as { readonly resourceSubscriptions?: readonly string[] };
    const uris = wanted.resourceSubscriptions ?? [];
    this.asked.push(uris);
    if (this.isRefusing) return refused({ id: id ?? 0 }, -32_603, "no more");
    const told = uris.filter((uri) => uri !== "x:none");
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        const end = () => {
          this.open.delete(id);
          controller.close();
        };
        this.open.set(id, { uris, end });
        const _meta = { "io.modelcontextprotocol/subscriptionId": id };
        const params = { notifications: { resourceSubscriptions: told }, _meta };
        const notice = { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params };
        controller.enqueue(new TextEncoder().encode(event(notice)));
      },
      cancel: () => void this.open.delete(id),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };

  get uris(): readonly (readonly string[])[] {
    return [...this.open.values()].map(({ uris }) => uris);
  }
}

Deno.test("mcp subscriptions to resources of the modern era are one stream, which the next one takes the place of (CM-34)", async () => {
  const streams = new ResourceStreams();
  const quirks = {
    discover: (message: HttpMessage) => discovered(message, watching),
    listen: streams.listen,
  };
  await withServer(quirks, async (scene) => {
    const client = await scene.open();
    assert.deepEqual(client.greeting.capabilities, ["tools", "resources", "subscriptions"]);
    const results = await Promise.all([
      change(client, "subscribe", "x:a"),
      change(client, "subscribe", "x:b"),
    ]);
    assert.deepEqual(results.map(({ status }) => status), ["returned", "returned"]);
    assert.deepEqual(streams.asked, [["x:a"], ["x:a", "x:b"]]);
    await until("only the later one is left", scene, () => streams.open.size === 1);
    assert.deepEqual(streams.uris, [["x:a", "x:b"]]);
    const none = await change(client, "subscribe", "x:none");
    assert.equal(none.status === "refused" && none.failure.code, "mcp_subscription_refused");
    await until("the one before is left", scene, () => streams.open.size === 1);
    assert.deepEqual(streams.uris, [["x:a", "x:b"]]);
    assert.equal((await change(client, "unsubscribe", "x:a")).status, "returned");
    await until("one resource is left", scene, () => `${streams.uris}` === "x:b");
    assert.equal((await change(client, "unsubscribe", "x:b")).status, "returned");
    await until("none is left", scene, () => streams.open.size === 0);
    assert.deepEqual(scene.server.heardOf("resources/subscribe"), []);
  });
});

Deno.test("mcp stream of resources that ends is opened again, and all of them may have changed meanwhile (CM-34)", async () => {
  const streams = new ResourceStreams();
  const quirks = {
    discover: (message: HttpMessage) => discovered(message, watching),
    listen: streams.listen,
  };
  await withServer(quirks, async (scene) => {
    const client = await scene.open();
    await change(client, "subscribe", "x:a");
    let told: readonly string[] = [];
    const hear = () =>
      void client.subscriptions?.updates(scene.world.seams.clock, never).then((uris) => told = uris);
    hear();
    for (const { end } of streams.open.values()) end();
    await until("it listens again", scene, () => streams.asked.length === 2, 50);
    await until("the gap is told of", scene, () => told.length === 1, 1_000);
    told = [];
    hear();
    streams.isRefusing = true;
    for (const { end } of streams.open.values()) end();
    await until("that nobody tells is told of", scene, () => told.length === 1, 1_000);
    assert.equal(streams.asked.length, 3);
  });
});
