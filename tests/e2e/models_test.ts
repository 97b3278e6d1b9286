/** Models of vendors by the real command, against a server on loopback: listed, asked, refused, replayed, never shown a key. */
import assert from "node:assert/strict";
import { chatWire } from "../support/vendors/chat_wire.ts";
import { inTurn, testKey, VendorServer } from "../support/vendors/vendor_server.ts";
import { assertRefused, filesWith, linesOf, onStage, type Stage } from "./troupe.ts";

const replies = [
  { text: "I read.", calls: [{ id: "call_1", name: "read_file", arguments: { path: "a.txt" } }] },
  { text: `It says alpha, and my key is ${testKey}.` },
];

async function configure(stage: Stage, server: VendorServer, more: object = {}): Promise<void> {
  await stage.write({
    "config/troupe/troupe.yaml": JSON.stringify({
      providers: {
        local: {
          kind: "openai_compatible",
          base_url: `http://localhost:${server.port}/v1`,
          api_key: "env:E2E_MODEL_KEY",
          allow_private: true,
        },
        closed: { kind: "openai_compatible", base_url: `${server.origin}/v1` },
        ...more,
      },
      models: {
        fast: { model: "local/test-model", prices: { input_per_million_usd: 1, output_per_million_usd: 2 } },
      },
    }),
    "ws/a.txt": "alpha\n",
  });
  await writeModel(stage, "fast");
}

async function writeModel(stage: Stage, model: string): Promise<void> {
  await stage.write({
    "agent/agent.yaml": `name: tester\nmodel: ${model}\ntools: [read_file]\ncapabilities: [fs.read]\n`,
    "agent/script.yaml": 'answers: [{ text: "from a script" }]\n',
  });
}

Deno.test("models are listed with reasons, asked by a run, replayed without their server, and their key is nowhere (AR-37, CM-116)", async () => {
  const server = new VendorServer(inTurn(chatWire, replies));
  await onStage(async (stage) => {
    await configure(stage, server);
    const listed = linesOf(await stage.output("models", "--json"));
    assert.deepEqual(listed.map(({ name, available, reason }) => [name, available, reason]), [
      ["fast", false, "missing_credential"],
      ["local/*", false, "missing_credential"],
      ["closed/*", false, "policy_disabled"],
    ]);
    const run = (...more: readonly string[]) =>
      stage.run("run", "./agent", "Go", "--workspace", "ws", ...more);
    assertRefused(await run(), 2, "missing_credential", "env:E2E_MODEL_KEY, and its variable is not set");
    // A script stands for a model that is not to be had.
    assert.match((await run("--script", "agent/script.yaml")).out, /from a script/);
    stage.give("E2E_MODEL_KEY", testKey);
    assert.match(await stage.output("models"), /^fast +local +test-model +32768 +available$/m);
    assertRefused(await stage.run("models", "closed/x"), 1, "policy_disabled", "allow_private: true");
    await writeModel(stage, "closed/x");
    assertRefused(await run(), 2, "config_invalid", /agent\/agent\.yaml:2:8: base_url .*allow_private: true/);
    await writeModel(stage, "lokal/x");
    assertRefused(await run(), 2, "config_invalid", "did you mean local?");
    assert.equal(server.asked.length, 0, "something was sent");

    await writeModel(stage, "fast");
    const ended = await run("--json");
    assert.equal(ended.code, 0, ended.err);
    assert.equal(server.asked.length, 2);
    assert.equal(server.asked[0]?.headers.get("authorization"), `Bearer ${testKey}`);
    assert.match(JSON.stringify(server.asked[1]?.body.messages), /alpha/);
    await server.close();
    assert.match(await stage.output("replay", "last"), /replayed|same|identical/i);
    await stage.output("export", "last", "-o", "out.jsonl");
    const budget = await stage.output("budget", "last", "--json");
    assert.match(budget, /0\.000052/, "tokens were not priced");
    assert.ok(!ended.out.includes(testKey) && !ended.err.includes(testKey));
    assert.deepEqual(await filesWith(stage.folder, [testKey]), []);
    assertRefused(await stage.run("models", "nobody"), 1, "unknown_model", 'has no "nobody"');
  });
});

/** The command, where whoever loads a vendor's package fails. */
async function poison(stage: Stage): Promise<string> {
  const root = new URL("../../", import.meta.url);
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
  const imports = Object.fromEntries(
    Object.entries(config.imports as Record<string, string>).map(([name, place]) => [
      name,
      name.startsWith("@ai-sdk/") ? "data:text/javascript,throw new Error('a vendor was loaded')" : place,
    ]),
  );
  const links = (config.links as string[]).map((link) => new URL(`${link}/`, root).pathname);
  const { unstable, nodeModulesDir, compilerOptions } = config;
  await stage.write({
    "deno.json": JSON.stringify({ unstable, nodeModulesDir, compilerOptions, imports, links, lock: false }),
  });
  return new URL("main.ts", root).pathname;
}

Deno.test("models of vendors are loaded when one is asked, and never before: a run of a script loads none", async () => {
  const server = new VendorServer(inTurn(chatWire, [{ text: "Hello" }]));
  try {
    await onStage(async (stage) => {
      await configure(stage, server);
      stage.give("E2E_MODEL_KEY", testKey);
      const main = await poison(stage);
      const start = (...args: readonly string[]) =>
        stage.startDeno(
          "run",
          "-A",
          "--quiet",
          "--no-check",
          "--config",
          stage.path("deno.json"),
          main,
          ...args,
        ).ended;
      const [version, listed, scripted] = await Promise.all([
        start("--version"),
        start("models"),
        start("run", "./agent", "Go", "--script", "agent/script.yaml", "--workspace", "ws"),
      ]);
      assert.deepEqual([version.code, listed.code, scripted.code], [0, 0, 0], scripted.err + version.err);
      const asked = await start("run", "./agent", "Go", "--workspace", "ws");
      assert.equal(asked.code, 1, "the packages of vendors are not kept from loading");
      assert.equal(server.asked.length, 0);
    });
  } finally {
    await server.close();
  }
});
