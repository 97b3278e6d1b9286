/** The gate before a server: nothing is started that nobody trusts or allows, and manifests are read strictly. */
import assert from "node:assert/strict";
import {
  callOf,
  declare,
  findMarked,
  firstTurn,
  linesIn,
  markOf,
  nextTurn,
  onMcpStage,
  planned,
  sessionIn,
  trustAgent,
  writeMcpAgent,
} from "./mcp_stage.ts";
import { assertRefused, onStage, type Stage } from "./troupe.ts";

/** One server `docs` that notes each start, and two turns without calls. */
async function writeDocs(stage: Stage): Promise<void> {
  await writeMcpAgent(stage, {
    servers: { docs: planned(stage, { name: "docs", started: stage.path("started") }) },
    answers: [
      { calls: [callOf("docs__search")] },
      { text: "first" },
      { calls: [callOf("docs__search")] },
      { text: "second" },
    ],
  });
}

async function startsOf(stage: Stage): Promise<number> {
  return (await linesIn(stage.path("started"))).length;
}

const started = /^ {2}✓ docs {2}.* 3 tools\n.*✓ mcp\.docs\.search .* docs found/m;

// DM-29, DM-54, DM-55
Deno.test("server is not started unless somebody allows it: without anybody to ask the turn goes on without it (DM-54, DM-55, DM-137)", async () => {
  await onMcpStage(async (stage) => {
    await writeDocs(stage);
    const alone = await stage.run(...firstTurn);
    assert.equal(alone.code, 0, alone.err);
    assert.match(
      alone.out,
      /^ {2}✗ docs {2}mcp_connect_denied: .* nobody is there to be asked; troupe trust/m,
    );
    assert.match(alone.out, /✗ docs__search {2}not_found[^]*first\nturn 1 completed/);
    const denied = await stage.run(...firstTurn, "--answer", "deny");
    assert.match(denied.out, /^ {2}✗ docs {2}mcp_connect_denied: .* the answer was no$/m);
    assert.deepEqual([denied.code, await startsOf(stage)], [0, 0]);
    assert.deepEqual(findMarked(markOf(stage)), []);
    // A denial is looked at again before the next turn.
    const allowed = await stage.run(...nextTurn, "--answer", "allow");
    assert.match(allowed.out, started, allowed.err);
    assert.equal(await startsOf(stage), 1);
    const connection = await stage.output("log", `connection/docs@${sessionIn(allowed)}`);
    assert.match(connection, /question\.ask +1?\d\.0 deny by operator local/);
    assert.match(connection, /question\.ask +1?\d\.0 allow by operator local/);
  });
});

// DM-62
Deno.test("server of a trusted declaration is started without a question, another one is asked about anew, and policy wins over trust (DM-62, DM-137)", async () => {
  await onMcpStage(async (stage) => {
    await writeDocs(stage);
    await stage.output(...trustAgent);
    const trusted = await stage.run(...firstTurn);
    assert.match(trusted.out, started, trusted.err);
    const connection = await stage.output("log", `connection/docs@${sessionIn(trusted)}`);
    assert.doesNotMatch(connection, /question\.ask/);

    await stage.write({ "config/troupe/troupe.yaml": "policy: { connect: deny }\n" });
    const forbidden = await stage.run(...firstTurn, "--answer", "allow");
    assert.match(forbidden.out, /^ {2}✗ docs {2}mcp_connect_denied: .* policy forbids it$/m);
    await Deno.remove(stage.path("config"), { recursive: true });

    // Trust is for what was shown, in the folder that it was shown for.
    await stage.write({ "elsewhere/a.txt": "" });
    const unheard = /^ {2}✗ docs {2}mcp_connect_denied: .* nobody is there to be asked/m;
    assert.match(await stage.output("run", "./agent", "hi", "--workspace", "elsewhere"), unheard);
    const plan = { name: "docs", started: stage.path("started") };
    await declare(stage, { docs: planned(stage, plan, { env: { MODE: "x" } }) });
    assert.match(await stage.output(...firstTurn), unheard);
    assert.equal(await startsOf(stage), 1);
    await stage.output(...trustAgent);
    assert.match(await stage.output(...firstTurn), started);

    await declare(stage, { docs: planned(stage, plan, { env: { MODE: "x" }, enabled: false }) });
    assert.match(await stage.output(...firstTurn), /^ {2}✗ docs {2}mcp_disabled: /m);
    assert.equal(await startsOf(stage), 2);
  });
});

/** Manifests that are refused: the text, where, and why. */
const faulty: readonly (readonly [text: string, place: string, why: RegExp])[] = [
  ["enabled: true\n", "1:1", /the key "command" is missing/],
  ["command: x\nargs: []\ncomand: y\n", "3:1", /unknown key "comand"/],
  ["transport: streamable_http\nurl: not a url\n", "2:6", /http or https URL/],
  ["transport: streamable_http\nurl: https://example.com\ncommand: x\n", "3:1", /unknown key "command"/],
  ["transport: pipe\ncommand: x\n", "1:12", /"transport" is not accepted: .*streamable_http/],
  ["command: x\nenv:\n  1NAME: y\n", "3:3", /name of a variable/],
];

// DM-66, DM-67
Deno.test("manifest that is not as it must be is refused with file, line and column, before a session begins (DM-66, DM-67)", async () => {
  await onStage(async (stage) => {
    await Promise.all(faulty.map(async ([text], index) => {
      await writeMcpAgent(stage, { servers: {}, answers: [], folder: `agent${index}` });
      await stage.write({ [`agent${index}/mcp/docs.yaml`]: text });
    }));
    await writeMcpAgent(stage, { servers: { Docs: { command: "x" } }, answers: [], folder: "named" });
    const run = (folder: string) => stage.run("run", `./${folder}`, "hi", "--workspace", "ws");
    for (const [index, [, place, why]] of faulty.entries()) {
      const folder = `agent${index}`;
      assertRefused(await run(folder), 2, "config_invalid", `${folder}/mcp/docs.yaml:${place}: `, why);
    }
    assertRefused(await run("named"), 2, "config_invalid", "named/mcp/Docs.yaml", /lower-case letters/);
    await assert.rejects(Deno.stat(stage.path("store.db")));
  });
});

// DM-29
Deno.test("server is only read, not started, by what only looks at its agent", async () => {
  await onMcpStage(async (stage) => {
    await writeDocs(stage);
    const shown = await stage.run("catalog", "./agent");
    assert.equal(shown.code, 0, shown.err);
    assert.match(shown.err, /Not shown: tools of the MCP servers .*, which a session starts and asks/);
    await stage.output("trust", "./agent", "--workspace", "ws", "--yes", "--json");
    const ended = await stage.run(...firstTurn, "--script", "none.yaml");
    assertRefused(ended, 2, "script_invalid");
    assert.equal(await startsOf(stage), 0);
  });
});

Deno.test("schema prints the manifest's, by which a manifest of each transport can be checked", async () => {
  await onStage(async (stage) => {
    const [names, printed] = await Promise.all([
      stage.output("schema"),
      stage.output("schema", "manifest"),
    ]);
    assert.match(names, /^manifest +mcp\/<server>\.yaml$/m);
    const schema = JSON.parse(printed);
    assert.equal(schema.$schema, "https://json-schema.org/draft/2020-12/schema");
    const kinds: readonly {
      readonly properties: { readonly transport: { readonly const: string } };
      readonly required: readonly string[];
      readonly anyOf?: readonly unknown[];
      readonly additionalProperties: boolean;
    }[] = schema.oneOf ?? schema.anyOf;
    assert.deepEqual(
      kinds.map((kind) => [
        kind.properties.transport.const,
        kind.anyOf ?? kind.required,
        kind.additionalProperties,
      ]),
      [
        ["stdio", [{ required: ["command"] }, { required: ["run"] }], false],
        ["streamable_http", ["transport", "url"], false],
      ],
    );
  });
});
