/** What is told of servers beside their answers: notes in journals, the private log, and one word on each. */
import assert from "node:assert/strict";
import { startLoginServer } from "../support/login_server.ts";
import { startForbidden } from "../support/raw_server.ts";
import { SessionServer } from "../support/session_server.ts";
import {
  bad,
  bodiesOf,
  callOf,
  entriesOf,
  firstTurn,
  type Line,
  onMcpStage,
  planned,
  sessionIn,
  startWith,
  withOwner,
  writeMcpAgent,
} from "./mcp_stage.ts";
import { assertRefused, type Stage } from "./troupe.ts";

/** The notes of a server's connection of one type. */
async function notesOf(stage: Stage, server: string, session: string, type: string): Promise<Line[]> {
  return bodiesOf(await entriesOf(stage, `connection/${server}@${session}`), "note", type);
}

Deno.test("denials, failures and every decision about a URL are noted in the journal of the server's connection (DM-71)", async () => {
  const remote = new SessionServer();
  try {
    await onMcpStage(async (stage) => {
      await stage.write({
        "config/troupe/troupe.yaml": JSON.stringify({ network: { allow: [`127.0.0.1:${remote.port}`] } }),
      });
      const http = { transport: "streamable_http", approval_policy: "auto" };
      await writeMcpAgent(stage, {
        servers: {
          docs: planned(stage, { name: "docs" }),
          odd: bad(stage, ["exits-before-initialize"]),
          off: bad(stage, ["good"], { enabled: false }),
          remote: { ...http, url: `${remote.url}?key=hidden` },
          web: { ...http, url: "http://127.0.0.1:9/private/path" },
        },
        answers: [
          { calls: [callOf("remote__echo", { message: "one" }), callOf("remote__echo", { message: "two" })] },
          { text: "finished" },
        ],
      });
      const alone = sessionIn(await stage.run(...firstTurn));
      const [denied] = await notesOf(stage, "docs", alone, "mcp.server_denied");
      assert.deepEqual([denied?.["server"], denied?.["code"], denied?.["retryable"]], [
        "docs",
        "mcp_connect_denied",
        false,
      ]);
      assert.match(String(denied?.["message"]), /nobody is there to be asked/);
      assert.deepEqual(remote.heard, []);

      const ended = await stage.run(...firstTurn, "--answer", "allow");
      const session = sessionIn(ended);
      const codes = async (server: string, type: string) =>
        (await notesOf(stage, server, session, type)).map(({ code }) => code);
      assert.deepEqual(await codes("odd", "mcp.server_failed"), ["mcp_connect_failed"]);
      assert.deepEqual(await codes("web", "mcp.server_failed"), ["url_blocked"]);
      assert.deepEqual(await codes("off", "mcp.server_disabled"), ["mcp_disabled"]);
      for (const server of ["docs", "remote"]) {
        assert.deepEqual(await codes(server, "mcp.server_failed"), []);
        assert.deepEqual(await codes(server, "mcp.server_denied"), []);
      }

      // One decision for each request, counted: nothing of the URL but where it leads.
      const decided = await notesOf(stage, "remote", session, "mcp.url_decision");
      const counted = decided.reduce((sum, { count }) => sum + Number(count), 0);
      assert.equal(counted, remote.heard.length);
      assert.ok(decided.length < counted && counted >= 7, JSON.stringify(decided));
      for (const { count: _, ...decision } of decided) {
        assert.deepEqual(decision, {
          phase: "request",
          reason: "allowed",
          scheme: "http",
          host: "127.0.0.1",
          port: remote.port,
        });
      }
      assert.deepEqual(await notesOf(stage, "web", session, "mcp.url_decision"), [
        {
          phase: "request",
          reason: "private_address",
          kind: "loopback",
          scheme: "http",
          host: "127.0.0.1",
          port: 9,
          count: 1,
        },
      ]);
      const log = await stage.output("log", `connection/remote@${session}`);
      assert.match(log, /mcp\.url_decision +http:\/\/127\.0\.0\.1:\d+ allowed, request, \d+ times/);
      assert.doesNotMatch(await stage.output("log", `connection/web@${session}`), /decision.*private\/path/);
      assert.match(await stage.output("replay", session, "--strict"), /no divergence/);
    });
  } finally {
    await remote.close();
  }
});

Deno.test("last words of servers that end by themselves are told by mcp logs, and stand in a private log without secrets (DM-72)", async () => {
  await onMcpStage(async (stage) => {
    const env = { TOKEN: "Bearer ${E2E_TOKEN}" };
    const secret = `hunter2-${crypto.randomUUID()}`;
    const dying = { name: "dies", mutters: "TOKEN", ledger: stage.path("ledger"), diesInCalls: 1 };
    await stage.write({
      "config/troupe/troupe.yaml": 'policy: { effects: { "mcp.dies.*": idempotent } }\n',
    });
    await writeMcpAgent(stage, {
      servers: {
        dies: planned(stage, dying, { env }),
        tells: planned(stage, { name: "tells", tells: "TOKEN" }, { env }),
        quiet: planned(stage, { name: "quiet" }),
      },
      answers: [{ calls: [callOf("dies__search")] }, { text: "finished" }],
    });
    const running = await startWith(stage, { E2E_TOKEN: secret }, ...firstTurn, "--answer", "allow");
    const ended = await running.ended;
    assert.match(ended.out, /finished\nturn 1 completed/, `${ended.out}\n${ended.err}`);

    const logs = await stage.output("mcp", "logs", "dies", "--agent", "agent");
    assert.match(logs, / lost +mcp_connection_lost: .*its last words: .*cannot log in with/);
    assert.doesNotMatch(logs, new RegExp(secret));

    const path = stage.path("store.db.servers.log");
    assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
    const text = await Deno.readTextFile(path);
    assert.ok(!text.includes(secret) && !text.includes(btoa(`user:Bearer ${secret}`)), text);
    const lines = text.trimEnd().split("\n").map((line) => JSON.parse(line) as Line);
    const told = lines.map(({ connection, code }) => `${String(connection).replace(/@.*/, "")} ${code}`);
    // One that died in a call, the next start of it that was closed, and one that never shook hands; the quiet one not.
    assert.deepEqual(told.sort(), ["connection/dies 0", "connection/dies 7", "connection/tells 3"]);
    for (const { stderr } of lines) assert.match(String(stderr), /^sent .*\ncannot log in with ".*"\n$/);
  });
});

Deno.test("server is connected, pending, needs a login, failed or is disabled, and inspect says which (LC-23)", async () => {
  const remote = new SessionServer();
  remote.token = crypto.randomUUID();
  try {
    await onMcpStage(async (stage) => {
      await writeMcpAgent(stage, {
        servers: {
          docs: planned(stage, { name: "docs" }),
          locked: { transport: "streamable_http", url: remote.url },
          odd: bad(stage, ["exits-before-initialize"]),
          off: planned(stage, { name: "off" }, { enabled: false }),
        },
        answers: [{ text: "finished" }],
      });
      const states = async (): Promise<Line> => {
        const { mcpSessions } = JSON.parse(await stage.output("inspect", "last", "--json"));
        return Object.fromEntries(mcpSessions.map((one: Line) => [one["server"], one["state"]]));
      };
      const config = { network: { allow: [`127.0.0.1:${remote.port}`] } };
      await withOwner(stage, async ({ prompt }) => {
        assert.deepEqual(await states(), {
          docs: "pending",
          locked: "pending",
          odd: "pending",
          off: "disabled",
        });
        await prompt("hi");
        const now = { docs: "connected", locked: "needs_auth", odd: "failed", off: "disabled" };
        assert.deepEqual(await states(), now);
        const shown = await stage.output("inspect", "last");
        assert.match(shown, /connection\/locked@\S+ +needs_auth: mcp_\w+ +http:/);
        assert.match(shown, /connection\/docs@\S+ +connected +stdio +launch-1 +open +1 +- +docs +2025-11-25/);
      }, config);
      assert.deepEqual(await states(), {
        docs: "pending",
        locked: "needs_auth",
        odd: "failed",
        off: "disabled",
      });
    });
  } finally {
    await remote.close();
  }
});

Deno.test("one policy of the host judges servers by HTTP and whatever their logins name: what it does not list is reached by neither (DM-74)", async () => {
  const login = startLoginServer({});
  const forbidden = startForbidden();
  try {
    await onMcpStage(async (stage) => {
      const elsewhere = `http://127.0.0.1:${forbidden.port}`;
      const http = { transport: "streamable_http" };
      await writeMcpAgent(stage, {
        servers: {
          docs: { ...http, url: login.url },
          far: { ...http, url: `${elsewhere}/mcp` },
        },
        answers: [],
      });
      const allow = [login.url, login.issuer].map((url) => new URL(url).host);
      await stage.write({ "config/troupe/troupe.yaml": JSON.stringify({ network: { allow } }) });
      const place = ["--agent", "agent", "--workspace", "ws"];
      const check = await stage.run("mcp", "check", "far", ...place, "--answer", "allow");
      assertRefused(check, 1, "url_blocked", /network\.allow/);
      const auth = () => stage.run("mcp", "auth", "docs", "--agent", "agent");
      const refused = (ended: Awaited<ReturnType<typeof auth>>) => {
        assert.equal(ended.code, 1, ended.out);
        assert.match(ended.err, new RegExp(`127\\.0\\.0\\.1:${forbidden.port}.*network\\.allow`));
      };
      // Where the server says that it is described, and where the authorization server says that tokens are.
      login.faults.resourceMetadata = `${elsewhere}/.well-known/oauth-protected-resource`;
      refused(await auth());
      delete login.faults.resourceMetadata;
      login.faults.authorizationServers = [elsewhere];
      refused(await auth());
      delete login.faults.authorizationServers;
      assert.equal(forbidden.connections, 0);
      // The same with the rest of the policy: nothing else stands in the way.
      const listed = [...allow, `127.0.0.1:${forbidden.port}`];
      await stage.write({ "config/troupe/troupe.yaml": JSON.stringify({ network: { allow: listed } }) });
      login.faults.resourceMetadata = `${elsewhere}/.well-known/oauth-protected-resource`;
      const tried = await auth();
      assert.doesNotMatch(tried.err, /network\.allow/);
      assert.ok(forbidden.connections > 0);
    });
  } finally {
    await login.close();
    await forbidden.close();
  }
});
