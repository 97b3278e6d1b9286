/** The login of one server: renewed once for everybody, never lost half-way, and never in a loop. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import type { TokenRecord } from "../../src/mcp/oauth/token_record.ts";
import { type Logins, refusalOf, statusWith, withLogins } from "../support/logins.ts";

/** The path of the one login that is kept. */
async function pathOf({ store, folder, login }: Logins): Promise<string> {
  const [found] = await store.find(login.url);
  assert.ok(found);
  return `${folder}/${found[0]}.json`;
}

async function readRecord(path: string): Promise<TokenRecord> {
  return JSON.parse(await Deno.readTextFile(path));
}

Deno.test("credential of twenty callers whose token was refused is renewed once, and all get the same new one", async () => {
  await withLogins({}, async ({ begin, credential, login }) => {
    const old = (await begin()).access_token;
    login.expireAll();
    const one = credential();
    const tokens = await Promise.all(Array.from({ length: 20 }, async () => {
      await one.replace(old);
      return await one.token();
    }));
    // Who comes late with the old token finds the new one.
    await one.replace(old);
    assert.equal(login.counts.refreshes, 1);
    assert.equal(new Set(tokens).size, 1);
    assert.notEqual(tokens[0], old);
    assert.equal(await statusWith(login.url, tokens[0]), 200);
  });
});

Deno.test("credential that two processes renew at once is renewed once", async () => {
  await withLogins({}, async ({ begin, login, folder }) => {
    const old = (await begin()).access_token;
    login.expireAll();
    const script = new URL("../support/token_renewer.ts", import.meta.url).pathname;
    const started = [1, 2].map(() =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--quiet", script, folder, login.url, old],
        stdin: "piped",
        stdout: "piped",
        stderr: "inherit",
      }).spawn()
    );
    const outputs = await Promise.all(started.map(async (child) => {
      const lines = child.stdout.pipeThrough(new TextDecoderStream() as never) as ReadableStream<string>;
      const reader = lines.getReader();
      const ready = await reader.read();
      return { child, reader, ready };
    }));
    const tokens = await Promise.all(outputs.map(async ({ child, reader }) => {
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode("go\n"));
      await writer.close();
      let text = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
      await child.status;
      return text.trim();
    }));
    assert.equal(login.counts.refreshes, 1);
    assert.equal(tokens[0], tokens[1]);
    assert.equal(await statusWith(login.url, tokens[0]), 200);
  });
});

Deno.test("credential renews its token in its last minute, and goes on with it while nobody gives another", async () => {
  await withLogins({ lifeSeconds: 600 }, async ({ begin, credential, login, world }) => {
    const old = (await begin()).access_token;
    const one = credential();
    await world.advance(600_000 - limits.oauthRefreshAheadMs - 1);
    assert.equal(await one.token(), old);
    await world.advance(1);
    login.faults.token = "500";
    assert.equal(await one.token(), old);
    assert.equal(await one.token(), old);
    // An authorization server that is down is left alone for a while.
    assert.equal(login.asked.length, 2);
    await world.advance(limits.oauthRefreshAheadMs);
    const { code, failure } = await refusalOf(one.token());
    assert.equal(code, "mcp_auth_unavailable");
    assert.ok(failure.retryable);
    delete login.faults.token;
    await world.advance(limits.oauthFailureHoldMs);
    const fresh = await one.token();
    assert.notEqual(fresh, old);
    assert.equal(one.state, "ready");
  });
});

Deno.test("credential whose renewal is refused needs a person, asks nobody again, and comes back with a new login", async () => {
  await withLogins({}, async ({ begin, credential, login }) => {
    const old = (await begin()).access_token;
    login.expireAll();
    login.faults.refusal = "invalid_grant";
    const one = credential();
    for (let times = 0; times < 3; times++) {
      const { code, failure } = await refusalOf(one.replace(old));
      assert.equal(code, "mcp_auth_required");
      const words = 'The server "docs" needs a login again (invalid_grant): run troupe mcp auth docs';
      assert.deepEqual([failure.message, failure.retryable], [words, false]);
      assert.equal((await refusalOf(one.token())).code, "mcp_auth_required");
    }
    assert.equal(login.counts.refreshes, 1);
    assert.equal(one.state, "auth_required");
    delete login.faults.refusal;
    const { access_token } = await begin();
    assert.equal(await one.token(), access_token);
    assert.equal(one.state, "ready");
    await one.replace(access_token);
    assert.equal(await statusWith(login.url, await one.token()), 200);
  });
});

Deno.test("credential of a server that refuses even fresh tokens stops after one renewal", async () => {
  await withLogins({}, async ({ begin, credential, login }) => {
    const old = (await begin()).access_token;
    const one = credential();
    await one.replace(old);
    const fresh = await one.token() ?? "";
    assert.match((await refusalOf(one.replace(fresh))).failure.message, /refuses even a fresh token/);
    assert.equal((await refusalOf(one.token())).code, "mcp_auth_required");
    assert.equal(login.counts.refreshes, 1);
  });
});

Deno.test("credential with nothing that renews it says so when its token has ended", async () => {
  await withLogins(
    { withoutRefresh: true, lifeSeconds: 100 },
    async ({ begin, credential, login, world }) => {
      await begin();
      const one = credential();
      await world.advance(100_000);
      assert.match(
        (await refusalOf(one.token())).failure.message,
        /nothing renews it: run troupe mcp auth docs$/,
      );
      assert.equal(login.asked.length, 1);
    },
  );
});

Deno.test("credential uses a new token only once it is on disk, and asks for no other when it could not be written", async () => {
  await withLogins({}, async (logins) => {
    const { begin, credential, login } = logins;
    const old = (await begin()).access_token;
    login.expireAll();
    const path = await pathOf(logins);
    const one = credential();
    await one.token();
    // Nothing can be moved onto a folder that is not empty, and no draft can be written where one is.
    await Deno.mkdir(`${path}.part/full`, { recursive: true });
    assert.equal((await refusalOf(one.replace(old))).code, "mcp_credentials_unusable");
    assert.equal((await refusalOf(one.token())).code, "mcp_credentials_unusable");
    assert.equal((await readRecord(path)).access_token, old);
    await Deno.remove(`${path}.part`, { recursive: true });
    const fresh = await one.token();
    assert.equal(await statusWith(login.url, fresh), 200);
    assert.equal((await readRecord(path)).access_token, fresh);
    assert.equal(login.counts.refreshes, 1);
  });
});

Deno.test("credential finds tokens that a process wrote and did not live to put in their place; half of them are none", async () => {
  await withLogins({}, async (logins) => {
    const { begin, credential, login } = logins;
    const first = await begin();
    const path = await pathOf(logins);
    login.expireAll();
    // What another process would have got, whole but not moved.
    const other = credential();
    await other.replace(first.access_token);
    const renewed = await Deno.readTextFile(path);
    await Deno.writeTextFile(`${path}.part`, renewed, { mode: 0o600 });
    await Deno.writeTextFile(path, JSON.stringify(first), { mode: 0o600 });
    const one = credential();
    await one.replace(first.access_token);
    assert.equal(await one.token(), JSON.parse(renewed).access_token);
    one.accepted(JSON.parse(renewed).access_token);
    assert.equal(login.counts.refreshes, 1);
    await Deno.writeTextFile(`${path}.part`, renewed.slice(0, 200), { mode: 0o600 });
    await one.replace(JSON.parse(renewed).access_token);
    assert.equal(login.counts.refreshes, 2);
    assert.equal(await statusWith(login.url, await one.token()), 200);
  });
});

Deno.test("credential is read anew for every call, and no token is kept between them (GA-40)", async () => {
  await withLogins({}, async (logins) => {
    const { begin, credential } = logins;
    const first = await begin();
    const path = await pathOf(logins);
    const one = credential();
    assert.equal(await one.token(), first.access_token);
    const other = { ...first, access_token: "access-of-another-process", generation: 2 };
    await Deno.writeTextFile(path, JSON.stringify(other));
    assert.equal(await one.token(), "access-of-another-process");
    await Deno.remove(path);
    assert.equal(await one.token(), undefined);
  });
});

Deno.test("credential of a client that is its own user asks for more rights once, and keeps what it has when refused", async () => {
  await withLogins({}, async ({ begin, authorization, login, variables }) => {
    variables.set("SECRET", "robot-secret-1");
    const auth = {
      ...{ type: "oauth", client_id: "robot", client_secret: "${SECRET}", issuer: login.issuer },
      ...{ grant: "client_credentials", scopes: ["read"] },
    };
    await begin(auth);
    const one = authorization(auth);
    const sent = await one.header();
    await Promise.all(Array.from({ length: 20 }, () => one.on403({ scopes: ["write"] }, sent)));
    assert.equal(login.counts.credentials, 2);
    assert.equal(login.asked.at(-1)?.get("scope"), "read write");
    const wide = await one.header();
    login.faults.refusal = "invalid_scope";
    for (let times = 0; times < 3; times++) {
      const { code, failure } = await refusalOf(one.on403({ scopes: ["admin"] }, wide));
      assert.equal(code, "mcp_scope_insufficient");
      assert.match(
        failure.message,
        /asks for more rights than its login has \(admin\): run troupe mcp auth docs$/,
      );
    }
    assert.equal(login.counts.credentials, 3);
    assert.equal(await one.header(), wide);
  });
});
