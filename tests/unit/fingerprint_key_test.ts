/** The key for fingerprints: made once, beside the store, for its owner's eyes alone. */
import assert from "node:assert/strict";
import { readFingerprintKey } from "../../src/host/fingerprint_key.ts";
import { withFolder } from "../support/tools.ts";

Deno.test("fingerprint key is made once beside the store, readable by its owner alone, and differs between stores (DM-51)", async () => {
  await withFolder({ "a/": "", "b/": "" }, async (folder) => {
    const first = await readFingerprintKey(`${folder}/a/store`);
    assert(first instanceof Uint8Array && first.length === 32);
    assert.deepEqual(await readFingerprintKey(`${folder}/a/store`), first);
    assert.notDeepEqual(await readFingerprintKey(`${folder}/b/store`), first);
    assert.equal((await Deno.stat(`${folder}/a/store.key`)).mode! & 0o777, 0o600);
    assert.deepEqual([...Deno.readDirSync(`${folder}/a`)].map(({ name }) => name), ["store.key"]);
  });
});

Deno.test("fingerprint key that others may read, or that is none, is not used and not replaced", async () => {
  await withFolder({ "store.key": "short\n" }, async (folder) => {
    const path = `${folder}/store.key`;
    await Deno.chmod(path, 0o600);
    assert.equal(await readFingerprintKey(`${folder}/store`), "its file cannot be used");
    assert.equal(await Deno.readTextFile(path), "short\n");
    await Deno.writeTextFile(path, `${"0".repeat(64)}\n`);
    await Deno.chmod(path, 0o644);
    assert.equal(await readFingerprintKey(`${folder}/store`), "others may read its file");
    assert.equal(await readFingerprintKey(`${folder}/nowhere/store`), "its file cannot be used");
  });
});
