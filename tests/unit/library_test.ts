/** Whether sealed catalogs and offers of servers are found by their hash, whole and unchangeable. */
import assert from "node:assert/strict";
import {
  catalogOf,
  emptyLibrary,
  entryNamed,
  entryOf,
  holdHash,
  internCatalog,
  internOffer,
  isInterned,
  offerOf,
  releaseHash,
} from "../../actors/library.ts";
import { resolveCatalog } from "../../actors/resolve.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import type { CatalogSource, ResolvedCatalog } from "../../schemas/catalog.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { Json } from "../../schemas/json.ts";
import { sourceOf, toolOf } from "../support/desk.ts";

function hash(letter: string): string {
  return `sha256:${letter.repeat(64)}`;
}

function catalogFrom(...sources: readonly CatalogSource[]): ResolvedCatalog {
  const agent = AgentDefinition.parse({ name: "clerk", model: "scripted/script.yaml" });
  const resolution = resolveCatalog({
    coreRevision: "core-1",
    agent,
    policy: HostPolicy.parse({}),
    sources,
    epoch: 1,
  });
  assert.ok("catalog" in resolution);
  return resolution.catalog;
}

const docs = sourceOf("mcp", [toolOf("search")]);

// Proves DM-6, DM-8, DM-13: names lead to the very entry of one catalog, or to none.
Deno.test("catalog library gives the very entry of a sealed catalog, and none for an unknown name", () => {
  const catalog = catalogFrom(docs);
  const kept = internCatalog(hash("a"), catalog);
  const entry = entryOf({ catalog: hash("a"), name: "mcp.docs.search" });
  assert.equal(entry, kept.entries[0]);
  assert.equal(entryNamed(hash("a"), "docs__search"), entry);
  for (const name of ["docs__serch", "mcp.docs.search", "__proto__", ""]) {
    assert.equal(entryNamed(hash("a"), name), undefined, name);
  }
  assert.equal(entryOf({ catalog: hash("b"), name: "mcp.docs.search" }), undefined);
  assert.equal(internCatalog(hash("a"), { ...catalog }), kept);
});

// Proves DM-5, DM-7: immutable, deeply.
Deno.test("catalog library freezes what it keeps", () => {
  const kept = internCatalog(hash("c"), catalogFrom(docs));
  const schema = kept.entries[0]?.definition.inputSchema as Record<string, Json>;
  assert.throws(() => schema["type"] = "string", TypeError);
  assert.throws(() => kept.entries.pop(), TypeError);
});

Deno.test("catalog library is bounded and lets the oldest go", () => {
  const empty = catalogFrom();
  const numbered = (index: number) => `sha256:${index.toString(16).padStart(64, "0")}`;
  for (let index = 0; index <= 1_024; index++) internCatalog(numbered(index), empty);
  assert.equal(catalogOf(numbered(0)), undefined);
  assert.notEqual(catalogOf(numbered(1_024)), undefined);
});

// I12 bounds what nobody holds; a catalog that an awake root knows must stay, or its turns would lose their tools.
Deno.test("catalog library keeps what is held, as often as it is held", () => {
  const empty = catalogFrom();
  const numbered = (index: number) => `sha256:${index.toString(16).padStart(64, "1")}`;
  const churn = (from: number) => {
    for (let index = from; index < from + 1_100; index++) internCatalog(numbered(index), empty);
  };
  internCatalog(hash("e"), empty);
  holdHash(hash("e"));
  holdHash(hash("e"));
  churn(0);
  assert.notEqual(catalogOf(hash("e")), undefined);
  releaseHash(hash("e"));
  churn(2_000);
  assert.notEqual(catalogOf(hash("e")), undefined, "one hold is left");
  releaseHash(hash("e"));
  churn(4_000);
  assert.equal(catalogOf(hash("e")), undefined);
});

Deno.test("library gives the very offer of a server by its hash, frozen, and the first one for good", () => {
  assert.deepEqual([isInterned(hash("9")), offerOf(hash("9"))], [false, undefined]);
  const offer = sourceOf("mcp", [toolOf("search")]);
  const kept = internOffer(hash("9"), offer);
  assert.equal(offerOf(hash("9")), kept);
  assert.equal(internOffer(hash("9"), { ...offer, tools: [] }), kept);
  assert.throws(() => kept.tools.pop(), TypeError);
  const schema = kept.tools[0]?.inputSchema as Record<string, Json>;
  assert.throws(() => schema["type"] = "string", TypeError);
  assert.ok(isInterned(hash("9")));
});

// A hash of the one kind is none of the other: a catalog is never taken for an offer.
Deno.test("library keeps offers and catalogs apart", () => {
  internOffer(hash("8"), docs);
  internCatalog(hash("7"), catalogFrom(docs));
  assert.deepEqual([catalogOf(hash("8")), offerOf(hash("7"))], [undefined, undefined]);
  assert.equal(entryOf({ catalog: hash("8"), name: "mcp.docs.search" }), undefined);
  assert.deepEqual([isInterned(hash("8")), isInterned(hash("7"))], [true, true]);
});

// I12, for offers: a catalog that is awake may resolve them again at any renewal.
Deno.test("library is bounded for offers too, lets the oldest go, and keeps what is held", () => {
  const numbered = (index: number) => `sha256:${(0xf000 + index).toString(16).padStart(64, "2")}`;
  const held = numbered(0);
  internOffer(held, docs);
  internCatalog(hash("6"), catalogFrom());
  holdHash(held);
  for (let index = 1; index <= 1_100; index++) internOffer(numbered(index), docs);
  assert.notEqual(offerOf(held), undefined);
  assert.deepEqual([offerOf(numbered(1)), isInterned(numbered(1))], [undefined, false]);
  assert.notEqual(offerOf(numbered(1_100)), undefined);
  assert.notEqual(catalogOf(hash("6")), undefined, "offers take no catalog's place");
  releaseHash(held);
  internOffer(numbered(1_101), docs);
  assert.equal(offerOf(held), undefined);
});

Deno.test("catalog library knows nothing once it was emptied, and holds nothing from before", () => {
  internCatalog(hash("d"), catalogFrom(docs));
  internOffer(hash("e"), docs);
  holdHash(hash("d"));
  emptyLibrary();
  assert.deepEqual([isInterned(hash("d")), isInterned(hash("e"))], [false, false]);
  for (let index = 0; index < 1_100; index++) {
    internCatalog(index === 0 ? hash("d") : `sha256:${index}`, catalogFrom());
  }
  assert.equal(isInterned(hash("d")), false);
});
