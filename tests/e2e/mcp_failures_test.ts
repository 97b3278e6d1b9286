/** MCP servers that cannot be used, or misbehave: the turn goes on with what there is, and everybody is told why. */
import assert from "node:assert/strict";
import { openReaderHost } from "../../src/host/reader_host.ts";
import { textEnvelope } from "../../src/tools/tool.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { limits } from "../../schemas/limits.ts";
import {
  bad,
  bodiesOf,
  callOf,
  entriesOf,
  findMarked,
  firstTurn,
  type Line,
  markOf,
  onMcpStage,
  planned,
  sessionIn,
  writeMcpAgent,
} from "./mcp_stage.ts";
import { assertRefused, linesOf, type Stage } from "./troupe.ts";

/** Every server that is left out, by id: what its line in the transcript says. */
const leftOut: { readonly [server: string]: RegExp } = {
  gone: /mcp_connect_failed: .*no-such-program/,
  ends: /mcp_connect_failed: .*boom: missing API key$/,
  // Its own time, not that in which it waited until others were started.
  silent: /mcp_connect_timed_out: .* within 0\.5 s$/,
  newer: /mcp_connect_failed: .*1999-01-01/,
  faulty: /mcp_list_invalid: .*tools/,
  // DM-60: outside by its path, and by a link.
  outside: /mcp_working_folder_refused: .*"\.\." lies outside the workspace$/,
  linked: /mcp_working_folder_refused: .*"link" lies outside the workspace$/,
  nowhere: /mcp_working_folder_refused: .*"none" does not exist$/,
  web: /url_blocked: web: Cannot reach http:\/\/127\.0\.0\.1:9: .*network\.allow/,
  off: /mcp_disabled: .*switched off in its manifest$/,
};

async function writeManyServers(stage: Stage): Promise<void> {
  await stage.write({ "elsewhere/b.txt": "" });
  await writeMcpAgent(stage, {
    servers: {
      gone: { command: "no-such-program" },
      ends: bad(stage, ["exits-before-initialize"]),
      silent: bad(stage, ["never-answers"], { connect_timeout_seconds: 0.5 }),
      newer: bad(stage, ["wrong-version"]),
      faulty: bad(stage, ["no-tools-array"]),
      outside: bad(stage, ["good"], { cwd: ".." }),
      linked: bad(stage, ["good"], { cwd: "link" }),
      nowhere: bad(stage, ["good"], { cwd: "none" }),
      web: { transport: "streamable_http", url: "http://127.0.0.1:9/mcp" },
      off: bad(stage, ["good"], { enabled: false }),
      noisy: bad(stage, ["noise"]),
      partly: bad(stage, ["one-bad-tool"]),
      inside: bad(stage, ["stderr-flood"], { cwd: "." }),
    },
    answers: [
      {
        calls: ["noisy__echo", "partly__echo", "partly__bad", "inside__echo", "ends__echo"].map((tool) =>
          callOf(tool, { tool })
        ),
      },
      { text: "finished" },
    ],
  });
  await Deno.symlink("../elsewhere", stage.path("ws/link"));
}

// DM-60, DM-66
Deno.test("server that cannot be used is left out in one line that says why, and the turn goes on with the others (CM-71, DM-60, DM-66)", async () => {
  await onMcpStage(async (stage) => {
    await writeManyServers(stage);
    const ended = await stage.run(...firstTurn, "--answer", "allow");
    assert.equal(ended.code, 0, ended.err);
    const lines = ended.out.split("\n");
    for (const [server, why] of Object.entries(leftOut)) {
      const told = lines.filter((line) => line.startsWith(`  ✗ ${server}  `));
      assert.equal(told.length, 1, `${server}:\n${ended.out}`);
      assert.match(told[0] ?? "", why);
    }
    assert.match(ended.out, /^ {2}✓ noisy .* 3 tools$/m);
    assert.match(ended.out, /^ {2}✓ partly .* 3 tools, 2 left out$/m);
    for (const server of ["noisy", "partly", "inside"]) {
      assert.match(ended.out, new RegExp(`✓ mcp\\.${server}\\.echo .*\\{"tool":"${server}__echo"\\}`));
    }
    // Not offered is unknown, whether the server or only the tool is missing.
    assert.match(ended.out, /✗ ends__echo {2}not_found/);
    assert.match(ended.out, /✗ partly__bad {2}not_found/);
    assert.match(ended.out, /finished\nturn 1 completed/);
    assert.equal(ended.out.match(/^ {2}[✓✗] /gm)?.length, Object.keys(leftOut).length + 3 + 5);
    await assertJournals(stage, sessionIn(ended));
    const replayed = await stage.output("replay", "last", "--strict");
    assert.equal(replayed.match(/no divergence/g)?.length, 2 + Object.keys(leftOut).length + 3);
  });
});

async function assertJournals(stage: Stage, id: string): Promise<void> {
  const [ends, partly] = await Promise.all(
    ["ends", "partly"].map((server) => entriesOf(stage, `connection/${server}@${id}`)),
  );
  const [connect] = bodiesOf(ends ?? [], "outcome", "mcp.connect");
  assert.match(JSON.stringify(connect), /"failed".*"mcp_connect_failed".*its last words: .*missing API key/);
  const [list] = bodiesOf(partly ?? [], "outcome", "mcp.list");
  assert.deepEqual((list?.["value"] as Line)["rejected"], [
    { tool: "bad", reason: "it has no inputSchema" },
    { tool: "(tool 3)", reason: "it is no object" },
  ]);
}

Deno.test("turn that fails beside servers that fail, one of them by saying nothing, has its own exit code", async () => {
  await onMcpStage(async (stage) => {
    await writeMcpAgent(stage, {
      servers: {
        ends: bad(stage, ["exits-before-initialize"]),
        silent: bad(stage, ["never-answers"], { connect_timeout_seconds: 0.5 }),
      },
      answers: [],
    });
    const ended = await stage.run(...firstTurn, "--answer", "allow");
    assertRefused(ended, 1, "script_exhausted");
    assert.match(ended.out, /^ {2}✗ ends {2}mcp_connect_failed: .*boom: missing API key$/m);
    assert.match(
      ended.out,
      /^ {2}✗ silent {2}mcp_connect_timed_out: .*finish the handshake within 0\.5 s$/m,
    );
    assert.deepEqual(findMarked(markOf(stage)), []);
  });
});

// LC-15
Deno.test("result of 9 MB is cut for the model, kept as a whole beside the journal, can be paged through, and leaves entries small", async () => {
  await onMcpStage(async (stage) => {
    const result = await digestOf(JSON.stringify(textEnvelope("x".repeat(9_000_000))));
    await writeMcpAgent(stage, {
      servers: { large: bad(stage, ["big"]), good: planned(stage, { name: "good" }) },
      tools: ["read_result"],
      answers: [
        { calls: [callOf("large__echo")] },
        { expect: "more characters; the whole result is sha256:", calls: [callOf("good__search")] },
        {
          calls: [
            callOf("read_result", { result, offset: 8_999_990 }),
            callOf("read_result", { result, limit: 5 }),
          ],
        },
        { expect: "xxxxx", text: "finished" },
      ],
    });
    const { code, out, err } = await stage.run(...firstTurn, "--answer", "allow", "--json");
    assert.equal(code, 0, err);
    const entries = linesOf(out);
    for (const line of out.split("\n")) assert.ok(line.length < 32_768, `an entry has ${line.length}`);
    const [large, good] = bodiesOf(entries, "outcome", "mcp.call").map(({ value }) => value as Line);
    assert.deepEqual([large?.["isError"], large?.["truncated"]], [false, true]);
    assert.ok(String(large?.["model"]).length <= limits.toolOutputCharactersMax);
    assert.equal(good?.["model"], "good found {}");
    const pages = bodiesOf(entries, "outcome", "tool.call").map(({ value }) => (value as Line)["model"]);
    assert.deepEqual(pages, ["x".repeat(10), "xxxxx\n[8999995 more characters; go on with offset 5]"]);
    const whole = await readBlob(stage, String((large?.["full"] as Line)["digest"]));
    const envelope = JSON.parse(whole) as { readonly content: readonly { readonly text: string }[] };
    assert.ok(envelope.content[0]?.text === "x".repeat(9_000_000));
    assert.match(await stage.output("replay", "last", "--strict"), /no divergence/);
  });
});

async function digestOf(text: string): Promise<string> {
  return await createSystemSeams({ log: () => {} }).digest(new TextEncoder().encode(text));
}

async function readBlob(stage: Stage, digest: string): Promise<string> {
  const host = await openReaderHost(stage.path("store.db"), createSystemSeams({ log: () => {} }));
  try {
    return new TextDecoder().decode(await host.readBlob(digest));
  } finally {
    await host.close();
  }
}
