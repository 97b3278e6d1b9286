import assert from "node:assert/strict";
import { HostConfig } from "../../schemas/config.ts";
import { ModelDirectory } from "../../src/model/model_directory.ts";
import { ConfigError } from "../../src/config_file.ts";
import { loadAgent } from "../../src/host/agent_folder.ts";
import { readHostSettings, storeLocation, workspaceFolder } from "../../src/host/home.ts";
import { readHome, writeHome } from "../../src/host/session_home.ts";
import { digestNow } from "../support/world.ts";

function digest(bytes: Uint8Array): Promise<string> {
  return Promise.resolve(digestNow(bytes));
}

const good = "name: tester\nmodel: scripted/script.yaml\ntools: [read_file]\ncapabilities: [fs.read]\n";

/** A folder with files, for one test. */
async function withFiles(
  files: { readonly [path: string]: string },
  play: (folder: string) => Promise<void>,
) {
  const folder = await Deno.makeTempDir();
  try {
    for (const [path, text] of Object.entries(files)) {
      const cut = path.lastIndexOf("/");
      if (cut > 0) await Deno.mkdir(`${folder}/${path.slice(0, cut)}`, { recursive: true });
      await Deno.writeTextFile(`${folder}/${path}`, text);
    }
    await play(await Deno.realPath(folder));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function refusalOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message;
  }
  assert.fail("was accepted");
}

const models = new ModelDirectory({
  config: HostConfig.parse({
    providers: {
      local: { kind: "openai_compatible", base_url: "http://127.0.0.1:9/v1", allow_private: true },
    },
    models: { fast: { model: "local/a", fallbacks: ["local/b"] } },
  }),
  secrets: new Map(),
});

Deno.test("agent is a folder, its file, or the name of one that comes with troupe", async () => {
  await withFiles({ "a/agent.yaml": good, "b.yaml": good }, async (cwd) => {
    for (const name of ["a", "./a", "a/", "a/agent.yaml", `${cwd}/a`]) {
      const agent = await loadAgent(name, { cwd, digest });
      assert.deepEqual(agent.home, { kind: "folder", path: `${cwd}/a` }, name);
      assert.equal(agent.definition.name, "tester");
      assert.match(agent.coreRevision, /^sha256:[0-9a-f]{64}$/);
    }
    assert.deepEqual((await loadAgent("b.yaml", { cwd, digest })).home, { kind: "folder", path: cwd });
    assert.deepEqual((await loadAgent("demo", { cwd, digest })).home, { kind: "embedded", name: "demo" });
  });
});

Deno.test("agent's revision is the hash of what it says, not of how it is written", async () => {
  const other =
    "# the same\ncapabilities:\n  - fs.read\ntools: ['read_file']\nname: tester\nmodel: scripted/script.yaml\n";
  await withFiles(
    { "a/agent.yaml": good, "b/agent.yaml": other, "c/agent.yaml": `${good}description: x\n` },
    async (cwd) => {
      const [a, b, c] = await Promise.all(["a", "b", "c"].map((name) => loadAgent(name, { cwd, digest })));
      assert.equal(a?.coreRevision, b?.coreRevision);
      assert.notEqual(a?.coreRevision, c?.coreRevision);
    },
  );
});

// Proves DM-4: an unknown key, and a tool that does not exist, selected or overridden.
Deno.test("agent that is broken is refused at its place", async () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    [`${good}colour: red\n`, /a\/agent\.yaml:5:1: unknown key "colour"/],
    [
      good.replace("[read_file]", "[read_file, raed_file]"),
      /a\/agent\.yaml:3:20: there is no tool "raed_file"; known are clarify, delegate_task, list_files, patch, read_file/,
    ],
    [`${good}overrides:\n  rm: { risk: high }\n`, /a\/agent\.yaml:6:3: there is no tool "rm"/],
    [good.replace("scripted/script.yaml", "scripted//etc/passwd"), /a\/agent\.yaml:2:8: .*relative path/],
    [good.replace("scripted/", "acme/"), /a\/agent\.yaml:2:8: there is no model provider "acme"/],
    [good.replace("tester", "Tester"), /a\/agent\.yaml:1:7/],
  ];
  for (const [text, expected] of cases) {
    await withFiles({ "a/agent.yaml": text }, async (cwd) => {
      assert.match(await refusalOf(loadAgent("a", { cwd, digest, models })), expected);
    });
  }
});

Deno.test("agent names a model of the host, or a name for one, whose fallbacks are then its own", async () => {
  const text = (lines: string) => ({ "a/agent.yaml": good.replace("model: scripted/script.yaml", lines) });
  await withFiles(text("model: fast"), async (cwd) => {
    const { definition } = await loadAgent("a", { cwd, digest, models });
    assert.deepEqual([definition.model, definition.model_fallbacks], ["fast", ["local/b"]]);
    // Whoever asks no model need not have it.
    assert.equal((await loadAgent("a", { cwd, digest })).definition.model, "fast");
  });
  await withFiles(text("model: fast\nmodel_fallbacks: [local/c]"), async (cwd) => {
    assert.deepEqual((await loadAgent("a", { cwd, digest, models })).definition.model_fallbacks, ["local/c"]);
  });
  await withFiles(text("model: fats"), async (cwd) => {
    const refusal = await refusalOf(loadAgent("a", { cwd, digest, models }));
    assert.match(refusal, /a\/agent\.yaml:2:8: models of troupe\.yaml has no "fats": did you mean fast\?/);
  });
});

Deno.test("agent that asks for a capability that nobody knows is refused at its place (DM-30)", async () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    [
      "[fs.read, fs.raed]",
      /a\/agent\.yaml:4:25: there is no capability "fs\.raed" \(did you mean fs\.read\?\); known are fs\.read,/,
    ],
    ["[mcp.call]", /a\/agent\.yaml:4:16: "mcp\.call" needs a name behind it; write mcp\.call:<server>/],
  ];
  for (const [capabilities, expected] of cases) {
    await withFiles({ "a/agent.yaml": good.replace("[fs.read]", capabilities) }, async (cwd) => {
      assert.match(await refusalOf(loadAgent("a", { cwd, digest })), expected);
    });
  }
  const fine = good.replace("[fs.read]", "[fs.read, 'tool.call:send', 'mcp.call:*']");
  await withFiles({ "a/agent.yaml": fine }, async (cwd) => {
    assert.equal((await loadAgent("a", { cwd, digest })).definition.capabilities.length, 3);
  });
});

Deno.test("agent of an MCP tool's override is accepted: the server may come later", async () => {
  await withFiles({ "a/agent.yaml": `${good}overrides:\n  mcp.docs.find: { risk: high }\n` }, async (cwd) => {
    assert.equal((await loadAgent("a", { cwd, digest })).definition.name, "tester");
  });
});

Deno.test("agent that is not there, or could be two, is refused", async () => {
  await withFiles({ "demo/agent.yaml": good, "empty/x": "" }, async (cwd) => {
    for (const name of ["nobody", "./nobody", "empty", "empty/agent.yaml"]) {
      assert.match(
        await refusalOf(loadAgent(name, { cwd, digest })),
        /Cannot use ".*" as agent: there is no folder/,
        name,
      );
    }
    assert.match(await refusalOf(loadAgent("demo", { cwd, digest })), /write \.\/demo/);
    assert.equal((await loadAgent("./demo", { cwd, digest })).definition.name, "tester");
  });
});

Deno.test("host configuration comes from the host alone", async () => {
  await withFiles({
    "conf/troupe/troupe.yaml": "store: data/s.db\nworkspace: ~/work\n",
    "other.yaml": "durability: strict\n",
    "bad.yaml": "stroe: x\n",
    "project/troupe.yaml": "store: evil.db\n",
  }, async (folder) => {
    const env = (values: { readonly [name: string]: string }) => (name: string) => values[name];
    const home = env({ XDG_CONFIG_HOME: `${folder}/conf`, HOME: "/home/me" });
    const settings = await readHostSettings(home);
    assert.equal(storeLocation(undefined, home, settings), `${folder}/conf/troupe/data/s.db`);
    assert.equal(workspaceFolder(undefined, { env: home, settings, cwd: "/x" }), "/home/me/work");
    assert.equal(workspaceFolder("w", { env: home, settings, cwd: "/x" }), "w");
    const named = env({ TROUPE_CONFIG: `${folder}/other.yaml`, HOME: "/home/me" });
    assert.equal((await readHostSettings(named)).config.durability, "strict");
    assert.equal(
      storeLocation(undefined, named, await readHostSettings(named)),
      "/home/me/.local/share/troupe/troupe.db",
    );
    const bad = readHostSettings(env({ TROUPE_CONFIG: `${folder}/bad.yaml` }));
    assert.match(await refusalOf(bad), /bad\.yaml:1:1: unknown key "stroe"/);
    assert.match(
      await refusalOf(readHostSettings(env({ TROUPE_CONFIG: `${folder}/gone.yaml` }))),
      /there is no such file/,
    );
    const nothing = await readHostSettings(env({}));
    assert.equal(storeLocation("asked.db", env({ TROUPE_STORE: "x.db" }), nothing), "asked.db");
    assert.equal(storeLocation(undefined, env({ TROUPE_STORE: "x.db" }), nothing), "x.db");
    assert.throws(() => storeLocation(undefined, env({}), nothing), /name one with --store/);
    assert.throws(() => storeLocation(":memory:", env({}), nothing), { code: "store_unusable" });
    const remote = "https://kv.example/connect";
    assert.equal(storeLocation(remote, env({}), nothing), remote);
  });
});

Deno.test("host's rule for a capability that no call needs is refused at its place, with what was probably meant", async () => {
  const cases: readonly (readonly [rule: string, said: RegExp])[] = [
    ["fs.raed: deny", /:2:28: "policy\.capabilities\.fs\.raed" .*\(did you mean fs\.read\?\)/],
    ["mcp.cal:docs: deny", /there is no capability "mcp\.cal:docs" \(did you mean mcp\.call:docs\?\)/],
    ["mcp.call: deny", /write mcp\.call:<server>, or mcp\.call:\* for all/],
    ["mcp.connect:docs: deny", /policy\.connect says whether servers may be started/],
    ["secret.bind:TOKEN: deny", /only capabilities in agent\.yaml give a secret/],
  ];
  const good = ["fs.read", "mcp.call:docs", "mcp.call:*", "tool.call:send_mail"].map((one) =>
    `"${one}": prompt`
  );
  const files = Object.fromEntries([...cases.map(([rule]) => rule), good.join(", ")].map((rules, at) => [
    `${at}.yaml`,
    `policy:\n  capabilities: { ${rules} }\n`,
  ]));
  await withFiles(files, async (folder) => {
    const read = (at: number) =>
      readHostSettings((name) => name === "TROUPE_CONFIG" ? `${folder}/${at}.yaml` : undefined);
    for (const [at, [rule, said]] of cases.entries()) assert.match(await refusalOf(read(at)), said, rule);
    assert.equal(Object.keys((await read(cases.length)).config.policy.capabilities).length, good.length);
  });
});

Deno.test("agent's folder declares tools and servers, and owns neither what a repeat does, nor who acts, nor how a provider is written to (DM-135)", async () => {
  const files: { readonly [file: string]: readonly string[] } = {
    "a/agent.yaml": [
      ...[
        "effects: { read_file: idempotent }",
        "replay: live",
        "overrides: { read_file: { effect_class: idempotent } }",
      ],
      ...[
        "overrides: { read_file: { attempts: 5 } }",
        "principal: operator",
        "authority: operator",
        "role: admin",
      ],
      ...[
        "messages: []",
        "request_format: chat",
        "provider: { headers: {} }",
        "approvals: { read_file: allow }",
      ],
    ],
    "a/mcp/docs.yaml": [
      ...[
        "effects: { search: idempotent }",
        "effect_class: idempotent",
        "idempotent: true",
        "trust: trusted_local",
      ],
      ...["principal: operator", "replay: live", "messages: []"],
    ],
  };
  const declared = { "a/agent.yaml": good, "a/mcp/docs.yaml": "command: docs-server\n" };
  await withFiles(declared, async (cwd) => {
    const agent = await loadAgent("a", { cwd, digest });
    assert.deepEqual([agent.definition.tools, agent.servers.map(({ server }) => server)], [["read_file"], [
      "docs",
    ]]);
  });
  for (const [file, lines] of Object.entries(files)) {
    for (const line of lines) {
      const text = `${declared[file as keyof typeof declared]}${line}\n`;
      await withFiles({ ...declared, [file]: text }, async (cwd) => {
        assert.match(await refusalOf(loadAgent("a", { cwd, digest })), /:\d+:\d+: unknown key "/, line);
      });
    }
  }
});

Deno.test("session's home is read back as it was written, and nothing else is taken for one", () => {
  const home = { agent: { kind: "embedded", name: "demo" }, workspace: "/w" } as const;
  assert.deepEqual(readHome(writeHome(home)), home);
  for (const text of ["", "/some/folder", "{}", JSON.stringify({ ...home, extra: 1 })]) {
    assert.equal(readHome(text), undefined, text);
  }
});
