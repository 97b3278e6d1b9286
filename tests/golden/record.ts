/**
 * Records golden journals of the format that this release writes: those that are not there yet. What is there is never
 * written again: a golden journal is what a release once wrote. `deno task golden`.
 */
import { entryVersion } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Records } from "../../src/host/host.ts";
import { composeFixture } from "../../src/fixture/compose_fixture.ts";
import { writeFixture } from "../../src/fixture/write_fixture.ts";
import { digestOf } from "../support/fixtures.ts";
import { settled } from "../support/stage.ts";
import { type Recorded, scenarios } from "./scenarios.ts";
import { recordServers } from "./servers.ts";

/** The folder of a format's golden journals. */
export function goldenFolder(version: number): string {
  return `${import.meta.dirname}/v${version}`;
}

/** A golden journal that is there already. */
export class GoldenExistsError extends Error {
  override readonly name = "GoldenExistsError";
  readonly code = "golden_exists";
}

/** Records one run into a folder of its own. Throws {@linkcode GoldenExistsError} if it is there. */
export async function recordGolden({ stage, session }: Recorded, folder: string): Promise<void> {
  await refuseExisting(folder);
  const { journal, kernel } = stage.runtime;
  const records: Pick<Records, "listRoots" | "readPages" | "readBlob"> = {
    listRoots: () => Promise.resolve([...kernel.records.values()]),
    readPages: (address: RootAddress) => journal.readPages(address),
    readBlob: (hash: string) => journal.readBlob(hash),
  };
  const request = { records, session, digest: digestOf, places: [], keepsPaths: false };
  await writeFixture(await settled(stage.world, composeFixture(request)), { path: folder, force: false });
}

/** Refuses a folder that exists, whatever is in it. */
export async function refuseExisting(folder: string): Promise<void> {
  const found = await Deno.stat(folder).then(() => true, () => false);
  if (found) throw new GoldenExistsError(`The golden journal "${folder}" exists: it is never written again`);
}

async function record(name: string, make: (folder: string) => Promise<void>): Promise<void> {
  const folder = `${goldenFolder(entryVersion)}/${name}`;
  try {
    await refuseExisting(folder);
    await make(folder);
    console.log(`${name}: recorded`);
  } catch (error) {
    if (!(error instanceof GoldenExistsError)) throw error;
    console.log(`${name}: is there, and stays as it is`);
  }
}

if (import.meta.main) {
  for (const [name, run] of Object.entries(scenarios)) {
    await record(name, async (folder) => await recordGolden(await run(), folder));
  }
  await record("servers", recordServers);
}
