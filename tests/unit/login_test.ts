/** A login from its beginning to the token on disk, with servers on loopback that keep the rules, and that do not. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { isOpenable } from "../../src/mcp/oauth/metadata.ts";
import { browse, type LoginFaults, startLoginServer } from "../support/login_server.ts";
import { type Logins, refusalOf, statusWith, withLogins } from "../support/logins.ts";
import { startForbidden } from "../support/raw_server.ts";

Deno.test("login finds its server, registers, proves its code by PKCE and keeps a token for this resource alone", async () => {
  await withLogins({}, async ({ login, begin, kept, dialed }) => {
    const pages: unknown[] = [];
    const record = await begin(undefined, { open: async (url) => pages.push(await browse(url)) });
    assert.equal(record.issuer, login.issuer);
    assert.equal(record.resource, login.url);
    assert.deepEqual(record.endpoints, [login.url]);
    assert.deepEqual(record.scopes, ["read"]);
    assert.equal(await statusWith(login.url, record.access_token), 200);
    const [asked] = login.authorized;
    assert.equal(asked?.get("code_challenge_method"), "S256");
    assert.equal(asked?.get("resource"), login.url);
    assert.equal(asked?.get("scope"), "read");
    assert.match(asked?.get("state") ?? "", /^[0-9a-f]{64}$/);
    assert.match(asked?.get("redirect_uri") ?? "", /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    assert.equal(login.asked[0]?.get("resource"), login.url);
    assert.deepEqual(login.registered[0]?.["redirect_uris"], [asked?.get("redirect_uri")]);
    const { token_endpoint_auth_method, application_type, grant_types } = login.registered[0] ?? {};
    assert.deepEqual({ token_endpoint_auth_method, application_type, grant_types }, {
      token_endpoint_auth_method: "none",
      application_type: "native",
      grant_types: ["authorization_code", "refresh_token"],
    });
    assert.match(JSON.stringify(pages), /"status":200.*You are logged in\. You may close this page\./);
    assert.ok(kept.includes(record.access_token) && kept.includes(record.refresh_token ?? ""));
    assert.ok(dialed.every(({ address }) => address === "127.0.0.1"));
  });
});

Deno.test("login looks for the server's metadata where the challenge says, then at its path, then at its root", async () => {
  const places: readonly LoginFaults[] = [
    {},
    { resourceMetadata: null },
    { resourceMetadata: null, metadataAt: "root" },
  ];
  for (const faults of places) {
    await withLogins(faults, async ({ begin, login }) => assert.equal((await begin()).issuer, login.issuer));
  }
});

Deno.test("login takes a server's word for itself and for what lies below it, and for nothing beside it", async () => {
  await withLogins({}, async ({ begin, login }) => {
    const { origin } = new URL(login.url);
    for (const resource of [origin, `${origin}/`, login.url, `${login.url}/`]) {
      login.faults.resource = resource;
      assert.equal((await begin()).resource, resource);
    }
    for (
      const resource of [`${login.url}-other`, `${login.url}/below`, `${origin}/mc`, "mcp", login.issuer]
    ) {
      login.faults.resource = resource;
      assert.match((await refusalOf(begin())).failure.message, /which it is not$/, resource);
    }
  });
});

/** A login that must end before a token was asked for. */
const refused: readonly (readonly [what: string, LoginFaults, RegExp])[] = [
  [
    "an issuer that is another",
    { issuer: "https://evil.example" },
    /says that it is https:\/\/evil\.example/,
  ],
  ["no word of PKCE", { pkce: null }, /does not protect codes with PKCE/],
  ["only plain PKCE", { pkce: ["plain"] }, /does not protect codes with PKCE/],
  [
    "metadata that lie elsewhere",
    { metadataRedirect: "http://127.0.0.1:9/x" },
    /redirects to another origin/,
  ],
  [
    "metadata of another server",
    { resource: "https://other.example/mcp" },
    /describes https:\/\/other\.example/,
  ],
  ["a page that is a script", { authorizationEndpoint: "javascript:alert(1)" }, /no plain https URL/],
  ["a page by plain http", { authorizationEndpoint: "http://login.example/" }, /no plain https URL/],
  ["no registration", { registration: "none" }, /name it in the manifest \(auth: client_id\)/],
  ["a refused registration", { registration: "refused" }, /refuses \(status 400\)/],
];

for (const [what, faults, message] of refused) {
  Deno.test(`login is refused for ${what}, before a code or token is asked for`, async () => {
    await withLogins(faults, async ({ begin, login, folder }) => {
      const { code, failure } = await refusalOf(begin());
      assert.equal(code, "mcp_auth_failed");
      assert.match(failure.message, message);
      assert.equal(failure.classification, "authorization");
      assert.equal(login.counts.authorizations + login.asked.length, 0);
      assert.deepEqual(await filesOf(folder), []);
    });
  });
}

// The answer of another authorization server must not pass for that of the one that was asked (B101, mix-up).
Deno.test("login refuses a code that another issuer sends, or none where the server says that it names itself (B101)", async () => {
  const cases: readonly (readonly [iss: (own: string) => string | null, faults: LoginFaults])[] = [
    [() => "https://evil.example", { supportsIss: true }],
    [() => "https://evil.example", {}],
    [() => null, { supportsIss: true }],
    // Compared as it is written (RFC 9207): one slash more is another issuer.
    [(own) => `${own}/`, { supportsIss: true }],
  ];
  for (const [iss, faults] of cases) {
    await withLogins(faults, async ({ begin, login, folder }) => {
      login.faults.iss = iss(login.issuer);
      const { failure } = await refusalOf(begin());
      assert.match(failure.message, /comes from another authorization server/);
      assert.equal(login.counts.codes, 0);
      assert.deepEqual(await filesOf(folder), []);
    });
  }
});

Deno.test("login at a server that greets anybody asks for what the server wants of its first real question", async () => {
  await withLogins({ greetsAnybody: true, challenged: "basic" }, async ({ begin, login }) => {
    assert.deepEqual((await begin()).scopes, ["basic"]);
    assert.equal(login.authorized[0]?.get("scope"), "basic");
  });
});

Deno.test("login of a server that moved to another authorization server begins anew there, and takes nothing along", async () => {
  const moved = startLoginServer();
  try {
    await withLogins({}, async ({ begin, login, credential, store }) => {
      const old = await begin();
      login.faults.authorizationServers = [moved.issuer];
      // What it gave out before it moved counts no more, however often it is renewed.
      login.faults.takesNone = true;
      const one = credential();
      await one.replace(old.access_token);
      const fresh = await one.token() ?? "";
      assert.equal((await refusalOf(one.replace(fresh))).code, "mcp_auth_required");
      const record = await begin();
      assert.deepEqual([record.issuer, moved.counts.registrations], [moved.issuer, 1]);
      const told = JSON.stringify([moved.registered, ...[...moved.asked, ...moved.authorized].map(String)]);
      for (const secret of [...login.given, fresh]) assert.ok(!told.includes(secret));
      assert.deepEqual((await store.find(login.url)).map(([, { issuer }]) => issuer), [moved.issuer]);
      assert.equal(await one.token(), record.access_token);
    });
  } finally {
    await moved.close();
  }
});

Deno.test("login reaches no private address that a challenge, metadata or a token endpoint names (B79)", async () => {
  const forbidden = startForbidden();
  try {
    const evil = `http://127.0.0.2:${forbidden.port}/x`;
    const cases: readonly LoginFaults[] = [
      { resourceMetadata: evil },
      { authorizationServers: [evil] },
      { tokenEndpoint: evil },
    ];
    for (const faults of cases) {
      await withLogins(faults, async ({ begin }) => {
        const { code, failure } = await refusalOf(begin());
        assert.equal(code, "mcp_auth_failed");
        assert.match(failure.message, /\(url_blocked\)$/);
      });
    }
    assert.equal(forbidden.connections, 0);
  } finally {
    await forbidden.close();
  }
});

Deno.test("login shows a person no page that a shell or a browser could take for something else (B78)", () => {
  const good = [
    "https://login.example/authorize?x=1",
    "http://localhost:1/a",
    "http://127.0.0.1/a",
    "http://[::1]/a",
  ];
  const bad = [
    ...[
      "javascript:alert(1)",
      "file:///etc/passwd",
      "https://a.example/ b",
      'https://a.example/"',
      "-https://a.example",
    ],
    ...[
      "https://a.example/$(id)",
      "https://a.example/`id`",
      "https://u:p@a.example/",
      "https://a.example/#x",
    ],
    ...["http://a.example/", "https://a.example/\n", "data:text/html,x", "", "https://a.example/\u202e"],
  ];
  for (const url of good) assert.ok(isOpenable(url), url);
  for (const url of bad) assert.ok(!isOpenable(url), url);
});

Deno.test("login tells a token endpoint that is down from one that says no, and takes nothing that is no bearer token", async () => {
  const cases: readonly (readonly [LoginFaults, string, RegExp])[] = [
    [{ token: "500" }, "mcp_auth_unavailable", /answers with status 500$/],
    [{ refusal: "invalid_client" }, "mcp_auth_failed", /refuses \(invalid_client\)$/],
    [{ token: "huge" }, "mcp_auth_failed", /\(response_too_large\)$/],
    [{ token: "mac" }, "mcp_auth_failed", /"token_type" is missing or is not what it must be$/],
    [{ token: "redirect" }, "mcp_auth_failed", /redirects what must not be redirected$/],
  ];
  for (const [faults, expected, message] of cases) {
    await withLogins(faults, async ({ begin, folder }) => {
      const { code, failure } = await refusalOf(begin());
      assert.equal(code, expected);
      assert.match(failure.message, message);
      assert.equal(failure.retryable, expected === "mcp_auth_unavailable");
      assert.deepEqual(await filesOf(folder), []);
    });
  }
});

Deno.test("login gives up a token endpoint that does not answer in time", async () => {
  await withLogins({ token: "slow" }, async ({ begin, login, world }) => {
    const coming = refusalOf(begin());
    await login.waiting;
    await world.advance(limits.oauthRequestMs);
    const { code, failure } = await coming;
    assert.equal(code, "mcp_auth_unavailable");
    assert.match(failure.message, /\(http_timed_out\)$/);
  });
});

/** The page to which a browser comes back, and what belongs to it. */
function backOf(url: string): URL {
  const asked = new URL(url).searchParams;
  const back = new URL(asked.get("redirect_uri") ?? "");
  back.searchParams.set("state", asked.get("state") ?? "");
  return back;
}

Deno.test("login takes one answer, with its own state, and nothing else that comes to its page", async () => {
  await withLogins({}, async ({ begin, login }) => {
    const statuses: number[] = [];
    let back = new URL("http://unset");
    const record = await begin(undefined, {
      open: async (url) => {
        back = backOf(url);
        const strange = [
          new URL("/favicon.ico", back),
          new URL(`/callback?code=stolen&state=${"0".repeat(64)}&iss=${login.issuer}`, back),
          new URL("/callback?code=stolen", back),
          new URL(`${back.href}&state=twice&code=stolen`),
        ];
        for (const one of strange) statuses.push((await browse(one.href)).status);
        const posted = await fetch(back, { method: "POST", body: "" });
        await posted.body?.cancel();
        statuses.push(posted.status, (await browse(url)).status);
        statuses.push((await browse(`${back.href}&code=late&iss=${login.issuer}`)).status);
      },
    });
    assert.deepEqual(statuses, [404, 404, 404, 404, 404, 200, 404]);
    assert.ok(record.access_token.startsWith("access-"));
    assert.equal(login.counts.codes, 1);
    // The page is gone with the login.
    await assert.rejects(fetch(back));
  });
});

Deno.test("login that a person declines, or leaves, ends with one line and keeps nothing", async () => {
  await withLogins({}, async ({ begin, folder, login }) => {
    const declined = refusalOf(begin(undefined, {
      open: async (url) => {
        const page = await browse(`${backOf(url).href}&error=access_denied&iss=${login.issuer}`);
        assert.equal(page.status, 400);
      },
    }));
    assert.equal((await declined).failure.message, "The login was not accepted: access_denied");
    assert.deepEqual(await filesOf(folder), []);
  });
});

Deno.test("login waits for the browser for five minutes, and no longer", async () => {
  await withLogins({}, async ({ begin, world }) => {
    const shown = Promise.withResolvers<void>();
    const coming = refusalOf(begin(undefined, { open: () => shown.resolve() }));
    await shown.promise;
    await world.advance(limits.oauthCallbackMs - 1);
    await world.advance(1);
    assert.match((await coming).failure.message, /nobody came back from the browser within 5 minutes$/);
  });
});

Deno.test("login as a client that is known sends its secret to the issuer of the manifest, and to no other", async () => {
  await withLogins({}, async ({ begin, login, variables }) => {
    const auth = {
      type: "oauth",
      client_id: "known:client",
      client_secret: "${DOCS_SECRET}",
      issuer: login.issuer,
    };
    assert.equal((await refusalOf(begin(auth))).code, "mcp_variable_missing");
    variables.set("DOCS_SECRET", "s3cret/with%odd");
    const record = await begin(auth);
    assert.equal(login.counts.registrations, 0);
    assert.equal(record.client.id, "known:client");
    assert.equal(login.proofs.at(-1), `Basic ${btoa("known%3Aclient:s3cret%2Fwith%25odd")}`);
    assert.ok(!JSON.stringify(record).includes("s3cret"));
    const other = { ...auth, issuer: "https://login.example" };
    const { failure } = await refusalOf(begin(other));
    assert.match(failure.message, /says that https:\/\/login\.example issues tokens/);
    assert.equal(login.proofs.length, 1);
  });
});

Deno.test("login names the document of a client where the server reads such, and registers where it does not", async () => {
  const id = "https://troupe.example/client.json";
  for (const hasDocuments of [true, false]) {
    await withLogins({ hasDocuments }, async ({ begin, login }) => {
      const { client } = await begin({ type: "oauth", client_id: id });
      assert.equal(client.id, hasDocuments ? id : "client-1");
      assert.equal(login.authorized[0]?.get("client_id"), client.id);
    });
  }
});

Deno.test("login of a client that is its own user needs no browser, and proves itself by a secret or a signed statement", async () => {
  await withLogins({ methods: ["client_secret_post", "private_key_jwt"] }, async (logins) => {
    const { begin, login, variables } = logins;
    const auth = { type: "oauth", client_id: "robot", issuer: login.issuer, grant: "client_credentials" };
    variables.set("SECRET", "robot-secret-1").set("KEY", await privateKey());
    const open = () => assert.fail("a browser was asked for");
    const record = await begin({ ...auth, client_secret: "${SECRET}" }, { open });
    assert.equal(await statusWith(login.url, record.access_token), 200);
    assert.equal(login.asked[0]?.get("client_secret"), "robot-secret-1");
    await begin({ ...auth, private_key: "${KEY}" }, { open });
    const [head = "", body = ""] = (login.asked[1]?.get("client_assertion") ?? "").split(".");
    assert.equal(decoded(head)["alg"], "ES256");
    const { iss, sub, aud } = decoded(body);
    assert.deepEqual([iss, sub, aud], ["robot", "robot", login.issuer]);
    variables.set("KEY", "-----BEGIN PRIVATE KEY-----\nnot-a-key\n-----END PRIVATE KEY-----");
    const { failure } = await refusalOf(begin({ ...auth, private_key: "${KEY}" }, { open }));
    assert.match(failure.message, /is none in PEM/);
    assert.ok(!failure.message.includes("not-a-key"));
  });
});

function decoded(part: string): { readonly [claim: string]: unknown } {
  return JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(part, { alphabet: "base64url" })));
}

async function privateKey(): Promise<string> {
  const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
    "sign",
    "verify",
  ]);
  const bytes = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
  return `-----BEGIN PRIVATE KEY-----\n${bytes.toBase64()}\n-----END PRIVATE KEY-----\n`;
}

Deno.test("login made anew takes the place of the old one", async () => {
  await withLogins({}, async ({ begin, store, folder, login }) => {
    const first = await begin();
    const second = await begin();
    assert.notEqual(first.access_token, second.access_token);
    const found = await store.find(login.url);
    assert.deepEqual(found.map(([, { client }]) => client.id), ["client-2"]);
    assert.equal((await filesOf(folder)).length, 1);
  });
});

async function filesOf(folder: Logins["folder"]): Promise<readonly string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).filter((name) =>
      !name.endsWith(".lock")
    );
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
