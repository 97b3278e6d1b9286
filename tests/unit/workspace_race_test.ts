// Proves the file rows B56 and B63 (notes on reliability and security, 9.5): files that change under our hands.
import assert from "node:assert/strict";
import { descriptorOf, hasDescriptors, isSameFile } from "../../src/tools/descriptor.ts";
import type { Workspace } from "../../src/tools/workspace.ts";
import { withFolder, workspaceAt } from "../support/tools.ts";
import { createRandom } from "../support/world.ts";

async function textAt(workspace: Workspace, path: string): Promise<string> {
  const read = await workspace.readText(path);
  return read.ok ? read.value.text : read.failure.code;
}

/** While it runs, `ws/at` leads by turns to `ws/sub` and to `out`, and `ws/sub` is by turns a folder and a link. */
async function swap(folder: string, isRunning: () => boolean): Promise<void> {
  const random = createRandom(7);
  const pause = async () => {
    for (let left = random() * 8; left > 1; left--) await Deno.lstat(folder);
  };
  for (let turn = 0; isRunning(); turn++) {
    await Deno.symlink(turn % 2 === 0 ? `${folder}/out` : "other", `${folder}/ws/new`);
    await Deno.rename(`${folder}/ws/new`, `${folder}/ws/at`);
    await pause();
    await Deno.rename(`${folder}/ws/sub`, `${folder}/ws/away`);
    await Deno.symlink(`${folder}/out`, `${folder}/ws/sub`);
    await pause();
    await Deno.remove(`${folder}/ws/sub`);
    await Deno.rename(`${folder}/ws/away`, `${folder}/ws/sub`);
    await pause();
  }
}

async function duringSwaps(
  folder: string,
  attempt: () => Promise<readonly string[]>,
): Promise<Map<string, number>> {
  const seen = new Map<string, number>();
  let isRunning = true;
  const swapping = swap(folder, () => isRunning);
  for (let count = 0; count < 600; count++) {
    for (const what of await attempt()) seen.set(what, (seen.get(what) ?? 0) + 1);
  }
  isRunning = false;
  await swapping;
  return seen;
}

const swapped = {
  "ws/sub/name": "inside",
  "ws/other/name": "inside",
  "out/name": "SECRET",
  "out/SECRET": "",
};

Deno.test("workspace never reads outside while a part of the path is swapped for a link (B56)", async () => {
  await withFolder(swapped, async (folder) => {
    const workspace = await workspaceAt(`${folder}/ws`);
    const seen = await duringSwaps(
      folder,
      async () => [await textAt(workspace, "at/name"), await textAt(workspace, "sub/name")],
    );
    assert.equal(seen.get("SECRET"), undefined, "a read went outside");
    assert((seen.get("inside") ?? 0) > 0, `the race let no read through: ${JSON.stringify([...seen])}`);
    assert(
      (seen.get("path_outside_root") ?? 0) > 0,
      `the race never led outside: ${JSON.stringify([...seen])}`,
    );
  });
});

Deno.test("workspace never names what is outside while a folder is swapped for a link (B56)", async () => {
  await withFolder(swapped, async (folder) => {
    const workspace = await workspaceAt(`${folder}/ws`);
    const seen = await duringSwaps(folder, async () => {
      const lists = [await workspace.listFolder("at"), await workspace.listFolder("sub")];
      return lists.flatMap((list) => list.ok ? list.value.map(({ name }) => name) : [list.failure.code]);
    });
    assert.equal(seen.get("SECRET"), undefined, "a list went outside");
    assert((seen.get("name") ?? 0) > 0, `the race let no list through: ${JSON.stringify([...seen])}`);
    assert(
      (seen.get("path_outside_root") ?? 0) > 0,
      `the race never led outside: ${JSON.stringify([...seen])}`,
    );
  });
});

Deno.test("an open file has no descriptor at a place that only leads to it now (B56)", async () => {
  if (!hasDescriptors()) return;
  await withFolder(swapped, async (made) => {
    const folder = await Deno.realPath(made);
    using inside = await Deno.open(`${folder}/ws/sub/name`);
    using outside = await Deno.open(`${folder}/out/name`);
    const place = `${folder}/ws/sub/name`;
    assert(descriptorOf(place, await inside.stat()) !== undefined);
    await Deno.rename(`${folder}/ws/sub`, `${folder}/ws/away`);
    await Deno.symlink(`${folder}/out`, `${folder}/ws/sub`);
    // By path both are the same file now, so only the kernel's own answer tells that it was opened elsewhere.
    assert(isSameFile(await Deno.lstat(place), await outside.stat()));
    assert.equal(descriptorOf(place, await outside.stat()), undefined);
  });
});

Deno.test("workspace reads a growing file up to where it ended when it was opened (B63)", async () => {
  await withFolder({ "log": "" }, async (folder) => {
    const workspace = await workspaceAt(folder);
    const chunk = new Uint8Array(512).fill(97);
    using log = await Deno.open(`${folder}/log`, { append: true });
    let grown = 0;
    let isGrowing = true;
    const growing = (async () => {
      // Small steps, so that the file is still growing when a slow machine comes to read it.
      for (let step = 0; grown < 3 && step < 20_000; step++) await log.write(chunk);
      isGrowing = false;
    })();
    while (isGrowing) {
      const read = await workspace.readFile("log");
      assert(read.ok);
      const after = (await Deno.stat(`${folder}/log`)).size;
      assert(read.value.bytes.length <= after);
      if (!read.value.grew) continue;
      grown++;
      assert(read.value.bytes.length < after, "a read that says that the file grew stopped before its end");
    }
    await growing;
    assert(grown > 0, "no read met the file while it grew");
  });
});
