/** Real servers from npm under Deno's permissions: what they may do, what they may not, and what stops them before. */
import assert from "node:assert/strict";
import {
  callOf,
  firstTurn,
  type Line,
  onMcpStage,
  sessionIn,
  startWith,
  trustAgent,
  writeMcpAgent,
} from "./mcp_stage.ts";
import { assertRefused, type Stage } from "./troupe.ts";

/** The release that these tests know. */
function official(name: string): string {
  return `@modelcontextprotocol/server-${name}@2026.8.31`;
}

function npm(name: string, more: Line = {}, manifest: Line = {}): Line {
  return { run: { npm: official(name), ...more }, approval_policy: "auto", ...manifest };
}

/** One check of a server, which fetches what it needs from npm. */
async function check(stage: Stage, server: string): Promise<Line> {
  const args = [
    "mcp",
    "check",
    server,
    "--agent",
    "agent",
    "--workspace",
    "ws",
    "--answer",
    "allow",
    "--json",
  ];
  const { code, out, err } = await stage.run(...args);
  assert.equal(code, 0, `${server} needs npm: ${out}\n${err}`);
  return JSON.parse(out);
}

Deno.test("servers from npm list and serve their tools in a jail: a write outside is refused, and no secret of the host is seen (DM-66)", async () => {
  await onMcpStage(async (stage) => {
    const call = (tool: string, given: Line) => ({ calls: [callOf(tool, given)] });
    const write = (path: string) => call("files__write_file", { path: stage.path(path), content: "x" });
    const thought = { thought: "so", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 };
    await writeMcpAgent(stage, {
      servers: {
        memory: npm("memory", { permissions: { read: ["data"], write: ["data"] } }, {
          env: { MEMORY_FILE_PATH: stage.path("ws/data/memory.jsonl") },
        }),
        files: npm("filesystem", { args: ["."], permissions: { read: ["."], write: ["data"] } }),
        thinking: npm("sequential-thinking"),
        everything: npm("everything", { args: ["stdio"] }),
      },
      answers: [
        call("memory__create_entities", {
          entities: [{ name: "Ada", entityType: "person", observations: [] }],
        }),
        { expect: "Ada", ...write("ws/data/in.txt") },
        { expect: "wrote", ...write("ws/out.txt") },
        { expect: "write access", ...call("thinking__sequentialthinking", thought) },
        { expect: "thoughtNumber", ...call("everything__get-env", {}) },
        { expect: "PATH", text: "done" },
      ],
    });
    // What lies in the workspace changes nothing of what is run.
    const stranger = "node_modules/@modelcontextprotocol/server-memory";
    await stage.write({
      "ws/data/.keep": "",
      "ws/deno.json": "{ this is no JSON",
      "ws/package.json": JSON.stringify({ dependencies: { "@modelcontextprotocol/server-memory": "0.0.1" } }),
      [`ws/${stranger}/package.json`]: JSON.stringify({
        name: stranger,
        version: "2026.8.31",
        bin: "evil.js",
      }),
      [`ws/${stranger}/evil.js`]: "console.error('evil')",
    });
    const names = ["memory", "files", "thinking", "everything"];
    const checked = await Promise.all(names.map((name) => check(stage, name)));
    assert.deepEqual(
      checked.map((one) => [one["usable"], one["protocolVersion"], (one["tools"] as Line[]).length]),
      [[true, "2025-11-25", 9], [true, "2025-11-25", 14], [true, "2025-11-25", 1], [true, "2025-11-25", 15]],
    );
    assert.ok(checked.every((one) => (one["tools"] as Line[]).every(({ verdict }) => verdict === "ok")));

    await stage.output(...trustAgent);
    const variables = { HOST_TOKEN: "kept-by-the-host-4711" };
    const run = await (await startWith(stage, variables, ...firstTurn)).ended;
    assert.match(run.out, /done\nturn 1 completed/, run.out + run.err);
    assert.match(await Deno.readTextFile(stage.path("ws/data/memory.jsonl")), /Ada/);
    assert.equal(await Deno.readTextFile(stage.path("ws/data/in.txt")), "x");
    await assert.rejects(Deno.stat(stage.path("ws/out.txt")), Deno.errors.NotFound);
    const journal = await stage.output("log", sessionIn(run), "--json");
    assert.match(journal, /DENO_NO_PACKAGE_JSON/); // So the variables are in it,
    assert.doesNotMatch(journal, /HOST_TOKEN|kept-by-the-host/); // and this is none of them.
  });
});

Deno.test("server from npm is not started for a path outside the workspace, also behind a link, unless the host allows it (DM-66)", async () => {
  await onMcpStage(async (stage) => {
    const paths = { up: "../outside", link: "link/deeper", gone: "gone/../../outside", fine: "new/file" };
    const servers = Object.entries(paths).map(([name, path]) =>
      [name, npm("memory", { permissions: { write: [path] } })] as const
    );
    await writeMcpAgent(stage, { servers: Object.fromEntries(servers), answers: [] });
    await stage.write({ "outside/a.txt": "" });
    await Deno.symlink(stage.path("outside"), stage.path("ws/link"));
    const states = async () => {
      const out = await stage.output("mcp", "list", "--agent", "agent", "--workspace", "ws", "--json");
      const rows = out.trimEnd().split("\n").map((line) => JSON.parse(line));
      return Object.fromEntries(rows.map(({ server, state }) => [server, state]));
    };
    const refused = "mcp_path_refused";
    assert.deepEqual(await states(), { fine: "asks", gone: refused, link: refused, up: refused });
    const checked = await stage.run(
      ...["mcp", "check", "link", "--agent", "agent", "--workspace", "ws", "--answer", "allow"],
    );
    assertRefused(checked, 1, refused, '"link/deeper" lies outside the workspace', /server_paths/);

    await stage.write({ "config/troupe/troupe.yaml": `server_paths: ["${stage.path("outside")}"]\n` });
    assert.deepEqual(await states(), { fine: "asks", gone: refused, link: "asks", up: "asks" });
  });
});

Deno.test("server from npm whose files a link moves is another declaration, and asked about anew (DM-62)", async () => {
  await onMcpStage(async (stage) => {
    await writeMcpAgent(stage, {
      servers: { memory: npm("memory", { permissions: { write: ["link"] } }) },
      answers: [],
    });
    await stage.write({ "ws/one/a.txt": "", "ws/two/a.txt": "" });
    const list = () => stage.output("mcp", "list", "--agent", "agent", "--workspace", "ws");
    await Deno.symlink(stage.path("ws/one"), stage.path("ws/link"));
    await stage.output(...trustAgent);
    assert.match(await list(), /^memory +trusted /m);
    await Deno.remove(stage.path("ws/link"));
    await Deno.symlink(stage.path("ws/two"), stage.path("ws/link"));
    assert.match(await list(), /^memory +asks /m);
  });
});

Deno.test("server from npm that was never fetched does not go to the network by itself, and says what to do", async () => {
  await onMcpStage(async (stage) => {
    await writeMcpAgent(stage, { servers: { memory: npm("memory") }, answers: [{ text: "alone" }] });
    await stage.output(...trustAgent);
    const run = await (await startWith(stage, { DENO_DIR: stage.path("cache") }, ...firstTurn)).ended;
    assert.match(run.out, /✗ memory {2}mcp_npm_not_cached: .*troupe mcp check memory fetches it/);
    assert.match(run.out, /alone\nturn 1 completed/);
  });
});

/** Manifests that are refused, and why. */
const faulty: readonly (readonly [manifest: Line, why: RegExp])[] = [
  [{ run: { npm: "server@latest" } }, /exact version/],
  [{ run: { npm: "server@^1.2.3" } }, /exact version/],
  [{ run: { npm: "server" } }, /exact version/],
  [{ run: { npm: "server@1.2.3 --allow-all" } }, /exact version/],
  [{ run: { npm: "server@1.2.3", permissions: { read: ["a,/"] } } }, /without a comma/],
  [{ run: { npm: "server@1.2.3", permissions: { net: ["a.example,b.example"] } } }, /host and a port/],
  [{ run: { npm: "server@1.2.3", permissions: { run: ["sh"] } } }, /unknown key "run"/],
  [{ run: { npm: "server@1.2.3" }, command: "server" }, /beside command/],
  [{ run: { npm: "server@1.2.3" }, args: ["x"] }, /inside run/],
  [{ run: { npm: "server@1.2.3" }, env: { LD_PRELOAD: "x.so" } }, /changes what Deno itself does/],
];

Deno.test("manifest of a server from npm names an exact version and its permissions, and nothing that undoes them (DM-66)", async () => {
  await onMcpStage(async (stage) => {
    await Promise.all(
      faulty.map(([manifest], at) =>
        writeMcpAgent(stage, { servers: { docs: manifest }, answers: [], folder: `agent${at}` })
      ),
    );
    for (const [at, [, why]] of faulty.entries()) {
      const listed = await stage.run("mcp", "list", "--agent", `agent${at}`, "--workspace", "ws");
      assertRefused(listed, 2, "config_invalid", `agent${at}/mcp/docs.yaml:`, why);
    }
  });
});
