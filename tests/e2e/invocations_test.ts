/** `troupe invocations`: every tool call of a session, for people and for programs, while it runs and after it. */
import assert from "node:assert/strict";
import { callOf, firstTurn, onMcpStage, planned, trustAgent, writeMcpAgent } from "./mcp_stage.ts";
import { linesOf, onStage, type Stage, writeAgent } from "./troupe.ts";

const script = `answers:
  - calls:
      - { tool: list_files, arguments: {} }
      - { tool: read_file, arguments: { path: nowhere.txt } }
      - { tool: search_files, arguments: { pattern: alpha } }
  - text: finished
`;

async function rowsOf(stage: Stage) {
  return linesOf(await stage.output("invocations", "last", "--json"));
}

Deno.test("invocations as JSON sum every call up in the same words, whatever its source: source, server, tool, risk, status, preview (LC-26)", async () => {
  await onMcpStage(async (stage) => {
    const long = `${"x".repeat(499)}😀 and more`;
    const results = {
      read_long: { content: [{ type: "text", text: long }] },
      fail: { isError: true, content: [{ type: "text", text: "there is none" }] },
    };
    const tools = ["read_long", "fail"].map((name) => ({ name, inputSchema: { type: "object" } }));
    await stage.write({ "tools.json": JSON.stringify(tools) });
    const plan = { name: "docs", tools: stage.path("tools.json"), results };
    await writeMcpAgent(stage, {
      servers: { docs: planned(stage, plan) },
      tools: ["read_file"],
      capabilities: ["fs.read", "mcp.connect:docs", "mcp.call:docs"],
      answers: [
        {
          calls: [
            callOf("read_file", { path: "a.txt" }),
            callOf("docs__read_long"),
            callOf("docs__fail"),
            callOf("docs__gone"),
          ],
        },
        { text: "finished" },
      ],
    });
    await stage.output(...trustAgent);
    await stage.output(...firstTurn);
    const summaries = (await rowsOf(stage)).map(({ summary }) => summary);
    assert.deepEqual(summaries, [
      {
        source: "runtime",
        server: null,
        tool: "read_file",
        risk: "low",
        status: "succeeded",
        preview: "alpha\n",
      },
      {
        ...{ source: "mcp", server: "docs", tool: "read_long", risk: "medium", status: "succeeded" },
        // Never half of a character.
        preview: "x".repeat(499),
      },
      {
        ...{ source: "mcp", server: "docs", tool: "fail", risk: "medium", status: "completed_with_error" },
        preview: "there is none",
      },
      {
        ...{ source: null, server: null, tool: "docs__gone", risk: null, status: "not_found" },
        preview: 'No tool is named "docs__gone": use one of the tools offered',
      },
    ]);
  });
});

Deno.test("invocations as JSON tell how far each call is, its status and its error as records (LC-17, DM-43, DM-45)", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, script);
    await stage.write({ "config/troupe/troupe.yaml": "policy: { tools: { search_files: prompt } }\n" });
    const owner = stage.start("run", "agent", "hi", "--workspace", "ws", "--answer", "wait");
    await owner.until("A question waits");
    const waiting = (await rowsOf(stage)).map((
      { tool, progress, parallelSafe },
    ) => [tool, progress, parallelSafe]);
    assert.deepEqual(waiting, [
      ["list_files", "completed", true],
      ["read_file", "completed", true],
      ["search_files", "queued", true],
    ]);
    const [question] = linesOf(await stage.output("questions", "--json"));
    await stage.output("answer", String(question?.["id"]), "deny");
    assert.equal((await owner.ended).code, 0);
    const rows = await rowsOf(stage);
    assert.deepEqual(rows.map(({ progress, status }) => [progress, status]), [
      ["yielded", "succeeded"],
      ["yielded", "failed"],
      ["yielded", "denied"],
    ]);
    const [, read, search] = rows.map(({ error }) =>
      error as { readonly [key: string]: unknown } | undefined
    );
    assert.equal(rows[0]?.["error"], undefined);
    assert.deepEqual([read?.["code"], read?.["started"]], ["path_not_found", true]);
    assert.equal((read?.["provenance"] as { readonly by: string }).by, "tool");
    assert.deepEqual(search, {
      code: "approval_denied",
      message: search?.["message"],
      started: false,
      provenance: { by: "person" },
    });
  });
});
