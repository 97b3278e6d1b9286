/** `troupe mcp auth` in a process of its own: a login by the browser, where its token is and where it is not, and its end. */
import assert from "node:assert/strict";
import { browse, type LoginFaults, type LoginServer, startLoginServer } from "../support/login_server.ts";
import { assertRefused, filesWith, linesOf, onStage, readScript, type Stage, writeAgent } from "./troupe.ts";

/** A stage with an agent whose server `docs` wants a login. */
async function onLoginStage(
  play: (stage: Stage, login: LoginServer) => Promise<void>,
  { faults = {}, auth = "" }: { readonly faults?: LoginFaults; readonly auth?: string } = {},
): Promise<void> {
  const login = startLoginServer(faults);
  try {
    await onStage(async (stage) => {
      await writeAgent(stage, readScript);
      await stage.write({
        "agent/mcp/docs.yaml": `transport: streamable_http\nurl: ${login.url}\n${auth}`,
        "agent/mcp/local.yaml": "command: local-server\n",
        "config/troupe/troupe.yaml": "network: { allow: [127.0.0.1] }\n",
      });
      await play(stage, login);
    });
  } finally {
    await login.close();
  }
}

/** Logs in by a browser that goes where it is sent, and gives what the command said. */
async function logIn(stage: Stage, ...more: readonly string[]) {
  const running = stage.start("mcp", "auth", "docs", "--agent", "agent", ...more);
  const text = await running.until("code_challenge_method");
  const [url = ""] = /http:\/\/127\.0\.0\.1:\d+\/authorize[^\s"]*/.exec(text) ?? [];
  const page = await browse(url);
  return { page, ended: await running.ended };
}

Deno.test("mcp auth logs in by the browser, and its tokens are in one file of the owner's and nowhere else", async () => {
  await onLoginStage(async (stage, login) => {
    const { page, ended } = await logIn(stage, "--json");
    assert.equal(page.status, 200);
    assert.equal(ended.code, 0, ended.err);
    const [opened, told] = linesOf(ended.out);
    assert.equal(opened?.["issuer"], login.issuer);
    const { server, issuer, resource, scopes, renews } = told ?? {};
    assert.deepEqual({ server, issuer, resource, scopes, renews }, {
      server: "docs",
      issuer: login.issuer,
      resource: login.url,
      scopes: ["read"],
      renews: true,
    });
    stage.debug();
    await stage.output("trust", "agent", "--yes");
    const run = await stage.run("run", "agent", "hello", "--workspace", "ws");
    const shown = [ended, run].map(({ out, err }) => out + err).join();
    assert.equal(login.given.length, 2);
    for (const token of login.given) assert.ok(!shown.includes(token));
    const files = await filesWith(stage.folder, login.given);
    assert.equal(files.length, 1);
    assert.match(files[0] ?? "", /\/data\/troupe\/credentials\/[0-9a-f]{32}\.json$/);
    assert.equal(((await Deno.stat(files[0] ?? "")).mode ?? 0) & 0o777, 0o600);
    const logout = await stage.output("mcp", "auth", "docs", "--agent", "agent", "--logout");
    assert.equal(logout, "Forgot the login for docs\n");
    assert.deepEqual(await filesWith(stage.folder, login.given), []);
    assert.equal(
      await stage.output("mcp", "auth", "docs", "--agent", "agent", "--logout"),
      "There was no login for docs\n",
    );
  });
});

Deno.test("mcp auth tells a person the page, the rights and the end, and is left by Ctrl-C", async () => {
  await onLoginStage(async (stage, login) => {
    const { ended } = await logIn(stage);
    assert.equal(ended.code, 0, ended.err);
    assert.match(
      ended.err,
      /^Open this page in a browser to log in to docs at http:\/\/127\.0\.0\.1:\d+:\n {2}http/,
    );
    assert.equal(
      ended.out,
      `Logged in to docs at ${login.issuer}\n  rights   read\n  ends     renewed by itself\n`,
    );
    const left = stage.start("mcp", "auth", "docs", "--agent", "agent");
    await left.until("code_challenge_method");
    left.signal("SIGINT");
    assertRefused(await left.ended, 130, "interrupted");
  });
});

Deno.test("mcp auth refuses what it cannot do, each with one line and a code", async () => {
  await onLoginStage(async (stage, login) => {
    const auth = (...args: readonly string[]) => stage.run("mcp", "auth", ...args, "--agent", "agent");
    assertRefused(await auth("wiki"), 2, "server_unknown", "there are: docs, local");
    assertRefused(await auth("local"), 2, "server_not_http");
    login.faults.pkce = null;
    assertRefused(await auth("docs"), 1, "mcp_auth_failed", "PKCE");
    login.faults.token = "500";
    delete login.faults.pkce;
    const { ended } = await logIn(stage);
    assertRefused(ended, 1, "mcp_auth_unavailable", "status 500");
    // Without the operator's word no loopback address is reached.
    await stage.write({ "config/troupe/troupe.yaml": "{}\n" });
    assertRefused(await auth("docs"), 1, "mcp_auth_failed", "url_");
  });
});

Deno.test("mcp auth reads a secret that a manifest names only once the server is trusted (DM-67)", async () => {
  const auth =
    "auth:\n  type: oauth\n  client_id: robot\n  client_secret: ${HOME}\n  grant: client_credentials\n";
  await onLoginStage(async (stage, login) => {
    const manifest = `transport: streamable_http\nurl: ${login.url}\n${auth}  issuer: ${login.issuer}\n`;
    await stage.write({
      "agent/mcp/docs.yaml": manifest,
      "agent/agent.yaml": "name: tester\nmodel: scripted/script.yaml\ncapabilities: [mcp.connect:docs]\n",
    });
    const ask = () => stage.run("mcp", "auth", "docs", "--agent", "agent", "--workspace", "ws", "--json");
    assertRefused(
      await ask(),
      1,
      "mcp_connect_denied",
      "look at it with troupe trust AGENT",
    );
    assert.equal(login.asked.length, 0);
    const shown = await stage.output("trust", "agent", "--workspace", "ws", "--yes");
    assert.match(shown, /auth +oauth, client_credentials, client robot, secret HOME, at http/);
    const { code, out, err } = await ask();
    assert.equal(code, 0, err);
    assert.equal(linesOf(out)[0]?.["client_id"], "robot");
    assert.equal(login.counts.credentials, 1);
    await stage.write({
      "config/troupe/troupe.yaml": "{ network: { allow: [127.0.0.1] }, policy: { connect: deny } }\n",
    });
    assertRefused(await ask(), 1, "mcp_connect_denied", "the policy of this host forbids");
  });
});
