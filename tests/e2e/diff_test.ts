/** `troupe diff` in real processes: runs of a store, exports and fixtures. */
import assert from "node:assert/strict";
import { assertRefused, linesOf, onStage, readScript, type Stage, writeAgent } from "./troupe.ts";

async function record(stage: Stage, script: string): Promise<void> {
  await writeAgent(stage, script);
  await stage.output("run", "agent", "hi", "--workspace", "ws");
}

Deno.test("diff of two runs, wherever they are kept, tells what differs field by field, and ends with 1", async () => {
  await onStage(async (stage) => {
    await record(stage, readScript);
    await stage.output("export", "last", "-o", "a.jsonl");
    await stage.output("export", "last", "--fixture", "-o", "fixture");
    await record(stage, readScript);
    const alike = await stage.output("diff", "a.jsonl", "last");
    assert.match(alike, /^A {2}session\/ses_\w+: \d+ entries\nB {2}session\/ses_\w+: \d+ entries\nalike\n$/);
    await stage.output("diff", "./fixture/", "last");
    await record(stage, readScript.replace("a.txt", "b.txt"));
    const [first, , third] = linesOf(await stage.output("sessions", "--json")) as { address: string }[];
    const [a = "", b = ""] = [first?.address, third?.address];
    const ended = await stage.run("diff", a, b);
    assertRefused(
      ended,
      1,
      "sessions_differ",
      /first at entry (\d+) \| \1: outcome of model\.generate turn\/1\/step\/0/,
    );
    assert.match(ended.out, /^ {4}value\.calls\.0\.arguments\.path: "a\.txt" -> "b\.txt"$/m);
    assert.match(
      ended.out,
      /^entry \d+ \| \d+ {2}intent tool\.call turn\/1\/call\/0\.0\n {4}args\.arguments\.path: /m,
    );
    assert.match(ended.out, /^ {4}value\.model: "alpha\\n" -> "beta\\n"$/m);
    const json = await stage.run("diff", "./fixture", b, "--json");
    const { differences, left } = JSON.parse(json.out);
    assert.deepEqual([json.code, left.address], [1, a]);
    assert.deepEqual(differences[0].fields, [
      { path: "value.calls.0.arguments.path", before: "a.txt", after: "b.txt" },
    ]);
    assertRefused(await stage.run("diff", a.replace("session", "catalog"), b), 2, "argument_invalid");
    assertRefused(await stage.run("diff", "gone.jsonl", b), 2, "file_not_found");
    await stage.write({ "a.jsonl": "no export" });
    assertRefused(await stage.run("diff", "a.jsonl", b), 3, "export_invalid");
  });
});
