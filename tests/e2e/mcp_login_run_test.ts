/** A run over a login by the browser, in real processes: refused, logged in, served, renewed once, widened, forgotten. */
import assert from "node:assert/strict";
import { browse, type LoginServer, startLoginServer } from "../support/login_server.ts";
import { SessionServer } from "../support/session_server.ts";
import { callOf, firstTurn, onMcpStage, trustAgent, writeMcpAgent } from "./mcp_stage.ts";
import { type Ended, filesWith, linesOf, type Stage } from "./troupe.ts";

/** An agent that calls `echo` of a server behind a login once. */
async function onLoginStage(
  play: (stage: Stage, login: LoginServer, server: SessionServer) => Promise<void>,
): Promise<void> {
  const server = new SessionServer();
  const login = startLoginServer({ behind: server.url });
  try {
    await onMcpStage(async (stage) => {
      await stage.write({ "config/troupe/troupe.yaml": "network: { allow: [127.0.0.1] }\n" });
      await writeMcpAgent(stage, {
        servers: { docs: { transport: "streamable_http", url: login.url, approval_policy: "auto" } },
        answers: [{ calls: [callOf("docs__echo", { message: "hello" })] }, { text: "finished" }],
      });
      await stage.output(...trustAgent);
      await play(stage, login, server);
    });
  } finally {
    await login.close();
    await server.close();
  }
}

/** Types what a refusal says, and goes through the browser. */
async function logIn(stage: Stage, { out }: Ended): Promise<void> {
  const [, command = ""] = /run troupe (mcp auth docs)/.exec(out) ?? [];
  assert.equal(command, "mcp auth docs", out);
  const running = stage.start(...command.split(" "), "--agent", "agent", "--json");
  const [, url = ""] = /"open":"([^"]+)"/.exec(await running.until("code_challenge_method")) ?? [];
  assert.equal((await browse(url)).status, 200);
  const { code, err } = await running.ended;
  assert.equal(code, 0, err);
}

async function run(stage: Stage, ...more: readonly string[]): Promise<Ended> {
  const ended = await stage.run(...firstTurn, ...more);
  assert.equal(ended.code, 0, ended.err);
  return ended;
}

Deno.test("run over a login by the browser is refused, then served; its token is renewed once for two runs at once, and stands in one file", async () => {
  await onLoginStage(async (stage, login, server) => {
    stage.debug();
    const said: Ended[] = [];
    const refused = await run(stage);
    assert.match(refused.out, /docs {2}mcp_auth_required: .*needs a login: run troupe mcp auth docs/);
    await logIn(stage, refused);
    said.push(refused, await run(stage));
    assert.equal(server.echoed.length, 1);
    login.faults.refusesTogether = 2;
    login.expireAll();
    said.push(...await Promise.all(["one.db", "other.db"].map((store) => run(stage, "--store", store))));
    assert.deepEqual([server.echoed.length, login.counts.refreshes], [3, 1]);
    await stage.output("export", "last", "-o", stage.path("run.jsonl"));
    const shown = said.map(({ out, err }) => out + err).join() + await stage.output("log", "last", "--json");
    assert.equal(login.given.length, 4);
    for (const token of login.given) assert.ok(!shown.includes(token));
    const files = await filesWith(stage.folder, login.given);
    assert.equal(files.length, 1);
    assert.match(files[0] ?? "", /\/data\/troupe\/credentials\/[0-9a-f]{32}\.json$/);
    await stage.output("mcp", "auth", "docs", "--agent", "agent", "--logout");
    assert.match((await run(stage)).out, /mcp_auth_required/);
    assert.deepEqual(await filesWith(stage.folder, login.given), []);
  });
});

Deno.test("call that needs more rights says by which command, is asked for with those that are there, and is then made", async () => {
  await onLoginStage(async (stage, login, server) => {
    await logIn(stage, await run(stage));
    login.faults.needs = ["write"];
    login.faults.needsFor = "tools/call";
    const narrow = await run(stage);
    assert.match(
      narrow.out,
      /mcp\.docs\.echo .*more rights than its login has \(write\): run troupe mcp auth docs/,
    );
    const [failed] = linesOf(await stage.output("invocations", "last", "--json"));
    assert.equal(failed?.["outcome"], "failed");
    assert.deepEqual(server.echoed, []);
    await logIn(stage, narrow);
    assert.equal(login.authorized.at(-1)?.get("scope"), "read write");
    await run(stage);
    assert.deepEqual(server.echoed, [{ message: "hello" }]);
  });
});
