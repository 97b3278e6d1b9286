/** Whether sealed catalogs are found by their hash, whole and unchangeable. */
import assert from "node:assert/strict";
import {
  catalogOf,
  entryNamed,
  entryOf,
  holdCatalog,
  internCatalog,
  releaseCatalog,
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
  holdCatalog(hash("e"));
  holdCatalog(hash("e"));
  churn(0);
  assert.notEqual(catalogOf(hash("e")), undefined);
  releaseCatalog(hash("e"));
  churn(2_000);
  assert.notEqual(catalogOf(hash("e")), undefined, "one hold is left");
  releaseCatalog(hash("e"));
  churn(4_000);
  assert.equal(catalogOf(hash("e")), undefined);
});
