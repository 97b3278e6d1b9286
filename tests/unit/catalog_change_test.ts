/** What the journal says of tools that came, went and changed between two catalogs. */
import assert from "node:assert/strict";
import { changeBetween, changeNote } from "../../actors/catalog_change.ts";
import { sealEntries } from "../../src/effects/catalog_seal.ts";
import type { CatalogEntry, ResolvedCatalog } from "../../schemas/catalog.ts";
import { noteText } from "../../src/cli/note_text.ts";
import { toolOf } from "../support/desk.ts";
import { catalogWith, entryFor } from "../support/tools.ts";
import { createWorld } from "../support/world.ts";

const { digest } = createWorld(1).seams;

function sealed(...entries: readonly CatalogEntry[]): Promise<ResolvedCatalog> {
  return sealEntries(catalogWith(...entries), digest);
}

const look = entryFor(toolOf("look"));

Deno.test("catalog note names what was added, removed and changed, with both hashes (AR-14)", async () => {
  const before = await sealed(look, entryFor(toolOf("gone")), entryFor(toolOf("send")));
  const send = entryFor(toolOf("send", { riskLevel: "high" }));
  const after = await sealed(look, entryFor(toolOf("fresh")), send);
  const hashIn = (catalog: ResolvedCatalog, name: string) =>
    catalog.entries.find(({ canonicalName }) => canonicalName === name)?.hash;
  assert.deepEqual(changeNote(2, before, after), {
    kind: "note",
    type: "catalog.changed",
    body: {
      epoch: 2,
      counts: { added: 1, removed: 1, changed: 1 },
      added: [{ name: "fresh", hash: hashIn(after, "fresh") }],
      removed: [{ name: "gone", hash: hashIn(before, "gone") }],
      changed: [{ name: "send", from: hashIn(before, "send"), to: hashIn(after, "send") }],
    },
  });
  assert.equal(changeNote(3, after, await sealed(...after.entries)), undefined);
  const text = noteText(
    "catalog.changed",
    changeNote(2, before, after)?.kind === "note" ? changeNoteBody(before, after) : {},
  );
  assert.match(
    text ?? "",
    /^epoch 2: 1 added \(fresh\), 1 removed \(gone\), 1 changed \(send [0-9a-f]{8} to [0-9a-f]{8}\)$/,
  );
});

function changeNoteBody(before: ResolvedCatalog, after: ResolvedCatalog): unknown {
  const note = changeNote(2, before, after);
  return note?.kind === "note" ? note.body : undefined;
}

Deno.test("catalog note of hundreds of tools counts all and names some (AR-14)", async () => {
  const many = await sealed(...Array.from({ length: 300 }, (_, at) => entryFor(toolOf(`t${at}`))));
  const { counts, added } = (changeNoteBody(catalogWith(), many) ?? {}) as {
    readonly counts: unknown;
    readonly added: readonly unknown[];
  };
  assert.deepEqual([counts, added.length], [{ added: 300, removed: 0, changed: 0 }, 100]);
});

Deno.test("entry whose schema, risk or description changed by one space has another hash, so what was approved for it is not approved any more (AR-15, B91)", async () => {
  const docs = toolOf("search", {
    description: "Searches",
    inputSchema: { type: "object", properties: { a: { type: "string" }, b: {} } },
  });
  const changes = [
    { description: "Searches " },
    { inputSchema: { type: "object", properties: { a: {}, b: {} } } },
    { riskLevel: "medium" as const },
    { sideEffects: true },
  ];
  const before = await sealed(entryFor(docs));
  for (const change of changes) {
    const after = await sealed(entryFor({ ...docs, ...change }));
    assert.deepEqual(
      changeBetween(before, after).changed.map(({ name }) => name),
      ["search"],
      JSON.stringify(change),
    );
  }
  // The order of keys says nothing.
  const turned = entryFor({
    ...docs,
    inputSchema: { properties: { b: {}, a: { type: "string" } }, type: "object" },
  });
  assert.deepEqual(changeBetween(before, await sealed(turned)).changed, []);
});
