/** The life of servers that are real processes: hung beside healthy ones, idle, drained, paused, and what they are given. */
import assert from "node:assert/strict";
import { connectionAddress, type RootAddress, sessionOf } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { McpCallResult, McpClient } from "../../src/mcp/client.ts";
import { Connections, type ConnectOrder } from "../../src/mcp/connections.ts";
import { PrivateHomes } from "../../src/mcp/private_homes.ts";
import { ProcessRegistry } from "../../src/processes/registry.ts";
import type { Clock } from "../../src/seams.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { childEnv, until, within } from "../support/child_stage.ts";
import { declarationOf } from "../support/connection.ts";
import { createWorld } from "../support/world.ts";

const badServer = new URL("../support/bad_server.ts", import.meta.url).pathname;
const seams = createSystemSeams({ log: () => {} });

/** What the host's environment holds besides: no server may see it. */
const planted = { AWS_SECRET_ACCESS_KEY: "needle-1", GITHUB_TOKEN: "needle-2", OPENAI_API_KEY: "needle-3" };

/** What every program may need of the host's environment, and no more (DM-83). */
const needed = {
  LANG: "de_DE.UTF-8",
  LC_ALL: "C.UTF-8",
  LC_CTYPE: "C",
  TERM: "xterm",
  COLORTERM: "truecolor",
  TMPDIR: "/tmp/1",
  TMP: "/tmp/2",
  TEMP: "/tmp/3",
  TZ: "Asia/Tokyo",
};
/** What the host has besides. */
const unneeded = {
  LC_TIME: "C",
  EDITOR: "vi",
  SHELL: "/bin/sh",
  USER: "me",
  SSH_AUTH_SOCK: "/tmp/agent",
  PWD: "/",
};

/** Connections over real processes, in a folder of their own. */
interface Stage {
  readonly folder: string;
  readonly registry: ProcessRegistry;
  readonly connections: Connections;
  /** The order to start a server of a session. `more` changes its manifest. */
  order(server: string, more: Order): ConnectOrder;
  /** Starts a server that misbehaves as its mode says, and must come up. */
  open(server: string, mode?: string, session?: string): Promise<{ root: RootAddress; client: McpClient }>;
}

interface Order {
  readonly manifest?: { readonly [field: string]: unknown };
  readonly mode?: string;
  readonly session?: string;
  readonly signal?: AbortSignal;
}

async function onStage(play: (stage: Stage) => Promise<void>, clock: Clock = seams.clock): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-life-" });
  const store = `${folder}/store.db`;
  const registry = new ProcessRegistry({ store, runId: "life", clock, digest: seams.digest, log: seams.log });
  const given: { readonly [name: string]: string | undefined } = {
    ...childEnv,
    HOME: folder,
    ...planted,
    ...needed,
    ...unneeded,
  };
  const connections = new Connections({
    registry,
    clock,
    env: (name) => given[name],
    homes: new PrivateHomes(store),
    self: { command: "false", args: [], env: {} },
    fetch,
  });
  const order = (
    server: string,
    { manifest, mode = "good", session = "1", signal }: Order,
  ): ConnectOrder => ({
    root: connectionAddress(server, `session/ses_${session}`),
    launch: 1,
    declaration: declarationOf({
      server,
      cwd: folder,
      manifest: {
        command: Deno.execPath(),
        args: ["run", "-A", "--quiet", "--no-config", badServer, ...mode.split(" ")],
        ...manifest,
      },
    }),
    deadlineAtMs: clock.now() + 30_000,
    signal: signal ?? new AbortController().signal,
    onNotice: () => {},
  });
  const open = async (server: string, mode = "good", session = "1") => {
    const one = order(server, { mode, session });
    const made = await within(`${server} is ready`, () => connections.connect(one));
    assert.ok(!("code" in made), JSON.stringify(made));
    const client = connections.clientOf(one.root);
    assert.ok(client);
    return { root: one.root, client };
  };
  try {
    await play({ folder, registry, connections, order, open });
  } finally {
    registry.killAll();
    await registry.closeAll();
    await Deno.remove(folder, { recursive: true });
  }
}

function call(client: McpClient, tool = "echo", given = {}, idleMs: number = limits.mcpCallIdleMs) {
  const signal = new AbortController().signal;
  return client.call({ tool, arguments: given, key: "session/s#1.0", signal, idleMs, onProgress: () => {} });
}

function textOf(result: McpCallResult): string {
  assert.equal(result.status, "returned");
  const { content } = (result as { readonly result: unknown }).result as { content: { text: string }[] };
  return content[0]?.text ?? "";
}

Deno.test("nine servers are ready while a tenth, asked for first, says nothing (DM-57, DM-137)", () =>
  onStage(async ({ connections, order, open }) => {
    const abort = new AbortController();
    const hung = order("hung", { mode: "never-answers", signal: abort.signal });
    let isSettled = false;
    const never = connections.connect(hung).finally(() => isSettled = true);
    const names = Array.from({ length: 9 }, (_, n) => `healthy${n}`);
    await Promise.all(names.map((name) => open(name)));
    assert.equal(isSettled, false);
    assert.ok(connections.busy.includes(hung.root) && connections.clientOf(hung.root) === undefined);
    abort.abort();
    await within("giving up", () => never);
  }));

Deno.test("servers by package runners are started one at a time, and keep nobody else from being started", () =>
  onStage(async ({ folder, registry, connections, order, open }) => {
    const npx = `${folder}/npx`;
    await Deno.writeTextFile(npx, "#!/bin/sh\ncat > /dev/null\n", { mode: 0o755 });
    const aborts = [1, 2, 3, 4, 5].map(() => new AbortController());
    const made = aborts.map(({ signal }, n) =>
      connections.connect(order(`runner${n}`, { manifest: { command: npx, args: ["server"] }, signal }))
    );
    try {
      // Five of them wait for each other: were each in one of the four places, nothing else could start.
      await open("other");
      await until("one runner lives", () => registry.size === 2);
      aborts[0]?.abort();
      await within("the first", () => made[0] ?? assert.fail());
      await until("the second runner lives", () => registry.size === 2);
    } finally {
      for (const abort of aborts) abort.abort();
      await Promise.allSettled(made);
    }
  }));

Deno.test("server is idle after 15 minutes without a call, never during one, and is not called from then on", async () => {
  const world = createWorld();
  await onStage(async ({ folder, connections, open }) => {
    const { root, client } = await open("docs");
    let news: unknown;
    const idleMs = limits.mcpIdleParkMs;
    connections.watch({ root, launch: 1, idleMs }).then((told) => news = told);
    const slow = call(client, "slow", { file: `${folder}/go` }, Infinity);
    await world.advance(2 * idleMs);
    assert.deepEqual([news, connections.clientOf(root) === undefined], [undefined, false]);
    await Deno.writeTextFile(`${folder}/go`, "");
    assert.equal(textOf(await within("the call", () => slow)), "the file is there");
    await world.advance(idleMs - 1_000);
    assert.equal(news, undefined);
    await world.advance(1_000);
    assert.deepEqual(news, { type: "idle" });
    assert.equal(connections.clientOf(root), undefined);
    const { code } = await within("the end", () => connections.close({ root, launch: 1, drainMs: 10_000 }));
    assert.equal(code, 0);
  }, world.seams.clock);
});

Deno.test("server with a subscription is not idle, however long nobody calls it (CM-34)", async () => {
  const world = createWorld();
  await onStage(async ({ connections, open }) => {
    const { root, client } = await open("docs");
    let news: unknown;
    const idleMs = limits.mcpIdleParkMs;
    connections.watch({ root, launch: 1, idleMs }).then((told) => news = told);
    client.subscriptions?.add("x:a");
    assert.equal(connections.subscribed(sessionOf(root) ?? root), 1);
    await world.advance(5 * idleMs);
    assert.deepEqual([news, connections.clientOf(root) === undefined], [undefined, false]);
    client.subscriptions?.delete("x:a");
    await world.advance(2 * idleMs);
    assert.deepEqual(news, { type: "idle" });
    await within("the end", () => connections.close({ root, launch: 1 }));
  }, world.seams.clock);
});

Deno.test("server that is closed takes no new call, waits for the one in flight, but not for ever", async () => {
  const world = createWorld();
  await onStage(async ({ folder, connections, open }) => {
    const patient = await open("patient");
    const answered = call(patient.client, "slow", { file: `${folder}/go` }, Infinity);
    const ended = connections.close({ root: patient.root, launch: 1, drainMs: 10_000 });
    assert.equal(connections.clientOf(patient.root), undefined);
    await world.advance(9_000);
    await Deno.writeTextFile(`${folder}/go`, "");
    assert.equal(textOf(await within("the answer", () => answered)), "the file is there");
    assert.equal((await within("the end", () => ended)).code, 0);

    const silent = await open("silent");
    const lost = call(silent.client, "slow", {}, Infinity);
    const closed = connections.close({ root: silent.root, launch: 1, drainMs: 10_000 });
    await world.advance(10_000);
    assert.equal((await within("the loss", () => lost)).status, "lost");
    assert.equal((await within("the end", () => closed)).code, 0);
  }, world.seams.clock);
});

Deno.test("server's own end is told with the calls that it had served; the end of a runtime is no such end", () =>
  onStage(async ({ connections, open }) => {
    const { root, client } = await open("docs");
    const watching = connections.watch({ root, launch: 1 });
    await call(client);
    await call(client);
    client.kill();
    const news = await within("the news", () => watching);
    assert.ok("type" in news && news.type === "ended", JSON.stringify(news));
    assert.deepEqual([news.served, connections.clientOf(root)], [2, undefined]);
    const gone = await connections.watch({ root: connectionAddress("docs", "session/ses_9"), launch: 1 });
    assert.equal("code" in gone && gone.code, "interrupted");
  }));

Deno.test("paused server loses its call when that was silent for too long, and is ended all the same", () =>
  onStage(async ({ connections, registry, open }) => {
    const { root, client } = await open("docs");
    const pid = Number(textOf(await call(client, "pid")));
    Deno.kill(pid, "SIGSTOP");
    const result = await within("the call", () => call(client, "echo", {}, 50));
    assert.equal(result.status, "lost");
    const { signal } = await within("the end", () => connections.close({ root, launch: 1, drainMs: 1_000 }));
    assert.deepEqual([signal, registry.size], ["SIGKILL", 0]);
  }));

Deno.test("sessions share no server: each has a process of its own, and the end of one leaves the other's (B97)", () =>
  onStage(async ({ connections, registry, open }) => {
    const [mine, yours] = await Promise.all([open("docs", "good", "1"), open("docs", "good", "2")]);
    const pids = await Promise.all(
      [mine, yours].map(async ({ client }) => textOf(await call(client, "pid"))),
    );
    assert.equal(new Set(pids).size, 2);
    // Both servers number their answers alike: each client hears its own server only.
    const answers = await Promise.all(
      [mine, yours].flatMap(({ client }, n) => [1, 2, 3].map((m) => call(client, "echo", { n, m }))),
    );
    assert.deepEqual(
      answers.map(textOf),
      [0, 1].flatMap((n) => [1, 2, 3].map((m) => JSON.stringify({ n, m }))),
    );
    await connections.close({ root: mine.root, launch: 1 });
    assert.deepEqual([registry.size, connections.busy], [1, [yours.root]]);
    assert.equal(textOf(await call(yours.client, "pid")), pids[1]);
  }));

Deno.test("server finds nothing of the host in its environment, and a home of its own that only its owner may read (B47, DM-83)", () =>
  onStage(async ({ folder, connections, order, open }) => {
    const { root, client } = await open("docs");
    const seen = JSON.parse(textOf(await call(client, "environment"))) as { readonly [name: string]: string };
    const { HOME: ownHome, TROUPE_OWNER: _, TROUPE_SPAWN: __, ...rest } = seen;
    assert.deepEqual(rest, { PATH: childEnv.PATH, ...needed });
    assert.ok(!JSON.stringify(seen).includes("needle"));
    const { declaration } = order("docs", {});
    const home = `${folder}/store.db.homes/docs-${
      declaration.fingerprint.slice("sha256:".length).slice(0, 12)
    }`;
    assert.equal(ownHome, await Deno.realPath(home));
    for (const path of [home, `${folder}/store.db.homes`]) {
      assert.equal((await Deno.lstat(path)).mode! & 0o777, 0o700);
    }
    // The next start of the same declaration finds what it kept; another declaration does not.
    await Deno.writeTextFile(`${home}/kept`, "1");
    await connections.close({ root, launch: 1 });
    const again = await open("docs");
    const same = JSON.parse(textOf(await call(again.client, "environment")));
    assert.equal(same["HOME"], seen["HOME"]);
    const other = await open("docs", "good --other", "2");
    const { HOME } = JSON.parse(textOf(await call(other.client, "environment")));
    assert.notEqual(HOME, seen["HOME"]);
    assert.deepEqual([...Deno.readDirSync(HOME)].map(({ name }) => name).includes("kept"), false);
  }));

Deno.test("server whose home is something else, or a link, is not started", () =>
  onStage(async ({ folder, connections, order, registry }) => {
    const one = order("docs", {});
    const hash = one.declaration.fingerprint.slice("sha256:".length).slice(0, 12);
    await Deno.mkdir(`${folder}/store.db.homes`);
    await Deno.symlink(folder, `${folder}/store.db.homes/docs-${hash}`);
    const made = await connections.connect(one);
    assert.ok("code" in made && made.code === "mcp_connect_failed", JSON.stringify(made));
    assert.match(made.message, /its own home cannot be made beside the store \(NotADirectory\)/);
    assert.equal(registry.size, 0);
  }));
