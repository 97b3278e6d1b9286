/** Where a guarded request goes: names, addresses, TLS and redirects, with counting servers where it must not go. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { UrlDecision } from "../../schemas/url_decision.ts";
import { GuardedClient } from "../../src/net/guarded_client.ts";
import { UrlPolicy } from "../../src/net/url_policy.ts";
import { createAuthority } from "../support/certificates.ts";
import { failureOf, now, withGuarded } from "../support/guarded.ts";
import {
  answerOf,
  type RawServer,
  type Respond,
  say,
  startForbidden,
  startRawServer,
} from "../support/raw_server.ts";
import { createWorld } from "../support/world.ts";

const publicAddress = "93.184.216.34";
const otherAddress = "93.184.216.35";
const authority = await createAuthority();
const certificate = await authority.sign(["docs.example", "other.example", "127.0.0.1"]);
const caCerts = [authority.cert];

/** A server of TLS, for names that the test says are public. */
function startSecure(respond: Respond): RawServer {
  return startRawServer(respond, certificate);
}

/** Answers each path with a redirect, or else with the text `here`. */
function redirecting(to: { readonly [path: string]: string }, status = 302): Respond {
  return ({ head }, connection) => {
    const location = to[head.split(" ")[1] ?? ""];
    if (location === undefined) return say(connection, answerOf("here"));
    return say(connection, answerOf("", `location: ${location}\r\n`, `${status} Found`));
  };
}

Deno.test("guarded client connects to the checked address, with the name for TLS and Host (DM-76)", async () => {
  const server = startSecure((_, connection) => say(connection, answerOf("hello")));
  const setup = {
    names: { "docs.example": [[publicAddress]] },
    routes: { [publicAddress]: server.port },
    caCerts,
  };
  await withGuarded(setup, async ({ client, dialed, asked }) => {
    assert.equal(await (await client.fetch("https://docs.example/a")).text(), "hello");
    assert.deepEqual(dialed, [{ address: publicAddress, port: 443 }]);
    assert.deepEqual(
      asked,
      ["docs.example"],
      "the name is resolved once: nobody can answer differently later",
    );
    assert.match(server.requests[0]?.head ?? "", /^host: docs\.example$/m);
  });
  await server.close();
});

Deno.test("guarded client accepts only certificates for the name, from an authority that it knows (DM-76)", async () => {
  const server = startSecure((_, connection) => say(connection, answerOf("hello")));
  const names = { "docs.example": [[publicAddress]], "wrong.example": [[publicAddress]] };
  const routes = { [publicAddress]: server.port };
  await withGuarded({ names, routes, caCerts }, async ({ client }) => {
    const error = await failureOf(client.fetch("https://wrong.example/"));
    assert.deepEqual([error.code, error.wasSent], ["http_tls_failed", false]);
    assert.match(
      error.message,
      /^Cannot secure the connection to https:\/\/wrong\.example: its certificate is for another name$/,
    );
  });
  await withGuarded({ names, routes }, async ({ client }) => {
    assert.match(
      (await failureOf(client.fetch("https://docs.example/"))).message,
      /an authority that is not known$/,
    );
  });
  const plain = startRawServer((_, connection) => say(connection, answerOf("no TLS")));
  await withGuarded({ names, routes: { [publicAddress]: plain.port }, caCerts }, async ({ client }) => {
    const closing = client.fetch("https://docs.example/", {}, { connectMs: 1_000 });
    const failed = failureOf(closing);
    await plain.close();
    assert.match((await failed).code, /^http_(?:tls|connect)_failed$/);
  });
  assert.equal(server.requests.length, 0);
  await server.close();
});

Deno.test("guarded client refuses a name that resolves to a forbidden address, alone or among others (DM-75, B73)", async () => {
  const forbidden = startForbidden();
  const names = {
    "one.example": [["127.0.0.1"]],
    "two.example": [[publicAddress, "127.0.0.1"]],
    "six.example": [["::1"]],
    "mapped.example": [["::ffff:127.0.0.1"]],
    "metadata.example": [["169.254.169.254"]],
    "none.example": [[]],
    "odd.example": [["not an address"]],
    "many.example": [Array.from({ length: 2_000 }, (_, at) => `93.184.${at >> 8}.${at & 255}`)],
  };
  const routes = { "127.0.0.1": forbidden.port, [publicAddress]: forbidden.port, "::1": forbidden.port };
  const reasons: { readonly [name: string]: string } = {
    "one.example": "url_blocked:private_address",
    "two.example": "url_blocked:private_address",
    "six.example": "url_blocked:private_address",
    "mapped.example": "url_blocked:private_address",
    "metadata.example": "url_blocked:metadata_address",
    "none.example": "url_unresolved:dns_no_addresses",
    "odd.example": "url_unresolved:dns_invalid_address",
    "many.example": "url_unresolved:dns_invalid_address",
    "unknown.example": "url_unresolved:dns_failure",
  };
  await withGuarded({ names, routes }, async ({ client, dialed }) => {
    for (const [name, expected] of Object.entries(reasons)) {
      const error = await failureOf(client.fetch(`https://${name}/`));
      assert.deepEqual([`${error.code}:${error.hops[0]?.reason}`, error.wasSent], [expected, false], name);
    }
    assert.deepEqual(dialed, []);
  });
  assert.equal(forbidden.connections, 0);
  await forbidden.close();
});

Deno.test("guarded client is not rebound: each request is checked anew, and goes where the check said (DM-75, B73)", async () => {
  const server = startSecure((_, connection) => say(connection, answerOf("public")));
  const forbidden = startForbidden();
  const names = { "docs.example": [[publicAddress], ["127.0.0.1"]] };
  const routes = { [publicAddress]: server.port, "127.0.0.1": forbidden.port };
  await withGuarded({ names, routes, caCerts }, async ({ client, asked }) => {
    assert.equal(await (await client.fetch("https://docs.example/")).text(), "public");
    assert.equal(client.idleConnections, 1);
    const error = await failureOf(client.fetch("https://docs.example/"));
    assert.deepEqual([error.code, error.hops[0]?.reason], ["url_blocked", "private_address"]);
    assert.equal(asked.length, 2);
  });
  assert.equal(forbidden.connections, 0);
  await Promise.all([server.close(), forbidden.close()]);
});

Deno.test("guarded client uses a kept connection only if its address was checked for this request (DM-76, DM-81)", async () => {
  const first = startSecure((_, connection) => say(connection, answerOf("first")));
  const second = startSecure((_, connection) => say(connection, answerOf("second")));
  const names = { "docs.example": [[publicAddress], [publicAddress], [otherAddress]] };
  const routes = { [publicAddress]: first.port, [otherAddress]: second.port };
  await withGuarded({ names, routes, caCerts }, async ({ client, dialed }) => {
    const get = async () => (await client.fetch("https://docs.example/")).text();
    assert.deepEqual([await get(), await get(), await get()], ["first", "first", "second"]);
    assert.deepEqual(dialed.map(({ address }) => address), [publicAddress, otherAddress]);
  });
  await Promise.all([first.close(), second.close()]);
});

Deno.test("guarded client does not wait for a resolver longer than its time (DM-75, B73)", async () => {
  const world = createWorld();
  const client = new GuardedClient({
    policy: new UrlPolicy({ allow: [] }),
    clock: world.seams.clock,
    resolve: () => new Promise(() => {}),
    dial: () => assert.fail("nothing is dialed"),
  });
  const failed = failureOf(client.fetch("https://docs.example/"));
  await world.advance(limits.dnsMs);
  const error = await now(world, failed);
  assert.deepEqual([error.code, error.hops[0]?.reason, error.retryable], [
    "url_unresolved",
    "dns_failure",
    true,
  ]);
  client.close();
});

Deno.test("guarded client tries the next address beside one that does not answer, and closes what comes too late", async () => {
  const server = startSecure((_, connection) => say(connection, answerOf("alive")));
  const world = createWorld();
  const late = Promise.withResolvers<Deno.TcpConn>();
  const stopped: string[] = [];
  const client = new GuardedClient({
    policy: new UrlPolicy({ allow: [] }),
    clock: world.seams.clock,
    caCerts,
    resolve: () => Promise.resolve([publicAddress, otherAddress]),
    dial: ({ address }, signal) => {
      signal.addEventListener("abort", () => void stopped.push(address));
      if (address === publicAddress) return late.promise;
      return Deno.connect({ hostname: "127.0.0.1", port: server.port });
    },
  });
  const asked = client.fetch("https://docs.example/");
  await world.advance(limits.httpNextAddressMs);
  assert.equal(await (await asked).text(), "alive");
  assert.deepEqual(stopped, [publicAddress]);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connection = await Deno.connect({
    hostname: "127.0.0.1",
    port: (listener.addr as Deno.NetAddr).port,
  });
  const other = await listener.accept();
  late.resolve(connection);
  assert.equal(await other.read(new Uint8Array(1)), null, "it is closed");
  other.close();
  listener.close();
  client.close();
  await server.close();
});

Deno.test("guarded client gives up a connection that never comes about", async () => {
  const world = createWorld();
  const client = new GuardedClient({
    policy: new UrlPolicy({ allow: [] }),
    clock: world.seams.clock,
    resolve: () => Promise.resolve([publicAddress]),
    dial: () => new Promise(() => {}),
  });
  const failed = failureOf(client.fetch("https://docs.example/"));
  await world.advance(limits.httpConnectMs);
  const error = await now(world, failed);
  assert.deepEqual([error.code, error.retryable, error.wasSent], ["http_timed_out", true, false]);
  client.close();
});

Deno.test("guarded client reaches no private place by any way: old spellings without a question, one answer of many, a redirect (DM-139)", async () => {
  const forbidden = startForbidden();
  const server = startSecure(redirecting({ "/in": "https://inside.example/", "/lit": "https://0x7f.1/" }));
  const names = {
    "docs.example": [[publicAddress]],
    "inside.example": [["10.0.0.7"]],
    "mixed.example": [[publicAddress, otherAddress, "192.168.0.1"]],
  };
  const routes = { [publicAddress]: server.port, "10.0.0.7": forbidden.port, "127.0.0.1": forbidden.port };
  await withGuarded({ names, routes, caCerts }, async ({ client, asked, dialed }) => {
    const codeOf = async (url: string) => (await failureOf(client.fetch(url))).code;
    const spellings = [
      "127.1",
      "127.0.1",
      "2130706433",
      "0x7f000001",
      "0x7f.1",
      "0177.0.0.1",
      "017700000001",
    ];
    for (const spelling of spellings) {
      assert.equal(await codeOf(`https://${spelling}/`), "url_blocked", spelling);
    }
    assert.deepEqual([asked, dialed], [[], []]);
    assert.equal(await codeOf("https://mixed.example/"), "url_blocked");
    assert.deepEqual(dialed, []);
    assert.equal(await codeOf("https://docs.example/in"), "url_blocked");
    assert.equal(await codeOf("https://docs.example/lit"), "url_blocked");
    assert.ok(dialed.every(({ address }) => address === publicAddress));
  });
  assert.equal(forbidden.connections, 0);
  await server.close();
  await forbidden.close();
});

Deno.test("guarded client follows redirects by hand, from the first step on for each (DM-75, DM-81, B72)", async () => {
  const forbidden = startForbidden();
  const bad = {
    "/loopback": [`http://127.0.0.1:${forbidden.port}/`, "url_blocked"],
    "/loopback-tls": [`https://127.0.0.1:${forbidden.port}/`, "url_blocked"],
    "/name": ["https://inside.example/", "url_blocked"],
    "/metadata": ["http://169.254.169.254/latest/", "url_blocked"],
    "/decimal": ["https://2130706433/", "url_blocked"],
    "/local": ["https://localhost/", "url_blocked"],
    "/plain": ["http://other.example/", "url_scheme"],
    "/file": ["file:///etc/passwd", "url_scheme"],
    "/script": ["javascript:alert(1)", "url_scheme"],
    "/user": ["https://user:word@other.example/", "url_credentials"],
    "/port": ["https://other.example:22/", "url_blocked"],
    "/relative-host": ["//localhost/", "url_blocked"],
    "/backslash": ["https:\\\\other.example/", "http_redirect_refused"],
    "/space": ["https://other.example/ /x", "http_redirect_refused"],
    "/nothing": ["https://", "http_redirect_refused"],
  } as const;
  const locations = Object.fromEntries(Object.entries(bad).map(([path, [location]]) => [path, location]));
  const good = {
    "/1": "/2",
    "/2": "https://other.example/3?x=1#y",
    "/3?x=1": "4",
    "/4": "https://docs.example/end",
  };
  const server = startSecure(redirecting({ ...locations, ...good }));
  const names = {
    "docs.example": [[publicAddress]],
    "other.example": [[otherAddress]],
    "inside.example": [["127.0.0.1"]],
  };
  const routes = { [publicAddress]: server.port, [otherAddress]: server.port, "127.0.0.1": forbidden.port };
  await withGuarded({ names, routes, caCerts }, async ({ client }) => {
    const response = await client.fetch("https://docs.example/1");
    assert.deepEqual([await response.text(), response.url, response.redirected], [
      "here",
      "https://docs.example/end",
      true,
    ]);
    for (const [path, [, code]] of Object.entries(bad)) {
      const error = await failureOf(client.fetch(`https://docs.example${path}`));
      assert.equal(error.code, code, path);
      assert.equal(error.hops[0]?.reason, "allowed");
      if (code !== "http_redirect_refused") {
        assert.equal(error.hops[1]?.phase, "redirect");
        assert.notEqual(error.hops[1]?.reason, "allowed");
        assert.match(error.message, /\(https:\/\/docs\.example:443 -> /, "hops are listed");
      }
    }
  });
  // Not even what the operator listed is reached by a public server's word.
  const allow = ["127.0.0.1", "inside.example"];
  await withGuarded({ names, routes, caCerts, allow }, async ({ client }) => {
    for (const path of ["/loopback-tls", "/name"]) {
      const error = await failureOf(client.fetch(`https://docs.example${path}`));
      assert.deepEqual([error.code, error.hops[1]?.reason], ["url_blocked", "private_address"], path);
    }
  });
  // Listed for plain http as well, and nevertheless nobody leads us there from https.
  const listed = ["other.example"];
  await withGuarded({ names, routes, caCerts, allow: listed }, async ({ client }) => {
    const error = await failureOf(client.fetch("https://docs.example/plain"));
    assert.deepEqual([error.code, error.hops[1]?.reason], ["url_scheme", "unsupported_scheme"]);
  });
  assert.equal(forbidden.connections, 0);
  await Promise.all([server.close(), forbidden.close()]);
});

Deno.test("guarded client follows five redirects, and not a sixth (B72)", async () => {
  const steps = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`/${at}`, `/${at + 1}`]));
  const server = startRawServer(redirecting({ ...steps, "/round": "/round" }));
  await withGuarded({ allow: ["127.0.0.1"] }, async ({ client }) => {
    assert.equal(await (await client.fetch(`${server.origin}/4`)).text(), "here");
    const error = await failureOf(client.fetch(`${server.origin}/3`));
    assert.deepEqual([error.code, error.hops.length], ["http_redirect_refused", limits.httpRedirectsMax + 1]);
    assert.equal((await failureOf(client.fetch(`${server.origin}/round`))).code, "http_redirect_refused");
    assert.equal(
      (await client.fetch(`${server.origin}/0`, { redirect: "manual" })).headers.get("location"),
      "/1",
    );
    assert.equal(
      (await failureOf(client.fetch(`${server.origin}/0`, { redirect: "error" }))).code,
      "http_redirect_refused",
    );
    assert.equal(await (await client.fetch(`${server.origin}/8`, {}, { redirectsMax: 1 })).text(), "here");
    assert.equal(
      (await failureOf(client.fetch(`${server.origin}/7`, {}, { redirectsMax: 1 }))).code,
      "http_redirect_refused",
    );
  });
  await server.close();
});

Deno.test("guarded client gives no credential and no body to another origin, and counts what it keeps back (B80)", async () => {
  const target = startRawServer((_, connection) => say(connection, answerOf("there")));
  const to = (status: number) =>
    startRawServer(redirecting({ "/": `${target.origin}/`, "/same": "/end" }, status));
  const servers = { found: to(302), other: to(303), temporary: to(307), permanent: to(308) };
  const headers = {
    authorization: "Bearer secret",
    cookie: "a=b",
    "x-api-key": "secret",
    "mcp-session-id": "secret",
    accept: "text/plain",
  };
  await withGuarded({ allow: ["127.0.0.1"] }, async ({ client, decisions }) => {
    for (const { origin } of [servers.found, servers.temporary]) {
      assert.equal(await (await client.fetch(`${origin}/`, { headers })).text(), "there");
      const head = target.requests.at(-1)?.head ?? "";
      assert.doesNotMatch(head, /secret|cookie|a=b/i);
      assert.match(head, /^accept: text\/plain$/m);
      assert.deepEqual(decisions.at(-1)?.headersStripped, 4);
    }
    for (const { origin } of [servers.found, servers.other]) {
      await (await client.fetch(`${origin}/`, { method: "POST", body: "BODY", headers })).text();
      const { head = "", body } = target.requests.at(-1) ?? {};
      assert.match(head, /^GET /);
      assert.deepEqual([body, /content-/i.test(head)], ["", false]);
    }
    const before = target.requests.length;
    for (const { origin } of [servers.temporary, servers.permanent]) {
      for (const init of [{ method: "POST", body: "BODY" }, { method: "DELETE" }]) {
        const error = await failureOf(client.fetch(`${origin}/`, { ...init, headers }));
        assert.deepEqual([error.code, error.wasSent], ["http_redirect_refused", true]);
      }
    }
    assert.equal(target.requests.length, before);
    const { origin, requests } = servers.temporary;
    await (await client.fetch(`${origin}/same`, { method: "POST", body: "BODY", headers })).text();
    const last = requests.at(-1);
    assert.deepEqual(
      [/^POST \/end /.test(last?.head ?? ""), last?.body],
      [true, "BODY"],
      "the same origin gets it all",
    );
    assert.match(last?.head ?? "", /^authorization: Bearer secret$/m);
    const stream = { method: "POST", body: ReadableStream.from([Uint8Array.of(1)]) };
    assert.equal((await failureOf(client.fetch(`${origin}/same`, stream))).code, "http_redirect_refused");
  });
  await Promise.all([target, ...Object.values(servers)].map((server) => server.close()));
});

Deno.test("guarded client tells the audit one decision a hop, without user, path, query or fragment (DM-77, DM-78)", async () => {
  const server = startSecure(
    redirecting({ "/PATH?QUERY=1": "https://inside.example/PATH2?QUERY=2#FRAGMENT" }),
  );
  const names = { "docs.example": [[publicAddress]], "inside.example": [["10.0.0.1"]] };
  await withGuarded(
    { names, routes: { [publicAddress]: server.port }, caCerts },
    async ({ client, decisions }) => {
      const error = await failureOf(client.fetch("https://docs.example/PATH?QUERY=1#FRAGMENT"));
      await failureOf(client.fetch("https://USER:WORD@docs.example/"));
      await failureOf(client.fetch("nonsense PATH"));
      assert.deepEqual(decisions.map((decision) => UrlDecision.parse(decision)), [
        {
          phase: "request",
          reason: "allowed",
          scheme: "https",
          host: "docs.example",
          port: 443,
          headersStripped: 0,
        },
        {
          phase: "redirect",
          reason: "private_address",
          kind: "private",
          scheme: "https",
          host: "inside.example",
          port: 443,
          headersStripped: 0,
        },
        { phase: "request", reason: "invalid_url", headersStripped: 0 },
        { phase: "request", reason: "invalid_url", headersStripped: 0 },
      ]);
      assert.deepEqual(error.hops, decisions.slice(0, 2));
      assert.doesNotMatch(JSON.stringify([decisions, error.message]), /PATH|QUERY|FRAGMENT|USER|WORD/);
    },
  );
  await server.close();
});

Deno.test("guarded client goes by no proxy of the environment (B77, DM-81)", async () => {
  const proxy = startForbidden();
  const server = startRawServer((_, connection) => say(connection, answerOf("direct")));
  const url = `http://127.0.0.1:${proxy.port}`;
  const script = `
    import { GuardedClient } from "${new URL("../../src/net/guarded_client.ts", import.meta.url)}";
    import { UrlPolicy } from "${new URL("../../src/net/url_policy.ts", import.meta.url)}";
    import { createSystemSeams } from "${new URL("../../src/system_seams.ts", import.meta.url)}";
    const { clock } = createSystemSeams({ log() {} });
    const client = new GuardedClient({ policy: new UrlPolicy({ allow: ["127.0.0.1", "localhost"] }), clock });
    for (const host of ["127.0.0.1", "localhost"]) {
      console.log(await (await client.fetch("http://" + host + ":${server.port}/")).text());
    }
    client.close();
  `;
  const proxies = Object.fromEntries(
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"].map((
      name,
    ) => [name, url]),
  );
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--cached-only", "--config", config, "--ext=ts", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    env: { ...proxies, NO_PROXY: "", no_proxy: "" },
  }).spawn();
  await new Blob([script]).stream().pipeTo(child.stdin);
  const { stdout, stderr } = await child.output();
  assert.equal(new TextDecoder().decode(stdout), "direct\ndirect\n", new TextDecoder().decode(stderr));
  assert.deepEqual([proxy.connections, server.connections], [0, 2]);
  await Promise.all([proxy.close(), server.close()]);
});
