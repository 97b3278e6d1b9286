/** Pins of a server's tools: what counts as a change, what is approved at sight, and what an approval covers (B91). */
import assert from "node:assert/strict";
import fc from "fast-check";
import { limits } from "../../schemas/limits.ts";
import { PinStore } from "../../src/host/pins.ts";
import { pinTools, reviewTools, type ToolPin } from "../../src/mcp/pinned_tools.ts";
import { digestNow } from "../support/world.ts";

function digest(bytes: Uint8Array): Promise<string> {
  return Promise.resolve(digestNow(bytes));
}

const told = {
  name: "a",
  title: "A",
  description: "Does a",
  inputSchema: {
    type: "object",
    properties: { x: { type: "string" }, y: { type: "number" } },
    required: ["x"],
  },
  outputSchema: { type: "object" },
  annotations: { readOnlyHint: true },
};

async function pinOf(tool: object): Promise<ToolPin> {
  const pin = (await pinTools([tool], new Set(["a"]), digest)).get("a");
  assert.ok(pin);
  return pin;
}

Deno.test("pin of a tool changes with any word of it, and not with the order of keys or what is for screens", async () => {
  const { hash } = await pinOf(told);
  const changes: readonly object[] = [
    { title: "B" },
    { title: undefined },
    { description: "Does a " },
    { description: "Does a\u200b" },
    { inputSchema: { ...told.inputSchema, required: [] } },
    { inputSchema: { ...told.inputSchema, additionalProperties: true } },
    { outputSchema: { type: "array" } },
    { annotations: { readOnlyHint: false } },
    { annotations: { readOnlyHint: 1e400 } },
  ];
  const hashes = await Promise.all(changes.map(async (change) => (await pinOf({ ...told, ...change })).hash));
  assert.equal(new Set([hash, ...hashes]).size, changes.length + 1);
  const { properties: { x, y } } = told.inputSchema;
  const turned = { required: ["x"], properties: { y, x }, type: "object" };
  const same = Object.fromEntries(
    Object.entries({ ...told, inputSchema: turned, icons: [], _meta: {} }).reverse(),
  );
  assert.equal((await pinOf(same)).hash, hash);
  // Of two with one name the first is what is offered.
  assert.equal(
    (await pinTools([told, { ...told, title: "B" }], new Set(["a"]), digest)).get("a")?.hash,
    hash,
  );
});

function listOf(tools: { readonly [name: string]: number }): Map<string, ToolPin> {
  return new Map(
    Object.entries(tools).map(([name, version]) => {
      const hash = digestNow(new TextEncoder().encode(`${name} ${version}`));
      return [name, { hash, told: { version } }];
    }),
  );
}

Deno.test("review lets a tool pass only as it was approved, whatever lists came before", () => {
  const lists = fc.array(
    fc.dictionary(fc.constantFrom("a", "b", "c", "constructor"), fc.integer({ min: 1, max: 3 }), {
      noNullPrototype: true,
    }),
    { minLength: 2, maxLength: 8 },
  );
  fc.assert(fc.property(lists, (all) => {
    let { pins } = reviewTools(undefined, listOf(all[0] ?? {}));
    for (const list of all.slice(1)) {
      const before = pins;
      const review = reviewTools(before, listOf(list));
      ({ pins } = review);
      for (const [name, { hash }] of listOf(list)) {
        const was = Object.hasOwn(before.approved, name) ? before.approved[name] : undefined;
        // What was approved stays what it is; only a stranger may come in, and none where somebody left.
        if (was !== undefined) assert.equal(review.drifted.has(name), was.hash !== hash);
        else if (Object.keys(before.approved).some((one) => !Object.hasOwn(list, one))) {
          assert.ok(review.drifted.has(name));
        }
        if (was !== undefined) assert.deepEqual(pins.approved[name], was);
        assert.equal(Object.hasOwn(pins.waiting, name), review.drifted.has(name));
      }
    }
  }));
});

Deno.test("review takes a server for another one once more than half of what was approved is something else", () => {
  const { pins } = reviewTools(undefined, listOf({ a: 1, b: 1, c: 1, d: 1 }));
  const isAnother = (list: { readonly [name: string]: number }) => reviewTools(pins, listOf(list)).isAnother;
  assert.equal(isAnother({ a: 2, b: 2, c: 1, d: 1 }), false);
  assert.equal(isAnother({ a: 2, b: 2, c: 2, d: 1 }), true);
  // What is gone, or new, is not what was approved and changed.
  assert.equal(isAnother({ a: 2, b: 2 }), false);
  assert.equal(isAnother({ a: 1, e: 1, f: 1, g: 1, h: 1, i: 1 }), false);
  assert.equal(reviewTools(undefined, listOf({ a: 1 })).isAnother, false);
});

Deno.test("review approves no more tools of one server than its limit", () => {
  const full = Object.fromEntries(Array.from({ length: limits.mcpPinsMax }, (_, at) => [`t${at}`, 1]));
  const { pins } = reviewTools(undefined, listOf(full));
  assert.deepEqual([...reviewTools(pins, listOf({ ...full, more: 1 })).drifted], [["more", "crowded"]]);
});

Deno.test("pin store approves a tool only as it was shown, and keeps what another process approved", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const server = { server: "docs", fingerprint: digestNow(new Uint8Array()) };
    const [one, other] = [new PinStore(`${folder}/pins`), new PinStore(`${folder}/pins`)];
    await one.review(server, listOf({ a: 1, b: 1 }));
    assert.deepEqual(
      await other.review(server, listOf({ a: 2, b: 2 })),
      { drifted: new Map([["a", "changed"], ["b", "changed"]]), isAnother: true },
    );
    const shown = (await one.read(server.fingerprint))?.waiting ?? {};
    // Between the look and the yes, the server says something else once more.
    await other.review(server, listOf({ a: 3, b: 2 }));
    assert.equal(await one.approve(server.fingerprint, shown), 1);
    assert.deepEqual(await other.review(server, listOf({ a: 3, b: 2 })), {
      drifted: new Map([["a", "changed"]]),
      isAnother: false,
    });
    const { mode } = await Deno.stat(`${folder}/pins/${server.fingerprint.replace(":", "-")}.json`);
    assert.equal((mode ?? 0) & 0o077, 0);
    await one.remove(server.fingerprint);
    assert.deepEqual(await other.review(server, listOf({ a: 4 })), { drifted: new Map(), isAnother: false });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("pin store without a place keeps pins as long as it lives", async () => {
  const store = new PinStore(undefined);
  const server = { server: "docs", fingerprint: digestNow(new Uint8Array()) };
  await store.review(server, listOf({ a: 1 }));
  assert.deepEqual(await store.review(server, listOf({ a: 2 })), {
    drifted: new Map([["a", "changed"]]),
    isAnother: true,
  });
});
