/** The files of logins: for their owner's eyes alone, whole or not there, and each for itself. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { forget } from "../../src/mcp/oauth/login.ts";
import { type TokenRecord } from "../../src/mcp/oauth/token_record.ts";
import { credentialsFolder, TokenStore } from "../../src/mcp/oauth/token_store.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { refusalOf } from "../support/logins.ts";
import { createWorld, type World } from "../support/world.ts";

const record: TokenRecord = {
  v: 1,
  issuer: "https://login.example",
  resource: "https://docs.example/mcp",
  client: { id: "client-1", kind: "registered", method: "none", secret: "client-secret-1" },
  grant: "authorization_code",
  token_endpoint: "https://login.example/token",
  endpoints: ["https://docs.example/mcp"],
  access_token: "access-token-1",
  refresh_token: "refresh-token-1",
  got_at: 1,
  scopes: ["read"],
  wanted: [],
  generation: 1,
};

interface Staged {
  readonly store: TokenStore;
  readonly folder: string;
  readonly world: World;
  readonly kept: string[];
  /** Keeps a login and gives the path of its file. */
  keep(one?: TokenRecord): Promise<string>;
}

async function withStore(
  play: (staged: Staged) => Promise<void>,
  { canKeep = (_: string): boolean => true, isTimed = false } = {},
): Promise<void> {
  const root = await Deno.makeTempDir();
  const world = createWorld();
  const folder = `${root}/data/credentials`;
  const kept: string[] = [];
  const { digest } = world.seams;
  // A process that another test starts holds our locks for the moment until it is itself: real time goes by then.
  const { clock } = isTimed ? world.seams : createSystemSeams({ log: () => {} });
  const keepSecret = (name: string, value: string) => canKeep(value) && kept.push(`${name}=${value}`) > 0;
  const store = new TokenStore({ folder, keepSecret, clock, digest });
  const keep = async (one = record) => {
    const name = await store.nameOf(one);
    await store.change(name, () => Promise.resolve(one));
    return `${folder}/${name}.json`;
  };
  try {
    await play({ store, folder, world, kept, keep });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

async function modeOf(path: string): Promise<string> {
  return (((await Deno.stat(path)).mode ?? 0) & 0o777).toString(8);
}

Deno.test("token store lies beside the list of what is trusted, and looking makes nothing", async () => {
  assert.equal(
    credentialsFolder("/home/one/.local/share/troupe/trusted.json"),
    "/home/one/.local/share/troupe/credentials",
  );
  assert.equal(credentialsFolder("trusted.json"), "credentials");
  await withStore(async ({ store, folder }) => {
    assert.deepEqual(await store.find(record.resource), []);
    await assert.rejects(Deno.stat(folder), Deno.errors.NotFound);
  });
});

Deno.test("token store keeps a file for each issuer, resource and client, which its owner alone may read (B101)", async () => {
  await withStore(async ({ store, folder, keep }) => {
    const others = [
      { ...record, issuer: "https://login2.example" },
      { ...record, resource: "https://docs.example" },
      { ...record, client: { ...record.client, id: "client-2" } },
    ];
    const paths = [await keep()];
    for (const other of others) paths.push(await keep(other));
    assert.equal(new Set(paths).size, 4);
    for (const path of paths) assert.equal(await modeOf(path), "600");
    assert.equal(await modeOf(folder), "700");
    assert.equal((await store.find(record.endpoints[0] ?? "")).length, 4);
    // A token goes to the URL that it was got for, not to a neighbour on the same host.
    assert.deepEqual(await store.find("https://docs.example/other"), []);
  });
});

Deno.test("token store makes every secret known that it reads or writes, and gives none that cannot be taken out again", async () => {
  await withStore(async ({ store, kept, keep }) => {
    await keep();
    const all = [
      "access_token=access-token-1",
      "refresh_token=refresh-token-1",
      "client_secret=client-secret-1",
    ];
    assert.deepEqual(kept, all);
    kept.length = 0;
    await store.find(record.resource);
    assert.deepEqual(kept, all);
  });
  await withStore(async ({ folder, keep }) => {
    const { code, failure } = await refusalOf(keep());
    assert.equal(code, "mcp_credentials_unusable");
    assert.match(failure.message, /its refresh_token cannot be kept out of what is shown/);
    const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
    assert.ok(names.every((name) => name.endsWith(".lock")));
  }, { canKeep: (value) => value !== "refresh-token-1" });
});

Deno.test("token store refuses a file that others may read, that is too large, or that it did not write, and leaves it", async () => {
  const spoilers: readonly (readonly [(path: string) => Promise<void>, RegExp])[] = [
    [(path) => Deno.chmod(path, 0o640), /others may read or write "[0-9a-f]{32}\.json" \(mode 0640\)/],
    [(path) => Deno.chmod(path, 0o602), /mode 0602/],
    [(path) => Deno.writeTextFile(path, "{"), /this release did not write/],
    [
      (path) => Deno.writeTextFile(path, JSON.stringify({ ...record, more: 1 })),
      /this release did not write/,
    ],
    [(path) => Deno.writeTextFile(path, " ".repeat(limits.oauthRecordBytesMax + 1)), /is too large/],
    [(path) => Deno.writeFile(path, Uint8Array.of(0xff)), /this release did not write/],
  ];
  for (const [spoil, message] of spoilers) {
    await withStore(async ({ store, keep }) => {
      const path = await keep();
      await spoil(path);
      const before = await Deno.readFile(path);
      const name = await store.nameOf(record);
      for (const work of [() => store.find(record.resource), () => store.read(name), () => keep()]) {
        const { code, failure } = await refusalOf(work());
        assert.equal(code, "mcp_credentials_unusable");
        assert.match(failure.message, message);
      }
      assert.deepEqual(await Deno.readFile(path), before);
      // One bad file does not stop the others.
      const other = {
        ...record,
        endpoints: ["https://other.example/mcp"],
        resource: "https://other.example/mcp",
      };
      await keep(other);
      assert.equal((await store.find(other.resource)).length, 1);
    });
  }
});

Deno.test("token store waits for who holds a login, and gives up after half a minute", async () => {
  await withStore(async ({ store, world, keep }) => {
    const path = await keep();
    using held = await Deno.open(path.replace(/\.json$/, ".lock"), { write: true });
    await held.lock(true);
    const late = refusalOf(keep({ ...record, generation: 2 }));
    while (world.sleepers === 0) await world.settle();
    for (let ms = 0; ms <= limits.oauthLockMs; ms += limits.oauthLockPollMs) {
      await world.advance(limits.oauthLockPollMs);
    }
    assert.match((await late).failure.message, /another process holds one of them/);
    const waiting = keep({ ...record, generation: 2 });
    while (world.sleepers === 0) await world.settle();
    await held.unlock();
    await world.advance(limits.oauthLockPollMs);
    await waiting;
    assert.equal((await store.read(await store.nameOf(record)))?.generation, 2);
  }, { isTimed: true });
});

Deno.test("token store forgets the logins of one server, and a login that two servers share only for the one", async () => {
  await withStore(async ({ store, keep }) => {
    const [one, two] = ["https://docs.example/mcp", "https://docs.example/two"];
    await keep({ ...record, endpoints: [one, two] });
    assert.equal(await forget(store, one), 1);
    assert.deepEqual(await store.find(one), []);
    assert.equal((await store.find(two)).length, 1);
    assert.equal(await forget(store, two), 1);
    assert.equal(await store.read(await store.nameOf(record)), undefined);
    assert.equal(await forget(store, two), 0);
  });
});
