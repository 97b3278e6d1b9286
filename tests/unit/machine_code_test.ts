/** The hash by which stored roots know the code that wrote them. */
import assert from "node:assert/strict";
import { computeMachineCode, machineCodeFile } from "../../.house/machine_code.ts";
import { machineCode } from "../../src/machine_code.ts";

const root = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");

// Proves K21: a root written by other code is recognised, because the hash covers every byte of actors and schemas.
Deno.test("machine code is the hash of actors, schemas and XState as they are", async () => {
  assert.equal(machineCode, await computeMachineCode(root), "run: deno task code");
});

Deno.test("machine code changes with one byte of a machine", async () => {
  const copy = await Deno.makeTempDir({ prefix: "troupe-" });
  try {
    for (const folder of ["actors", "schemas"]) await Deno.mkdir(`${copy}/${folder}`);
    await Deno.writeTextFile(`${copy}/deno.json`, '{"imports":{"xstate":"npm:xstate@1","zod":"npm:zod@1"}}');
    await Deno.writeTextFile(`${copy}/actors/turn.ts`, "a");
    const before = await computeMachineCode(copy);
    assert.equal(await computeMachineCode(copy), before);
    await Deno.writeTextFile(`${copy}/actors/turn.ts`, "b");
    assert.notEqual(await computeMachineCode(copy), before);
    await Deno.rename(`${copy}/actors/turn.ts`, `${copy}/actors/session.ts`);
    assert.notEqual(await computeMachineCode(copy), before);
    assert.match(machineCodeFile(before), new RegExp(before));
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
});
