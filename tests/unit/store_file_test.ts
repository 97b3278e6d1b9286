/** The store's file: kept from others, and never made of something that is not ours (B132, B133). */
import assert from "node:assert/strict";
import { openKvStore } from "../../src/journal/kv_store.ts";
import { checkFileSystem } from "../../src/journal/store_file.ts";
import type { LogEvent } from "../../src/seams.ts";

function inFolder(prove: (folder: string) => Promise<void>): () => Promise<void> {
  return async () => {
    const folder = await Deno.makeTempDir();
    try {
      await prove(folder);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  };
}

async function modeOf(path: string): Promise<string> {
  return (((await Deno.stat(path)).mode ?? 0) & 0o777).toString(8);
}

async function makeStore(path: string): Promise<void> {
  const store = await openKvStore(path);
  await store.commit({ checks: [], sets: [{ key: ["k"], value: 1 }], deletes: [] });
  store.close();
}

const unusable = { code: "store_unusable" };

Deno.test(
  "store file is made with its folders, for its owner only",
  inFolder(async (folder) => {
    const path = `${folder}/deep/er/store.db`;
    const store = await openKvStore(path);
    await store.commit({ checks: [], sets: [{ key: ["k"], value: 1 }], deletes: [] });
    for (const name of [path, `${path}-wal`, `${path}-shm`]) assert.equal(await modeOf(name), "600");
    assert.equal(await modeOf(`${folder}/deep`), "700");
    store.close();
  }),
);

Deno.test(
  "store file that others can read is closed to them, with a warning (B132)",
  inFolder(async (folder) => {
    const path = `${folder}/store.db`;
    await makeStore(path);
    await Deno.chmod(path, 0o644);
    const logs: LogEvent[] = [];
    (await openKvStore(path, { log: (event) => void logs.push(event) })).close();
    assert.equal(await modeOf(path), "600");
    assert.deepEqual(logs.map(({ level, event }) => [level, event]), [["warning", "store.closed_to_others"]]);
    (await openKvStore(path, { log: (event) => void logs.push(event) })).close();
    assert.equal(logs.length, 1);
  }),
);

Deno.test({
  name: "store file of another user is refused (B132)",
  // Only root can give a file away.
  ignore: Deno.build.os === "windows" || Deno.uid() !== 0,
  fn: inFolder(async (folder) => {
    const path = `${folder}/store.db`;
    await makeStore(path);
    await Deno.chown(path, 12_345, null);
    await assert.rejects(openKvStore(path), (error: Error) => /another user/.test(error.message));
  }),
});

Deno.test("store file on a network file system is refused unless forced (B132)", () => {
  const mounts = [
    "22 1 8:1 / / rw - ext4 /dev/root rw",
    "30 22 0:40 / /mnt/team\\040files rw - nfs4 server:/x rw",
    "31 30 0:41 / /mnt/team\\040files/local rw - xfs /dev/b rw",
    "32 22 0:42 / /home/me/remote rw - fuse.sshfs me@host: rw",
  ].join("\n");
  checkFileSystem("/home/me/store.db", mounts, false);
  checkFileSystem("/mnt/team files/local/store.db", mounts, false);
  checkFileSystem("/mnt/team files2/store.db", mounts, false);
  checkFileSystem("/home/me/store.db", "", false);
  for (const path of ["/mnt/team files/store.db", "/home/me/remote/a/store.db"]) {
    assert.throws(() => checkFileSystem(path, mounts, false), unusable);
    checkFileSystem(path, mounts, true);
  }
});

Deno.test(
  "store file is never made of a folder, a text file, an empty file or another database (B133)",
  inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/folder`);
    await Deno.writeTextFile(`${folder}/text`, "My diary. It is long and I have no copy of it.\n");
    await Deno.writeTextFile(`${folder}/empty`, "");
    const other = new Uint8Array(8_192);
    other.set(new TextEncoder().encode("SQLite format 3\0"));
    await Deno.writeFile(`${folder}/other.db`, other);
    await Deno.writeTextFile(`${folder}/file`, "x");
    for (const name of ["folder", "text", "empty", "other.db", "file/below"]) {
      await assert.rejects(openKvStore(`${folder}/${name}`), unusable, name);
    }
    assert.equal((await Deno.readTextFile(`${folder}/text`)).slice(0, 9), "My diary.");
    assert.deepEqual(await Deno.readFile(`${folder}/other.db`), other);
    const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
    assert.deepEqual(names, ["empty", "file", "folder", "other.db", "text"]);
  }),
);

Deno.test(
  "store file that is damaged is refused and left as it is",
  inFolder(async (folder) => {
    const path = `${folder}/store.db`;
    await makeStore(path);
    const whole = await Deno.readFile(path);
    const zeroed = whole.slice().fill(0, 0, 4_096);
    const cut = whole.slice(0, Math.floor(whole.length * 0.6));
    for (const bytes of [zeroed, cut]) {
      await Deno.writeFile(path, bytes);
      await assert.rejects(openKvStore(path), { code: "store_corrupt" });
      assert.deepEqual(await Deno.readFile(path), bytes);
    }
  }),
);

Deno.test(
  "store file that must exist is not made",
  inFolder(async (folder) => {
    const path = `${folder}/none/store.db`;
    await assert.rejects(openKvStore(path, { mustExist: true }), { code: "store_not_found" });
    assert.deepEqual(await Array.fromAsync(Deno.readDir(folder)), []);
  }),
);

Deno.test(
  "store file that a killed start left empty is made by the next one; without its mark it stays refused (B133)",
  inFolder(async (folder) => {
    const path = `${folder}/store.db`;
    await Deno.writeTextFile(path, "");
    await assert.rejects(openKvStore(path), unusable);
    await Deno.writeTextFile(`${path}-birth`, "");
    await makeStore(path);
    await assert.rejects(Deno.stat(`${path}-birth`), Deno.errors.NotFound);
    const store = await openKvStore(path);
    assert.equal((await store.get(["k"]))?.value, 1);
    store.close();
  }),
);
