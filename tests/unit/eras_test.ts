/** What servers were found to speak is remembered for a day, beside the trust in them, and dropped when it is wrong. */
import assert from "node:assert/strict";
import { connectionAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { EraStore } from "../../src/host/eras.ts";
import { Connections } from "../../src/mcp/connections.ts";
import { PrivateHomes } from "../../src/mcp/private_homes.ts";
import { ProcessRegistry } from "../../src/processes/registry.ts";
import { declarationOf } from "../support/connection.ts";
import { withGuarded } from "../support/guarded.ts";
import { discovered, type HttpQuirks, HttpServer, refused, status } from "../support/http_server.ts";
import { createWorld, type World } from "../support/world.ts";

const one = `sha256:${"1".repeat(64)}`;
const other = `sha256:${"2".repeat(64)}`;

async function withFile(play: (path: string, world: World) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-eras-" });
  try {
    await play(`${folder}/trust.json.eras`, createWorld());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("eras are remembered for a day, for every process of an operator and for one declaration", async () => {
  await withFile(async (path, world) => {
    const { clock } = world.seams;
    const store = new EraStore(path, clock);
    await store.remember(one, "legacy");
    await new EraStore(path, clock).remember(other, "modern");
    assert.deepEqual([await store.recall(one), await store.recall(other)], ["legacy", "modern"]);
    if (Deno.build.os !== "windows") assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
    await world.advance(limits.mcpEraAgeMs - 1);
    assert.equal(await store.recall(one), "legacy");
    await world.advance(1);
    assert.equal(await store.recall(one), undefined);
    await store.remember(one, "modern");
    assert.equal(await store.recall(one), "modern");
    await store.forget(one);
    assert.equal(await store.recall(one), undefined);
  });
});

Deno.test("eras that cannot be read or written cost a question, and nothing else", async () => {
  await withFile(async (path, { seams: { clock } }) => {
    await Deno.writeTextFile(path, "{");
    const store = new EraStore(path, clock);
    assert.equal(await store.recall(one), undefined);
    await store.remember(one, "legacy");
    assert.equal(await store.recall(one), "legacy");
    const nowhere = new EraStore(`${path}/no/place`, clock);
    await nowhere.remember(one, "legacy");
    assert.equal(await nowhere.recall(one), undefined);
    const inMemory = new EraStore(undefined, clock);
    await inMemory.remember(one, "modern");
    assert.equal(await inMemory.recall(one), "modern");
  });
});

Deno.test("eras that were remembered stay as few as they may be, the newest of them", async () => {
  await withFile(async (path, world) => {
    const { clock } = world.seams;
    const servers = Object.fromEntries(
      Array.from({ length: limits.mcpErasRememberedMax }, (_, index) => [
        `sha256:${String(index).padStart(64, "0")}`,
        { era: "legacy", atMs: clock.now() + index },
      ]),
    );
    await Deno.writeTextFile(path, JSON.stringify({ v: 1, servers }));
    await world.advance(limits.mcpErasRememberedMax);
    const store = new EraStore(path, clock);
    await store.remember(one, "modern");
    assert.equal(await store.recall(one), "modern");
    assert.equal(await store.recall(`sha256:${"0".repeat(64)}`), undefined);
    assert.equal(await store.recall(`sha256:${"1".padStart(64, "0")}`), "legacy");
  });
});

interface Scene {
  readonly server: HttpServer;
  readonly world: World;
  /** Connects, and gives back what was asked for that, by method. */
  connect(protocol?: string): Promise<readonly string[]>;
}

/** Plays with connections to one server by HTTP, which remember. */
async function withConnections(quirks: HttpQuirks, play: (scene: Scene) => Promise<void>): Promise<void> {
  const server = new HttpServer(quirks);
  const { port } = new URL(server.url);
  try {
    await withGuarded({ allow: [`127.0.0.1:${port}`] }, async ({ client: { fetch }, world }) => {
      const { clock, digest, log } = world.seams;
      const connections = new Connections({
        registry: new ProcessRegistry({ store: ":memory:", runId: "eras", clock, digest, log }),
        clock,
        env: () => undefined,
        homes: new PrivateHomes(":memory:"),
        self: { command: "false", args: [], env: {} },
        fetch,
        eras: new EraStore(undefined, clock),
      });
      const root = connectionAddress("remote", "session/ses_1");
      const connect = async (protocol?: string) => {
        const before = server.heard.length;
        const manifest = {
          transport: "streamable_http",
          url: server.url,
          ...(protocol === undefined ? {} : { protocol }),
        };
        await connections.connect({
          root,
          launch: 1,
          declaration: declarationOf({ server: "remote", cwd: "", manifest }),
          deadlineAtMs: clock.now() + 30_000,
          signal: new AbortController().signal,
          onNotice: () => {},
        });
        await connections.close({ root, launch: 1 });
        return server.heard.slice(before).flatMap(({ message }) => message.method ?? []);
      };
      await play({ server, world, connect });
    });
  } finally {
    await server.close();
  }
}

const handshake = ["initialize", "notifications/initialized"];

Deno.test("mcp server that was found to be legacy is not asked again for a day", async () => {
  await withConnections({}, async ({ world, connect }) => {
    assert.deepEqual(await connect(), ["server/discover", ...handshake]);
    assert.deepEqual(await connect(), handshake);
    await world.advance(limits.mcpEraAgeMs);
    assert.deepEqual(await connect(), ["server/discover", ...handshake]);
  });
});

Deno.test("mcp server that is not any more what was remembered is found anew at once, and so remembered", async () => {
  const quirks: { -readonly [K in keyof HttpQuirks]: HttpQuirks[K] } = {};
  await withConnections(quirks, async ({ connect }) => {
    await connect();
    quirks.discover = (message) => discovered(message);
    quirks.initialize = (message) => refused(message, -32_022, "Unsupported", { status: 400 });
    assert.deepEqual(await connect(), ["initialize", "server/discover"]);
    assert.deepEqual(await connect(), ["server/discover"]);
    delete quirks.initialize;
    quirks.discover = () => status(404);
    assert.deepEqual(await connect(), ["server/discover", ...handshake]);
    assert.deepEqual(await connect(), handshake);
  });
});

Deno.test("mcp server that cannot be reached in the era that was remembered is asked of its era the next time", async () => {
  const quirks: { -readonly [K in keyof HttpQuirks]: HttpQuirks[K] } = {};
  await withConnections(quirks, async ({ connect }) => {
    await connect();
    quirks.initialize = () => status(500);
    assert.deepEqual(await connect(), ["initialize"]);
    delete quirks.initialize;
    assert.deepEqual(await connect(), ["server/discover", ...handshake]);
  });
});

Deno.test("mcp server whose manifest names a revision is asked nothing, and nothing is remembered of it", async () => {
  await withConnections({ discover: (message) => discovered(message) }, async ({ server, connect }) => {
    assert.deepEqual(await connect("2025-06-18"), handshake);
    assert.equal(server.heardOf("initialize")[0]?.message.params?.["protocolVersion"], "2025-06-18");
    assert.deepEqual(await connect("2026-07-28"), ["server/discover"]);
  });
  // No other era is tried for it.
  await withConnections({}, async ({ connect }) => {
    assert.deepEqual(await connect("2026-07-28"), ["server/discover"]);
    assert.deepEqual(await connect("2026-07-28"), ["server/discover"]);
  });
});
