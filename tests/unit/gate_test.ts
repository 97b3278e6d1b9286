/** Whether only so many pieces of work run at once, in order, and none that nobody wants any more. */
import assert from "node:assert/strict";
import { Gate } from "../../src/mcp/gate.ts";
import { createWorld } from "../support/world.ts";

const world = createWorld();

/** Work that ends when it is told to, and says when it has begun. */
function workIn(begun: string[]) {
  const ends = new Map<string, PromiseWithResolvers<string>>();
  return {
    work: (name: string) => () => {
      begun.push(name);
      const end = Promise.withResolvers<string>();
      ends.set(name, end);
      return end.promise;
    },
    end: async (name: string) => {
      ends.get(name)?.resolve(name);
      await world.settle();
    },
    breakOff: async (name: string) => {
      ends.get(name)?.reject(new Error("It broke"));
      await world.settle();
    },
  };
}

Deno.test("gate lets as much work run as it has places, and the rest in order as places become free", async () => {
  const gate = new Gate(2);
  const begun: string[] = [];
  const { work, end } = workIn(begun);
  const passed = ["a", "b", "c", "d"].map((name) => gate.pass(work(name)));
  await world.settle();
  assert.deepEqual(begun, ["a", "b"]);
  await end("b");
  assert.deepEqual(begun, ["a", "b", "c"]);
  await end("a");
  for (const name of ["c", "d"]) await end(name);
  assert.deepEqual(await Promise.all(passed), ["a", "b", "c", "d"]);
  // Every place is free again.
  const again = ["e", "f", "g"].map((name) => gate.pass(work(name)));
  await world.settle();
  assert.deepEqual(begun.slice(4), ["e", "f"]);
  for (const name of ["e", "f", "g"]) await end(name);
  await Promise.all(again);
});

Deno.test("gate gives a place on when the work in it breaks off, and passes the error on", async () => {
  const gate = new Gate(1);
  const begun: string[] = [];
  const { work, end, breakOff } = workIn(begun);
  const broken = gate.pass(work("a"));
  const next = gate.pass(work("b"));
  const refused = assert.rejects(broken, /It broke/);
  await breakOff("a");
  await refused;
  assert.deepEqual(begun, ["a", "b"]);
  await end("b");
  assert.equal(await next, "b");
});

Deno.test("gate forgets who gives up waiting, wherever in the row, and never begins that work", async () => {
  const gate = new Gate(1);
  const begun: string[] = [];
  const { work, end } = workIn(begun);
  const first = gate.pass(work("a"));
  const stops = ["b", "c", "d"].map((name) => {
    const abort = new AbortController();
    return { abort, passed: gate.passUnless(abort.signal, work(name)) };
  });
  stops[1]?.abort.abort();
  assert.equal(await stops[1]?.passed, undefined);
  await end("a");
  assert.deepEqual([await first, begun], ["a", ["a", "b"]]);
  // Who has a place is not touched by the gate; the work minds its own signal.
  stops[0]?.abort.abort();
  stops[2]?.abort.abort();
  assert.equal(await stops[2]?.passed, undefined);
  await end("b");
  assert.equal(await stops[0]?.passed, "b");
  const last = gate.pass(work("e"));
  await end("e");
  assert.deepEqual([await last, begun], ["e", ["a", "b", "e"]]);
});

// A place is handed over: whoever comes at that very moment stands behind those who wait.
Deno.test("gate keeps its row when somebody comes while a place changes hands", async () => {
  const gate = new Gate(1);
  const begun: string[] = [];
  const { work, end } = workIn(begun);
  const passed = [gate.pass(work("a")), gate.passUnless(new AbortController().signal, work("b"))];
  const ending = end("a");
  passed.push(gate.pass(work("c")));
  await ending;
  assert.deepEqual(begun, ["a", "b"]);
  for (const name of ["b", "c"]) await end(name);
  assert.deepEqual(await Promise.all(passed), ["a", "b", "c"]);
});

Deno.test("gate lets nobody in who gave up before, and takes no place for it", async () => {
  const gate = new Gate(1);
  const begun: string[] = [];
  const { work, end } = workIn(begun);
  assert.equal(await gate.passUnless(AbortSignal.abort(), work("a")), undefined);
  const next = gate.pass(work("b"));
  await end("b");
  assert.deepEqual([await next, begun], ["b", ["b"]]);
});
