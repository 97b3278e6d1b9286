/** `troupe mcp import`: what other hosts' files become, and what of them never reaches a manifest. */
import assert from "node:assert/strict";
import { type Line, onMcpStage, writeMcpAgent } from "./mcp_stage.ts";
import { assertRefused, linesOf, type Stage } from "./troupe.ts";

const secret = "ghp_4711abcdEFGH0815ijklMNOP";

async function importFile(stage: Stage, file: unknown, ...more: readonly string[]) {
  await writeMcpAgent(stage, { servers: {}, answers: [] });
  await stage.write({ "their.json": JSON.stringify(file) });
  return await stage.run("mcp", "import", "their.json", "--agent", "agent", ...more);
}

/** All that was written, as one text. */
async function written(stage: Stage): Promise<string> {
  const texts: string[] = [];
  for await (const { name } of Deno.readDir(stage.path("agent/mcp"))) {
    texts.push(await Deno.readTextFile(stage.path(`agent/mcp/${name}`)));
  }
  return texts.join("\n");
}

async function manifest(stage: Stage, server: string): Promise<string> {
  return await Deno.readTextFile(stage.path(`agent/mcp/${server}.yaml`));
}

Deno.test("import takes servers of mcpServers over: names become ids, secrets become variables that are never written", async () => {
  await onMcpStage(async (stage) => {
    const { code, out, err } = await importFile(stage, {
      mcpServers: {
        "GitHub Tools": {
          command: "npx",
          args: ["-y", "@modelcontextprotocol/server-github"],
          env: { GITHUB_TOKEN: secret, LOG_LEVEL: "debug", SETTING: secret, DATA: "/var/lib/data-2026-08" },
          alwaysAllow: ["search"],
        },
        github_tools: { command: "node", args: ["server.js"], disabled: true, cwd: "/home/ada" },
        wiki: {
          type: "http",
          url: "https://wiki.example/mcp",
          headers: { Authorization: `Bearer ${secret}`, "X-Team": "docs" },
        },
        refs: { command: "x", env: { A: "${env:HOST_A}", B: "${HOST_B:-fallback}" } },
      },
    });
    assert.equal(code, 0, out + err);
    assert.doesNotMatch(out + err + await written(stage), new RegExp(secret));
    assert.equal(
      await manifest(stage, "github-tools"),
      "command: npx\nargs:\n" + '  - "-y"\n  - "@modelcontextprotocol/server-github"\n' +
        'env:\n  GITHUB_TOKEN: "${GITHUB_TOKEN}"\n  LOG_LEVEL: debug\n  SETTING: "${SETTING}"\n' +
        '  DATA: "/var/lib/data-2026-08"\n',
    );
    assert.match(
      out,
      /^Wrote mcp\/github-tools\.yaml\n {2}it is called github-tools here\n {2}its "alwaysAllow" is not/m,
    );
    assert.match(out, /^ {2}GITHUB_TOKEN may be a secret: set GITHUB_TOKEN in your environment/m);
    assert.match(await manifest(stage, "github-tools-2"), /^enabled: false$/m);
    assert.match(out, /its cwd is not taken over/);
    assert.match(
      await manifest(stage, "wiki"),
      /Authorization: "Bearer \$\{WIKI_AUTHORIZATION\}"\n {2}X-Team: docs/,
    );
    assert.match(await manifest(stage, "refs"), /A: "\$\{HOST_A\}"\n {2}B: "\$\{HOST_B\}"/);
    assert.match(out, /B: HOST_B has no default here/);
    // What was written is what troupe reads.
    const listed = linesOf(
      await stage.output("mcp", "list", "--agent", "agent", "--workspace", "ws", "--json"),
    );
    assert.deepEqual(listed.map(({ server }) => server), ["github-tools-2", "github-tools", "refs", "wiki"]);
  });
});

Deno.test("import reads the servers of VS Code, and says line by line what it leaves out (LC-24)", async () => {
  await onMcpStage(async (stage) => {
    const servers: { readonly [name: string]: Line } = {
      fine: { type: "stdio", command: "uvx", args: ["server"], env: { API_KEY: "${input:api-key}" } },
      old: { type: "sse", url: "https://a.example/sse" },
      socket: { type: "ws", url: "wss://a.example/mcp" },
      login: { url: "https://ada:pw@a.example/mcp" },
      query: { url: "https://a.example/mcp?token=abc" },
      argument: { command: "x", args: [`--api-key=${secret}`] },
      naked: { command: "x", args: [secret] },
      folder: { command: "x", args: ["${workspaceFolder}/server.js"] },
      odd: { command: 7 },
    };
    const { code, out, err } = await importFile(stage, { inputs: [{ id: "api-key" }], servers }, "--json");
    assert.equal(code, 1);
    assert.match(err, /7 of 9 servers could not be taken over.*\[import_incomplete\]/);
    const rows = linesOf(out);
    assert.deepEqual(rows.filter(({ file }) => file !== null).map(({ file }) => file), [
      "mcp/fine.yaml",
      "mcp/old.yaml",
    ]);
    assert.match(await written(stage), /API_KEY: "\$\{API_KEY\}"/);
    const why = Object.fromEntries(rows.map(({ name, told }) => [name, String((told as string[]).at(-1))]));
    assert.match(why["old"] ?? "", /written as streamable_http, which finds servers of sse too/);
    assert.match(why["socket"] ?? "", /ws, which troupe does not speak \(mcp_transport_unsupported\)/);
    assert.match(why["login"] ?? "", /holds a login/);
    assert.match(why["query"] ?? "", /may hold a secret \(token\)/);
    assert.match(why["argument"] ?? "", /"--api-key" may hold a secret/);
    assert.match(why["naked"] ?? "", /of 28 characters may hold a secret/);
    assert.match(why["folder"] ?? "", /names a variable/);
    assert.match(why["odd"] ?? "", /neither a command nor a URL/);
    assert.doesNotMatch(out + err + await written(stage), new RegExp(secret));
  });
});

Deno.test("import overwrites nothing unasked, and refuses what is no such file", async () => {
  await onMcpStage(async (stage) => {
    const file = { mcpServers: { docs: { command: "new" } } };
    await writeMcpAgent(stage, { servers: { docs: { command: "old" } }, answers: [] });
    const before = await importFile(stage, file);
    assertRefused(before, 1, "import_incomplete");
    assert.match(before.out, /^Left out docs\n {2}mcp\/docs\.yaml is there already: --force replaces it$/m);
    assert.match(await manifest(stage, "docs"), /old/);
    assert.equal((await importFile(stage, file, "--force")).code, 0);
    assert.match(await manifest(stage, "docs"), /new/);
    for (const wrong of [{}, { mcpServers: {} }, [], { mcpServers: [] }]) {
      assertRefused(await importFile(stage, wrong), 2, "import_invalid", /no servers/);
    }
    await stage.write({ "their.json": "{ // comment\n}" });
    const refused = await stage.run("mcp", "import", "their.json", "--agent", "agent");
    assertRefused(refused, 2, "import_invalid", "take comments");
    assertRefused(
      await stage.run("mcp", "import", "none.json", "--agent", "agent"),
      2,
      "import_invalid",
      "no such file",
    );
  });
});
