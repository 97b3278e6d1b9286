/**
 * Golden journals: what releases of this project once wrote, kept for ever, one folder for each format of entries.
 *
 * What one proves. Every release replays all of them, whoever wrote them: each message is given to the machines of this
 * release, and all that they ask, post and note must be what was recorded, entry by entry. Where the machines are the
 * very ones that recorded it, their states must have the recorded hashes too. After any change of `actors/` or
 * `schemas/` the hash of the code is another (K21); then states are not compared, since other machines may keep them
 * otherwise, and `troupe verify` says so: "recorded by other code".
 *
 * What to do when one diverges: somebody's machine decides otherwise than it did.
 * - That was not intended: the change is wrong.
 * - It was: roots move to new code at rest, over a checkpoint, and older stretches are then checked by their chain only
 *   (K21). No stored session breaks, but sessions that are not at rest need the release before once. Say so by a line in
 *   `decidedOtherwise`, with the reason, and record the run anew under another name in `scenarios.ts`.
 * - The entries themselves, or stored states, have another form: that is a new version, with an upcaster
 *   (`src/journal/upcast.ts`, `actors/migrate.ts`), and a new folder here.
 *
 * No release was made so far. Until the first one a golden journal may be taken away and recorded anew by
 * `deno task golden`, which writes what is missing and never replaces what is there. From then on none is.
 */
import assert from "node:assert/strict";
import { type Entry, EntryKind, entryVersion } from "../../schemas/entry.ts";
import { readFixture } from "../../src/fixture/read_fixture.ts";
import { replayFolder } from "../../src/fixture/replay_fixture.ts";
import { digestOf } from "../support/fixtures.ts";
import { GoldenExistsError, goldenFolder, recordGolden } from "./record.ts";
import { scenarios } from "./scenarios.ts";

/** Golden journals that this release would decide otherwise: `<format>/<name> <address>`, and why. */
const decidedOtherwise: { readonly [place: string]: string } = {};

const bytesMax = 400_000;

function foldersOf(folder: string): readonly string[] {
  return [...Deno.readDirSync(folder)].filter(({ isDirectory }) => isDirectory).map(({ name }) => name)
    .sort();
}

const golden = foldersOf(import.meta.dirname ?? "")
  .flatMap((format) => foldersOf(`${import.meta.dirname}/${format}`).map((name) => `${format}/${name}`));

for (const name of golden) {
  Deno.test(`golden journal ${name} asks today what it asked when it was recorded (K21)`, async () => {
    const { roots } = await replayFolder(`${import.meta.dirname}/${name}`, digestOf);
    assert.ok(roots.length > 0);
    for (const { report, differences } of roots) {
      const place = `${name} ${report.address}`;
      const isExpected = Object.hasOwn(decidedOtherwise, place);
      assert.equal(report.divergence !== undefined, isExpected, `${place}: ${JSON.stringify(differences)}`);
      if (!isExpected) assert.equal(report.skipped, 0, place);
    }
  });
}

Deno.test("golden journals meet every kind of entry, and between them what can go wrong", async () => {
  const entries: Entry[] = [];
  for (const name of golden) {
    const fixture = await readFixture(`${import.meta.dirname}/${name}`, digestOf);
    for (const root of fixture.roots) entries.push(...root.entries);
  }
  const kinds = new Set(entries.map(({ kind }) => kind));
  assert.deepEqual(EntryKind.options.filter((kind) => !kinds.has(kind)), []);
  const met = new Set(entries.map(({ kind, type }) => `${kind} ${type}`));
  const wanted = [
    "intent model.generate",
    "intent tool.call",
    "intent mcp.connect",
    "intent mcp.list",
    "intent mcp.call",
    "intent question.ask",
    "intent task.run",
    "intent timer.set",
    "intent schedule.next",
    "intent agent.open",
    "intent catalog.seal",
    "note budget.reserved",
    "note invocation.retried",
    "note model.retried",
    "note approval.decided",
    "note dropped",
    "note session.forked",
    "input task.ended",
  ];
  assert.deepEqual(wanted.filter((one) => !met.has(one)), []);
  const statuses = new Set(entries.map(({ body }) => (body as { status?: unknown } | undefined)?.status));
  assert.deepEqual(["ok", "failed", "unknown", "canceled"].filter((status) => !statuses.has(status)), []);
  assert.match(JSON.stringify(entries), /DOCS_KEY|redacted/);
});

Deno.test("golden journals are small, of formats that are known, and recorded from every run", async () => {
  assert.deepEqual([...new Set(golden.map((name) => name.split("/")[0]))], [`v${entryVersion}`]);
  const names = golden.map((name) => name.split("/")[1]);
  assert.deepEqual(Object.keys(scenarios).filter((name) => !names.includes(name)), []);
  let bytes = 0;
  async function measure(folder: string): Promise<void> {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (isDirectory) await measure(`${folder}/${name}`);
      else bytes += (await Deno.stat(`${folder}/${name}`)).size;
    }
  }
  for (const name of golden) await measure(`${import.meta.dirname}/${name}`);
  assert.ok(bytes < bytesMax, `${bytes} bytes`);
});

Deno.test("golden journal that is there is never recorded again, and each run can be recorded today", async () => {
  const folder = `${goldenFolder(entryVersion)}/redaction`;
  const before = await Deno.readTextFile(`${folder}/manifest.json`);
  const run = await scenarios["redaction"]!();
  await assert.rejects(recordGolden(run, folder), GoldenExistsError);
  assert.equal(await Deno.readTextFile(`${folder}/manifest.json`), before);
  const elsewhere = await Deno.makeTempDir();
  try {
    await recordGolden(run, `${elsewhere}/new`);
    const { roots } = await replayFolder(`${elsewhere}/new`, digestOf);
    assert.deepEqual(roots.map(({ report }) => report.divergence), roots.map(() => undefined));
  } finally {
    await Deno.remove(elsewhere, { recursive: true });
  }
});
