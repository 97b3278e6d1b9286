/** The built-in tools are in the store once: catalogs name them, and nothing is lost where the name leads nowhere. */
import assert from "node:assert/strict";
import { allSources } from "../../actors/catalog_rules.ts";
import { emptyLibrary } from "../../actors/library.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { examine } from "../../src/journal/doctor.ts";
import { keys } from "../../src/journal/keys.ts";
import { wake } from "../../src/kernel/wake.ts";
import { builtinSources } from "../../src/tools/builtin.ts";
import { type ApiStage, openApiStage } from "../support/api_stage.ts";
import { digest } from "../support/units.ts";

const options = { answers: [{ text: "One" }, { text: "Two" }], tools_of_agent: ["todo"] };

function catalogOf(address: RootAddress): RootAddress {
  return address.replace(/^session/, "catalog");
}

async function spawned({ client, run }: ApiStage): Promise<RootAddress> {
  return (await run(client().spawn({ agent: "tester" }))).address;
}

async function outcomeOf({ client, run }: ApiStage, address: RootAddress): Promise<string> {
  const answer = await run(client().ask({ address, text: "Go" }));
  return answer.state === "ended" ? answer.outcome : answer.state;
}

async function inputOf(stage: ApiStage, address: RootAddress) {
  const [first] = await stage.entries(catalogOf(address));
  return (first?.body as unknown as { input: { sources: readonly unknown[]; shared: string } }).input;
}

Deno.test("catalogs name the built-in tools instead of holding them, and a later process finds them", async () => {
  const stage = await openApiStage(options);
  const [one, two] = [await spawned(stage), await spawned(stage)];
  const { sources, shared } = await inputOf(stage, one);
  assert.deepEqual([sources, (await inputOf(stage, two)).shared], [[], shared]);
  const bytes = await stage.run(stage.runtime.journal.readBlob(shared));
  assert.deepEqual(JSON.parse(new TextDecoder().decode(bytes)), JSON.parse(JSON.stringify(builtinSources)));
  assert.equal(await outcomeOf(stage, one), "completed");
  stage.crash();
  emptyLibrary();
  const later = await openApiStage({ ...options, disk: stage.disk, world: stage.world });
  assert.equal(await outcomeOf(later, two), "completed");
  assert.equal((await later.replay(catalogOf(one), { strict: true })).divergence, undefined);
});

Deno.test("a lost blob of the built-in tools is told by the doctor, stops nobody, and comes back with the next birth", async () => {
  const stage = await openApiStage(options);
  const address = await spawned(stage);
  const { shared } = await inputOf(stage, address);
  stage.crash();
  emptyLibrary();
  stage.disk.damage(keys.blob(shared), () => undefined);
  // So that the catalog is made again from its entries.
  stage.disk.damage(keys.snapshot(catalogOf(address)), () => undefined);
  const { findings } = await examine(stage.disk.open(), digest);
  const [found] = findings.filter(({ root }) => root === catalogOf(address));
  assert.deepEqual([found?.code, found?.message.includes(shared)], ["blob_damaged", true]);
  const later = await openApiStage({ ...options, disk: stage.disk, world: stage.world });
  assert.equal(await outcomeOf(later, address), "completed");
  wake(later.runtime.kernel, catalogOf(address));
  for (let turns = 0; turns < 100; turns++) await later.world.settle();
  assert.equal(later.runtime.kernel.roots.get(catalogOf(address))?.rests, true);
  await spawned(later);
  later.crash();
  assert.deepEqual((await examine(later.disk.open(), digest)).findings, []);
});

Deno.test("a catalog is never resolved without the sources that it names", () => {
  const shared = `sha256:${"f".repeat(64)}`;
  assert.throws(() => allSources({ sources: [], offers: [], shared }), /the blob sha256:f+ is not there/);
  assert.deepEqual(allSources({ sources: builtinSources, offers: [] }), builtinSources);
});
