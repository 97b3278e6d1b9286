/** The address of a remote store: every refusal has its code and says what to do; the token stands nowhere. */
import assert from "node:assert/strict";
import { openKvStore } from "../../src/journal/kv_store.ts";
import { checkedAddress } from "../../src/journal/remote_address.ts";
import { StoreError } from "../../src/journal/store.ts";
import { type KvConnectOptions, startKvConnect } from "../support/kv_connect/server.ts";

const variable = "DENO_KV_ACCESS_TOKEN";

async function refusal(open: () => Promise<unknown>): Promise<StoreError> {
  try {
    await open();
  } catch (error) {
    assert.ok(error instanceof StoreError, String(error));
    return error;
  }
  throw new Error("Nothing was refused");
}

async function withToken<T>(token: string | undefined, work: () => Promise<T>): Promise<T> {
  const before = Deno.env.get(variable);
  if (token === undefined) Deno.env.delete(variable);
  else Deno.env.set(variable, token);
  try {
    return await work();
  } finally {
    if (before === undefined) Deno.env.delete(variable);
    else Deno.env.set(variable, before);
  }
}

async function refusedBy(options: KvConnectOptions, token?: string): Promise<StoreError> {
  await using server = startKvConnect(options);
  return await withToken(token ?? server.token, () => refusal(() => openKvStore(server.url)));
}

Deno.test("remote store without a token is refused before anything is asked", async () => {
  await using server = startKvConnect();
  const error = await withToken(undefined, () => refusal(() => openKvStore(server.url)));
  assert.equal(error.code, "store_unauthorized");
  assert.match(error.message, /DENO_KV_ACCESS_TOKEN is not set/);
  assert.deepEqual(server.seen, []);
});

Deno.test("remote store that does not know the token is refused, and the token is not told", async () => {
  const error = await refusedBy({}, "a-token-that-nobody-knows");
  assert.equal(error.code, "store_unauthorized");
  assert.doesNotMatch(JSON.stringify([error.message, error.stack, String(error.cause)]), /nobody-knows/);
});

Deno.test("remote store of another version of the protocol is refused", async () => {
  assert.equal((await refusedBy({ version: 9 })).code, "store_protocol_unsupported");
});

Deno.test("remote store that is not there, or cannot serve, is refused as unreachable", async () => {
  const closed = startKvConnect();
  await closed[Symbol.asyncDispose]();
  const nobody = await withToken(closed.token, () => refusal(() => openKvStore(closed.url)));
  assert.equal(nobody.code, "store_unreachable");
  assert.equal((await refusedBy({ faults: () => "unavailable" })).code, "store_unreachable");
});

Deno.test("what is no KV Connect server is refused as that", async () => {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response("hello"),
  );
  const error = await withToken(
    "any",
    () => refusal(() => openKvStore(`http://127.0.0.1:${server.addr.port}`)),
  );
  await server.shutdown();
  assert.equal(error.code, "store_unusable");
  assert.match(error.message, /no KV Connect server/);
});

Deno.test("remote store over plain http is refused outside loopback, and one whose address holds secrets", async () => {
  for (const address of ["http://kv.example.com", "http://127.0.0.1.example.com/", "HTTP://10.0.0.1:4512"]) {
    assert.equal((await refusal(() => openKvStore(address))).code, "store_insecure");
  }
  const error = await refusal(() => openKvStore("https://me:hunter2@kv.example.com/?token=hunter3"));
  assert.equal(error.code, "store_unusable");
  assert.doesNotMatch(error.message, /hunter/);
  assert.equal(checkedAddress("https://KV.example.com"), "https://kv.example.com/");
  assert.equal(checkedAddress("http://[::1]:4512/db"), "http://[::1]:4512/db");
});

Deno.test("remote store stands a server that is busy, breaks off, or loses its answer", async () => {
  await using server = startKvConnect();
  await withToken(server.token, async () => {
    const store = await openKvStore(server.url);
    try {
      for (const kind of ["read", "write"] as const) {
        for (const fault of ["unavailable", "cut", "lost"] as const) {
          let met = 0;
          server.setFaults((request) => request.kind === kind && met++ === 0 ? fault : undefined);
          const commits = server.commits;
          const key = ["k", kind, fault];
          const sets = [{ key, value: 1 }];
          const written = await store.commit({ checks: [{ key, versionstamp: null }], sets, deletes: [] });
          assert.equal((await store.get(key))?.value, 1);
          assert.equal(server.commits, commits + 1, "written once");
          // The client asks again by itself: after a lost answer its own write refuses it (K16 reads back).
          assert.equal(written.ok, kind === "read" || fault !== "lost");
          assert.ok(met >= 2);
        }
      }
      server.setFaults(() => "refused");
      await assert.rejects(store.get(["k"]), (error) => error instanceof StoreError);
    } finally {
      store.close();
    }
  });
  assert.ok(server.seen.length > 0);
  assert.ok(!server.seen.some((text) => text.includes(server.token)), "the token stands in its header only");
});
