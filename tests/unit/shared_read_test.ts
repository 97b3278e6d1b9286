/** Reads that several share: none of them gets what was there before it asked. */
import assert from "node:assert/strict";
import { SharedRead } from "../../src/api/shared_read.ts";

Deno.test("those who ask while a read runs share the next one, and each gets what was read after it asked", async () => {
  const gates: PromiseWithResolvers<number>[] = [];
  const read = new SharedRead(() => {
    const gate = Promise.withResolvers<number>();
    gates.push(gate);
    return gate.promise;
  });
  const first = read.get();
  const later = [read.get(), read.get(), read.get()];
  assert.equal(gates.length, 1);
  gates[0]?.resolve(1);
  assert.equal(await first, 1);
  while (gates.length < 2) await Promise.resolve();
  const last = read.get();
  gates[1]?.reject(new Error("gone"));
  for (const one of later) await assert.rejects(one, /gone/);
  while (gates.length < 3) await Promise.resolve();
  gates[2]?.resolve(3);
  assert.equal(await last, 3);
  assert.equal(gates.length, 3);
});
