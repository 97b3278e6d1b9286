import { strict as assert } from "node:assert";
import { catalogOf, entryNamed, refOf } from "../../actors/library.ts";
import type { CatalogEntry, CatalogRef } from "../../schemas/catalog.ts";
import { canonicalBytes } from "../../src/canonical.ts";
import { createCatalogSeal, sealEntries } from "../../src/effects/catalog_seal.ts";
import { toolOf } from "../support/desk.ts";
import { catalogWith, entryFor } from "../support/tools.ts";
import { createWorld } from "../support/world.ts";

const { digest } = createWorld(1).seams;

async function hashesOf(entries: readonly CatalogEntry[], epoch = 1): Promise<readonly unknown[]> {
  return (await sealEntries({ ...catalogWith(...entries), epoch }, digest)).entries.map(({ hash }) => hash);
}

Deno.test("catalog_seal gives every entry the hash of what it says, the same in every catalog", async () => {
  const [look, send] = [entryFor(toolOf("look")), entryFor(toolOf("send"))];
  const [first, second] = await hashesOf([look, send]);
  assert.equal(first, await digest(canonicalBytes(look as never)));
  assert.notEqual(first, second);
  assert.deepEqual(await hashesOf([send, look], 2), [second, first]);
  const spaced = entryFor(toolOf("look", { description: `${look.definition.description} ` }));
  assert.notEqual((await hashesOf([spaced]))[0], first);
  // Sealing what is sealed already changes nothing.
  assert.deepEqual(await hashesOf([{ ...look, hash: `sha256:${"0".repeat(64)}` }]), [first]);
});

Deno.test("catalog_seal puts entries with their hashes where turns find them", async () => {
  const seal = createCatalogSeal({ digest, putBlob: () => {} });
  const done = await seal({ request: { args: { catalog: catalogWith(entryFor(toolOf("look"))) } } } as never);
  const { hash } = (done as { readonly value: unknown }).value as CatalogRef;
  const entry = entryNamed(hash, "look");
  assert.ok(entry?.hash !== undefined && catalogOf(hash) !== undefined);
  assert.deepEqual(refOf(hash, entry), { catalog: hash, name: "look", hash: entry.hash });
});

Deno.test("catalog_seal refuses a catalog with an entry of another revision of the agent (DM-9)", async () => {
  const kept: unknown[] = [];
  const seal = createCatalogSeal({ digest, putBlob: (blob) => kept.push(blob) });
  const foreign = { ...entryFor(toolOf("send")), coreRevision: "core-2" };
  const catalog = catalogWith(entryFor(toolOf("look")), foreign);
  const ended = await seal({ request: { args: { catalog } } } as never);
  assert.equal(ended.status === "failed" && ended.failure.code, "catalog_mismatch");
  assert.match(ended.status === "failed" ? ended.failure.message : "", /"send" .*"core-2".*"core-1"/);
  assert.deepEqual(kept, []);
});

Deno.test("catalog_seal hashes no entry again that it has hashed before", async () => {
  let digests = 0;
  const counting = (bytes: Uint8Array) => {
    digests++;
    return digest(bytes);
  };
  const entries = ["one", "two", "three"].map((name) => entryFor(toolOf(`counted_${name}`)));
  const first = await sealEntries(catalogWith(...entries), counting);
  assert.equal(digests, 3);
  const changed = { ...entries[1]!, provenance: { ...entries[1]!.provenance, origin: "elsewhere" } };
  const second = await sealEntries({ ...catalogWith(...entries.with(1, changed)), epoch: 2 }, counting);
  assert.equal(digests, 4);
  const hashes = ({ entries }: typeof first) => entries.map(({ hash }) => hash);
  assert.deepEqual([hashes(second)[0], hashes(second)[2]], [hashes(first)[0], hashes(first)[2]]);
  assert.equal(hashes(second)[1], await digest(canonicalBytes(changed as never)));
});
