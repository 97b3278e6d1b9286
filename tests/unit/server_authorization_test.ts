/** How a transport proves who we are: over a plain fetch, so that any transport can do the same. */
import assert from "node:assert/strict";
import type { GuardedFetch } from "../../src/mcp/oauth/json_answer.ts";
import { authorizedFetch } from "../../src/mcp/oauth/server_authorization.ts";
import { challengeOf, type Logins, refusalOf, withLogins } from "../support/logins.ts";

function plainFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  return fetch(url, init);
}

function authorized({ authorization, login }: Logins, auth?: unknown): GuardedFetch {
  return authorizedFetch(plainFetch, authorization(auth), login.url);
}

async function post(fetch: GuardedFetch, url: string): Promise<string> {
  const response = await fetch(url, { method: "POST", body: "the body" });
  return `${response.status} ${await response.text()}`;
}

Deno.test("challenge of a server is read wherever it stands, and nothing else is taken for one", () => {
  const cases: readonly (readonly [string, unknown])[] = [
    ["Bearer", {}],
    ['Bearer realm="x"', {}],
    ['bearer scope="a b  a", error=invalid_token', { scopes: ["a", "b"], error: "invalid_token" }],
    ['Bearer resource_metadata="https://a.example/x,y"', { resourceMetadata: "https://a.example/x,y" }],
    ['Basic realm="Bearer scope=\\"no\\"", Bearer scope="yes"', { scopes: ["yes"] }],
    ["Negotiate abc==, Bearer scope=yes", undefined],
    ['Bearer scope="one", Bearer scope="two"', { scopes: ["one"] }],
    ['Bearer scope = "a\\b \u0001 ok"', { scopes: ["ab", "ok"] }],
    ["DPoP algs=ES256", undefined],
    ["", undefined],
    [`Bearer scope="${"x ".repeat(9_000)}"`, {}],
  ];
  for (const [header, expected] of cases) {
    let challenge: unknown;
    try {
      challenge = challengeOf(header);
    } catch {
      continue; // No header can hold it.
    }
    assert.deepEqual(challenge, expected, header);
  }
});

Deno.test("server that wants a login says by which command, and gets no token that nobody made for it", async () => {
  await withLogins({}, async (logins) => {
    const { login, begin } = logins;
    const fetch = authorized(logins);
    const { code, failure } = await refusalOf(post(fetch, login.url));
    assert.equal(code, "mcp_auth_required");
    assert.equal(failure.message, 'The server "docs" needs a login: run troupe mcp auth docs');
    assert.deepEqual([failure.retryable, failure.classification], [false, "authorization"]);
    assert.equal(login.counts.authorizations, 0);
    await begin();
    assert.equal(await post(fetch, login.url), '200 {"body":"the body"}');
  });
});

Deno.test("request that a server refuses with 401 is sent once more with a new token, and no third time", async () => {
  await withLogins({}, async (logins) => {
    const { login, begin } = logins;
    await begin();
    const fetch = authorized(logins);
    login.expireAll();
    assert.deepEqual(
      await Promise.all(Array.from({ length: 20 }, () => post(fetch, login.url))),
      Array.from({ length: 20 }, () => '200 {"body":"the body"}'),
    );
    assert.equal(login.counts.refreshes, 1);
    login.faults.takesNone = true;
    const before = login.seen.length;
    for (let times = 0; times < 3; times++) {
      assert.equal((await refusalOf(post(fetch, login.url))).code, "mcp_auth_required");
    }
    assert.equal(login.seen.length - before, 2);
    assert.equal(login.counts.refreshes, 2);
  });
});

Deno.test("request is sent twice at most, whatever those who prove who we are say of it", async () => {
  await withLogins({}, async ({ login }) => {
    const asked: string[] = [];
    const yes = {
      header: () => Promise.resolve("Bearer nonsense"),
      on401: () => Promise.resolve(void asked.push("401")),
      on403: () => Promise.resolve(void asked.push("403")),
      accepted: () => asked.push("accepted"),
    };
    const { code } = await refusalOf(post(authorizedFetch(plainFetch, yes, login.url), login.url));
    assert.equal(code, "mcp_auth_unavailable");
    assert.deepEqual([login.seen.length, asked], [2, ["401", "401"]]);
  });
});

Deno.test("request that cannot be sent twice is not, and the next one has the new token", async () => {
  await withLogins({}, async (logins) => {
    const { login, begin } = logins;
    await begin();
    const fetch = authorized(logins);
    login.expireAll();
    const stream = new Response("once").body ?? assert.fail();
    const { code, failure } = await refusalOf(fetch(login.url, { method: "POST", body: stream }));
    assert.deepEqual([code, failure.retryable], ["mcp_auth_unavailable", true]);
    assert.equal(await post(fetch, login.url), '200 {"body":"the body"}');
  });
});

Deno.test("rights that are missing are asked for by the next login, together with those that are there", async () => {
  await withLogins({ needs: ["write"] }, async (logins) => {
    const { login, begin } = logins;
    await begin();
    const fetch = authorized(logins);
    for (let times = 0; times < 2; times++) {
      const { code, failure } = await refusalOf(post(fetch, login.url));
      assert.equal(code, "mcp_scope_insufficient");
      assert.match(failure.message, /more rights than its login has \(write\): run troupe mcp auth docs$/);
    }
    assert.equal(login.seen.length, 3);
    await begin();
    assert.equal(login.authorized.at(-1)?.get("scope"), "read write");
    assert.equal(await post(fetch, login.url), '200 {"body":"the body"}');
    // A server that asks for what it gave is not asked again and again.
    login.faults.gives = ["read"];
    await begin();
    assert.equal((await refusalOf(post(fetch, login.url))).code, "mcp_scope_insufficient");
  });
});

Deno.test("token is sent to the server's own origin, and to no other (B101)", async () => {
  await withLogins({}, async (logins) => {
    await logins.begin();
    const seen: (string | null)[] = [];
    const other = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
      seen.push(request.headers.get("authorization"));
      return new Response(null, { status: 401 });
    });
    const response = await authorized(logins)(`http://127.0.0.1:${other.addr.port}/mcp`);
    await response.body?.cancel();
    assert.equal(response.status, 401);
    assert.deepEqual(seen, [null]);
    await other.shutdown();
  });
});

Deno.test("token of a variable is looked up for each request, and a missing one leaves the server out (DM-67)", async () => {
  await withLogins({}, async (logins) => {
    const { login, variables, begin } = logins;
    const auth = { type: "bearer", token: "${DOCS_TOKEN}" };
    const fetch = authorized(logins, auth);
    const missing = await refusalOf(post(fetch, login.url));
    assert.equal(missing.code, "mcp_variable_missing");
    assert.match(
      missing.failure.message,
      /"docs" is left out: its manifest names DOCS_TOKEN, which is not set/,
    );
    assert.equal(login.seen.length, 0);
    const { access_token } = await begin();
    variables.set("DOCS_TOKEN", access_token);
    assert.equal(await post(fetch, login.url), '200 {"body":"the body"}');
    variables.set("DOCS_TOKEN", "another-token");
    const { code, failure } = await refusalOf(post(fetch, login.url));
    assert.equal(code, "mcp_auth_failed");
    assert.equal(failure.message, 'The server "docs" refuses the token in DOCS_TOKEN: put another one there');
    variables.set("DOCS_TOKEN", "two\r\nlines");
    assert.match((await refusalOf(post(fetch, login.url))).failure.message, /holds what no header can carry/);
  });
});

Deno.test("login of another client or of another issuer than the manifest names is not used", async () => {
  await withLogins({}, async (logins) => {
    const { login, begin, authorization } = logins;
    await begin();
    const header = (auth: unknown) => authorization(auth).header();
    assert.match(await header({ type: "oauth", issuer: login.issuer }) ?? "", /^Bearer access-/);
    assert.equal(await header({ type: "oauth", issuer: "https://login.example" }), undefined);
    assert.equal(await header({ type: "oauth", client_id: "another" }), undefined);
  });
});
