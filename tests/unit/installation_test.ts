/** What the doctor sees of an installation: each thing that is not well is told, with what to do. */
import assert from "node:assert/strict";
import { type Check, checkClock, checkInstallation, checkProgram } from "../../src/host/installation.ts";
import { createSystemSeams } from "../../src/system_seams.ts";

const { clock } = createSystemSeams({ log: () => {} });

function look(location: string): Promise<readonly Check[]> {
  return checkInstallation({ location, configFile: undefined, clock });
}

function named(checks: readonly Check[], name: string): Check {
  const found = checks.find(({ check }) => check === name);
  assert.ok(found, name);
  return found;
}

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("installation is looked at without a change, and is well here", () =>
  inFolder(async (folder) => {
    const checks = await look(`${folder}/a/b/troupe.db`);
    assert.deepEqual(checks.filter(({ isWell }) => !isWell), []);
    assert.deepEqual(checks.map(({ check }) => check), [
      "program",
      "permissions",
      "kv",
      "configuration",
      "store folder",
      "disk",
      "clock",
    ]);
    assert.match(named(checks, "store folder").message, /a\/b can be written; the first run makes it/);
    assert.deepEqual([...Deno.readDirSync(folder)], []);
  }));

Deno.test("installation whose store has no place is told of", () =>
  inFolder(async (folder) => {
    const gone = named(await look("/proc/1/troupe/troupe.db"), "store folder");
    assert.equal(gone.isWell, false, gone.message);
    assert.match(gone.message, /or name another store with --store/);
    // A remote store has no place here.
    const remote = await look("https://kv.example.com");
    assert.ok(!remote.some(({ check }) => check === "disk" || check === "store folder"));
    assert.equal(named(await look(`${folder}/troupe.db`), "store folder").isWell, true);
  }));

Deno.test("installation needs a Deno that is new enough", () => {
  assert.equal(checkProgram("2.9.6").isWell, true);
  assert.equal(checkProgram("3.0.0").isWell, true);
  const old = checkProgram("2.8.3");
  assert.equal(old.isWell, false);
  assert.equal(checkProgram("2.8.3", true).isWell, true);
  assert.match(old.message, /it needs 2\.9 or newer: deno upgrade/);
});

Deno.test("installation whose clock is behind its files is told of, but not for minutes", () =>
  inFolder(async (folder) => {
    const file = `${folder}/a`;
    await Deno.writeTextFile(file, "");
    const writtenAt = (await Deno.stat(file)).mtime?.getTime() ?? 0;
    const minute = 60_000;
    assert.equal((await checkClock(writtenAt - 4 * minute, [file, `${folder}/gone`])).isWell, true);
    const behind = await checkClock(writtenAt - 6 * minute, [`${folder}/gone`, file]);
    assert.equal(behind.isWell, false);
    assert.match(behind.message, /was written at .*: set the clock/);
  }));
