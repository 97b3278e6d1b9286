/** Secrets of the host: named in troupe.yaml, taken out of everything that comes in, given to a server by grant only. */
import assert from "node:assert/strict";
import { callOf, onMcpStage, planned, startWith, trustAgent, writeMcpAgent } from "./mcp_stage.ts";
import { onStage, type Stage, writeAgent } from "./troupe.ts";

/** All files below a folder but those named, as one text of bytes. */
async function bytesBelow(folder: string, except: readonly string[]): Promise<string> {
  const texts: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (except.includes(name)) continue;
    const path = `${folder}/${name}`;
    if (isDirectory) texts.push(await bytesBelow(path, except));
    else texts.push(new TextDecoder("latin1").decode(await Deno.readFile(path)));
  }
  return texts.join("\n");
}

async function writeKey(stage: Stage, value: string): Promise<void> {
  await stage.write({
    "config/troupe/troupe.yaml": "secrets: { DOCS_KEY: env:E2E_DOCS, FILE_KEY: file:key }\n",
    "config/troupe/key": `${value}\n`,
  });
  await Deno.chmod(stage.path("config/troupe/key"), 0o600);
}

// DM-49, DM-50, DM-51; I9 for what passes the door.
Deno.test("secret of the host that a file holds reaches no model, no line, no entry and no export, in any encoding (DM-49)", async () => {
  await onStage(async (stage) => {
    const [fromEnv, fromFile] = [crypto.randomUUID(), crypto.randomUUID()];
    await writeKey(stage, fromFile);
    await writeAgent(
      stage,
      `answers:
  - calls:
      - { tool: read_file, arguments: { path: a.txt } }
      - { tool: search_files, arguments: { pattern: marker } }
      - { tool: read_file, arguments: { path: "${fromEnv}" } }
  - { text: "I read ${fromFile}, a marker" }
`,
    );
    const basic = btoa(`user:${fromEnv}`);
    await stage.write({
      "ws/a.txt": `DOCS is ${fromEnv}\nmarker ${fromFile}\nAuthorization: Basic ${basic}\n${
        encodeURIComponent(`/${fromFile}/`)
      }\n`,
    });
    const order = ["run", "agent", `the marker is ${fromFile}`, "--workspace", "ws"];
    const ended = await (await startWith(stage, { E2E_DOCS: fromEnv }, ...order)).ended;
    assert.equal(ended.code, 0, ended.err);
    assert.match(ended.out, /I read \[redacted: FILE_KEY\], a marker/);
    assert.match(ended.out, /✗ read_file {2}invalid {2}.*hold a secret/);
    const texts = [
      ended.out,
      ended.err,
      await stage.output("log", "last"),
      await stage.output("log", "last", "--json"),
    ];
    await stage.output("export", "last", "-o", "run.jsonl");
    const all = `${texts.join("\n")}\n${await bytesBelow(stage.folder, [
      "key",
      "a.txt",
      "script.yaml",
      "variables",
    ])}`;
    assert.ok(texts[3]?.includes("DOCS is [redacted]\\nmarker [redacted]"));
    assert.ok(all.includes("marker") && all.includes("[redacted: DOCS_KEY"));
    for (const hidden of [fromEnv, fromFile, basic.slice(8, 40)]) assert.ok(!all.includes(hidden), hidden);
    assert.match(await stage.output("replay", "last", "--strict"), /no divergence/);
  });
});

// DM-27, DM-29, DM-67
Deno.test("secret of the host is given to a server only by an exact grant, and none that is missing stops the others (DM-27)", async () => {
  await onMcpStage(async (stage) => {
    const value = crypto.randomUUID();
    await writeKey(stage, value);
    const env = { TOKEN: "Bearer ${FILE_KEY}" };
    const servers = { docs: planned(stage, { name: "docs", tells: "TOKEN" }, { env }) };
    const answers = [{ calls: [callOf("docs__search")] }, { text: "finished" }];
    const granted = ["mcp.connect:*", "mcp.call:*"];
    for (const capabilities of [granted, [...granted, "secret.bind:*"], [...granted, "secret.bind:FILE"]]) {
      await writeMcpAgent(stage, { servers, answers, capabilities });
      await stage.output(...trustAgent);
      const refused = await stage.run("run", "agent", "go", "--workspace", "ws");
      assert.match(refused.out, /✗ docs {2}capability_missing: .*"secret\.bind:FILE_KEY"/);
      assert.match(refused.err, /secret_unusable .*DOCS_KEY.*its variable is not set/);
    }
    await writeMcpAgent(stage, { servers, answers, capabilities: [...granted, "secret.bind:FILE_KEY"] });
    const told = await stage.run("run", "agent", "go", "--workspace", "ws");
    // The server says what it was given and dies: the value was there, and is not in what is told of it.
    assert.match(told.out, /✗ docs {2}mcp_connect_failed: .*cannot log in with "Bearer \[redacted/);
    const all = `${told.out}${told.err}${await bytesBelow(stage.folder, ["key"])}`;
    const encoded = btoa(`user:Bearer ${value}`);
    for (const hidden of [value, encoded.slice(20, 60)]) assert.ok(!all.includes(hidden), hidden);
  });
});

Deno.test("server that needs a secret that cannot be read at the start is not run, and says why; the others are (F42)", async () => {
  await onMcpStage(async (stage) => {
    const value = crypto.randomUUID();
    await writeKey(stage, value);
    const [needs, others] = ["needs", "others"].map((name) => ({
      name,
      started: stage.path(`${name}.started`),
    }));
    assert.ok(needs !== undefined && others !== undefined);
    const servers = {
      needs: planned(stage, needs, { env: { TOKEN: "Bearer ${FILE_KEY}" } }),
      others: planned(stage, others),
    };
    const answers = [{ calls: [callOf("needs__search"), callOf("others__search")] }, { text: "finished" }];
    const capabilities = ["mcp.connect:*", "mcp.call:*", "secret.bind:FILE_KEY"];
    await writeMcpAgent(stage, { servers, answers, capabilities });
    await stage.output(...trustAgent);
    const startsOf = async ({ started }: { readonly started: string }) =>
      (await Deno.readTextFile(started).catch(() => "")).split("\n").length - 1;
    // A variable of that name is not the secret, and is not taken in its place.
    const variables = { E2E_DOCS: "nobody asks for it", FILE_KEY: value };
    const run = async () =>
      await (await startWith(stage, variables, "run", "agent", "go", "--workspace", "ws")).ended;
    const breakings: readonly (readonly [() => Promise<void>, RegExp])[] = [
      [() => Deno.chmod(stage.path("config/troupe/key"), 0o644), /others may read its file/],
      [() => Deno.remove(stage.path("config/troupe/key")), /its file does not exist/],
    ];
    for (const [spoil, why] of breakings) {
      await spoil();
      const { code, out, err } = await run();
      assert.equal(code, 0, err);
      assert.match(err, new RegExp(`secret_unusable .*FILE_KEY.*${why.source}`));
      assert.match(out, /✗ needs {2}mcp_variable_missing: .*FILE_KEY/);
      assert.match(out, /✗ needs__search {2}not_found/);
      assert.match(out, /✓ mcp\.others\.search .*others found/);
    }
    assert.deepEqual([await startsOf(needs), await startsOf(others)], [0, 2]);
    // Once it can be read, the server is run.
    await writeKey(stage, value);
    const { out, err } = await run();
    assert.match(out, /✓ mcp\.needs\.search .*needs found/, err);
    assert.equal(await startsOf(needs), 1);
  });
});
