/** `troupe invocations`: every tool call of a session, for people and for programs, while it runs and after it. */
import assert from "node:assert/strict";
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
